from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer.weights import describe_model

pytestmark = pytest.mark.usefixtures("own_folder")


def test_figures_are_those_of_the_training(classifier: Path, clouds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(classifier), "--json", "--votes", "2"]) == 0
    result = json.loads(capsys.readouterr().out)
    last = json.loads((classifier / "result.json").read_text())["figures"]["last epoch"]
    assert result["figures"]["one pass"]["accuracy"] == pytest.approx(last["test_accuracy"])
    assert result["weights"] == str(classifier)
    assert main(["evaluate", str(classifier / "model.safetensors"), "--data", str(clouds), "--samples", "2"]) == 0
    text = capsys.readouterr().out
    assert "one pass" in text
    assert "averaged over 2 cycles" in text


def test_it_ends_with_a_report(classifier: Path, own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly")
    assert main(["evaluate", str(classifier), "--no-report"]) == 0
    assert "written" not in capsys.readouterr().err
    assert main(["evaluate", str(classifier), "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err.endswith(f"{classifier / 'evaluate' / 'report.html'}: written\n")
    assert "Confusion matrix" in (classifier / "evaluate" / "report.html").read_text("utf-8")
    kept = json.loads((classifier / "evaluate" / "result.json").read_text("utf-8"))
    assert {name: kept[name] for name in json.loads(shown.out)} == json.loads(shown.out)
    assert kept["command"].startswith("sampled-transformer evaluate ")
    assert main(["evaluate", "bricks", "--batch", "200"]) == 0
    assert capsys.readouterr().err.endswith("runs/evaluate-bricks/report.html: written\n")
    assert (own_folder / "runs/evaluate-bricks/result.json").is_file()


def test_a_page_of_its_calibration(classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    assert main(["evaluate", str(classifier), "--page", str(page)]) == 0
    assert f"{page}: written" in capsys.readouterr().err
    assert "plotly" in page.read_text("utf-8")
    assert main(["evaluate", str(classifier), "--page", str(tmp_path / "none" / "page.html")]) == 2
    assert "page: expected a file in a folder that exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("weights", "message"),
    [("nowhere", "nowhere: no such file, run folder or shipped weights"), (".", "model.safetensors: no such file")],
)
def test_missing_weights(
    weights: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", weights]) == 2
    assert message in capsys.readouterr().err


def test_a_predicted_number_has_errors_instead_of_accuracies(
    regressor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(regressor), "--json", "--samples", "2"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["figures"]["one pass"].keys() == {"mae", "rmse", "r2"}
    assert (result["weights"], result["target"], len(result["answers"])) == (str(regressor), "height in mm", 17)
    assert main(["evaluate", str(regressor)]) == 0
    mae = f"{result['figures']['one pass']['mae']:.4g}"
    assert f"MAE {mae}, RMSE" in capsys.readouterr().out
    assert main(["evaluate", str(regressor), "--page", str(tmp_path / "p.html")]) == 0
    text = (tmp_path / "p.html").read_text("utf-8")
    for said in ("height in mm of 17 test shapes", f'<td class="number">{mae}</td>', "Largest errors"):
        assert said in text
    assert text.count("plotly.js v") == 1


def test_robustness_with_its_files_and_its_card(
    classifier: Path, clouds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly")
    weights, out = tmp_path / "copy.safetensors", tmp_path / "new" / "out"
    weights.write_bytes((classifier / "model.safetensors").read_bytes())
    words = ["evaluate", str(weights), "--data", str(clouds), "--robustness", "--corruptions", "noise,scale"]
    assert main([*words, "--limit", "5", "--out", str(out), "--save-card", "--json"]) == 0
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert json.loads((out / "robustness.json").read_text("utf-8")) == result
    assert "noise 0.05: " in shown.err
    assert result["shapes"] == 5
    assert result["command"] == (
        f"sampled-transformer evaluate copy.safetensors --robustness --data {clouds.name} "
        "--corruptions noise,scale --limit 5"
    )
    text = (out / "report.html").read_text("utf-8")
    assert "Robustness of" in text
    assert "How it was made" in text
    kept = describe_model(weights).notes["robustness"]
    assert kept["clean"] == pytest.approx(result["clean"]["accuracy"], abs=1e-4)
    assert list(kept["curves"]) == ["noise", "scale"]
    assert main([*words, "--limit", "5"]) == 0
    assert "standard deviation, radius of the shape = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--limit", "3"], "limit: expected --robustness with it, got 3 without"),
        (["--save_card"], "save_card: expected --robustness with it"),
        (["--seed", "0"], "seed: expected --robustness with it, got 0 without"),
        (["--robustness", "--votes", "2"], "votes: expected none with --robustness, got 2"),
        (["--robustness", "--corruptions", "rust"], "corruptions: expected one of"),
        (["--robustness", "--corruptions", "noise,"], "corruptions: expected one of"),
        (["--robustness", "--seed", "-1"], "seed: expected 0 or more, got -1"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "bricks", *words]) == 2
    assert message in capsys.readouterr().err


def test_robustness_needs_a_folder_to_write_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly")
    (tmp_path / "file").write_text("", "utf-8")
    assert main(["evaluate", "bricks", "--robustness", "--out", str(tmp_path / "file")]) == 2
    assert "out: expected a folder, got the file" in capsys.readouterr().err


def test_a_predicted_number_has_no_robustness(regressor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(regressor), "--robustness"]) == 2
    assert "expected a classifier, got a network that predicts a number" in capsys.readouterr().err
