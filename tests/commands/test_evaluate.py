from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main


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
    assert f"MAE {result['figures']['one pass']['mae']:.4g}, RMSE" in capsys.readouterr().out
    assert main(["evaluate", str(regressor), "--page", str(tmp_path / "p.html")]) == 2
    assert "page: expected none, because a predicted number has no calibration plot" in capsys.readouterr().err
