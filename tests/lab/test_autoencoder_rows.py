"""Every row of the autoencoder's table starts from the weights that its name says."""

from __future__ import annotations

from sampled_transformer_lab.autoencoder_rows import autoencoder_rows


def test_rows_start_from_the_pretraining_that_they_name() -> None:
    rows = autoencoder_rows()
    for name, row in rows.items():
        if name.startswith("pretrain-") or "-ours" in name:
            assert row.after is None, name
            continue
        form = name.removesuffix("-scratch").rpartition("-")[2]
        trained_anew = row.command.startswith("train") and name.endswith("-scratch")
        assert row.after == (None if trained_anew else f"pretrain-{form}"), name
        assert (f"pretrain-{form}-seed0" in row.command) is not trained_anew, name


def test_the_paper_to_the_letter_has_one_cycle_for_all_heads_and_a_sampled_decoder() -> None:
    command = autoencoder_rows()["pretrain-paper"].command
    assert "--options.decoder_attention sampled" in command
    assert "--options.attention_options.cycles shared" in command


def test_frozen_features_answer_all_four_settings_on_fifty_folds() -> None:
    rows = {name: row for name, row in autoencoder_rows().items() if name.startswith("frozen-")}
    settings = {name.removeprefix("frozen-").rpartition("shot")[0] for name in rows}
    assert settings == {"5way-10", "5way-20", "10way-10", "10way-20"}
    assert len(rows) == 4 * 3 * 2
    assert all("--frozen --folds 50" in row.command for row in rows.values())
    assert all(("--scratch" in row.command) is name.endswith("-scratch") for name, row in rows.items())
