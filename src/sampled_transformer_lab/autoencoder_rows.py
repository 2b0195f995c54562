"""The runs of the masked autoencoder's table: pre-training, and every downstream task."""

from __future__ import annotations

from .study import Row


def autoencoder_rows() -> dict[str, Row]:
    """Pre-training, then every downstream task twice: with the pre-trained weights and from scratch.

    The rows "paper" follow the paper to the letter: one cycle for all heads, and a sampled decoder.
    """
    heads = "--options.attention_options.cycles"
    pretrain = "pretrain --recipe pretrain-{}-small --data modelnet40 --data.root {{root}}"
    rows = {f"pretrain-{name}": Row(pretrain.format(name)) for name in ("sampled", "dense")}
    tasks = {
        "probe": "probe {weights} --data modelnet40 --root {root}",
        "fewshot": "fewshot {weights} --recipe fewshot-5way-10shot-small --epochs 50 "
        "--data modelnet40 --data.root {root}",
        "bricks": "train --recipe finetune-modelnet40-small --attention {name} --epochs 6 "
        "--data bricks --data.preset bricks",
    }
    for task, command in tasks.items():
        for name, more in (("sampled", f" {heads} per-head"), ("dense", "")):
            first, weights = f"pretrain-{name}", f"{{runs}}/pretrain-{name}-seed0"
            words = command.replace("{weights}", weights).replace("{name}", name)
            trains = words.startswith("train")
            begun = f"{words}{more} --init {weights}" if trains else words
            fresh = f"{words}{more}" if trains else f"{words} --scratch"
            rows[f"{task}-{name}"] = Row(begun, after=first, prints=task == "probe")
            rows[f"{task}-{name}-scratch"] = Row(fresh, after=None if trains else first, prints=task == "probe")
    letter = f"{pretrain.format('sampled')} --options.decoder_attention sampled {heads} shared"
    rows["pretrain-paper"] = Row(letter)
    for task in ("probe", "fewshot"):
        words = tasks[task].replace("{weights}", "{runs}/pretrain-paper-seed0")
        rows[f"{task}-paper"] = Row(words, after="pretrain-paper", prints=task == "probe")
    return {**rows, **_frozen_shots(), **_finetuned()}


def _frozen_shots() -> dict[str, Row]:
    """Few shots on frozen features, in all four settings of the paper. `ours` are the weights that ship."""
    rows = {}
    for setting in ("5way-10shot", "5way-20shot", "10way-10shot", "10way-20shot"):
        for name in ("paper", "dense", "ours"):
            weights = "modelnet40-mae" if name == "ours" else f"{{runs}}/pretrain-{name}-seed0"
            command = (
                f"fewshot {weights} --recipe fewshot-{setting}-small --frozen --folds 50 "
                "--data modelnet40 --data.root {root}"
            )
            after = None if name == "ours" else f"pretrain-{name}"
            rows[f"frozen-{setting}-{name}"] = Row(command, after=after)
            rows[f"frozen-{setting}-{name}-scratch"] = Row(f"{command} --scratch", after=after)
    return rows


def _finetuned() -> dict[str, Row]:
    """Fine-tuning from the weights of `pretrain-paper` and `pretrain-dense`, and from scratch."""
    rows = {}
    for name, attention in (("paper", "sampled"), ("dense", "dense")):
        command = (
            f"train --recipe finetune-modelnet40-small --attention {attention} --epochs 15 "
            "--data modelnet40 --data.root {root}"
        )
        rows[f"finetune-{name}"] = Row(f"{command} --init {{runs}}/pretrain-{name}-seed0", after=f"pretrain-{name}")
        rows[f"finetune-{name}-scratch"] = Row(command)
    return rows
