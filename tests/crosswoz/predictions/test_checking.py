"""States and acts that are empty everywhere are told, and refused with --strict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.cli import main
from tests.places import ROOT, read_json


@pytest.mark.parametrize(
    ("track", "key", "empty", "kind"),
    [("dst", "state", {}, "states"), ("policy", "system_acts", [], "system_acts")],
)
def test_what_is_empty_everywhere_is_told(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    track: str,
    key: str,
    empty: object,
    kind: str,
) -> None:
    source = ROOT / "predictions" / f"crosswoz-sample-{track}.json"
    predictions = read_json(source)
    for name, exchanges in predictions.items():
        if name != "_meta":
            for exchange in exchanges:
                exchange[key] = empty
    file = tmp_path / "empty.json"
    file.write_text(json.dumps(predictions), encoding="utf-8")
    arguments = ["evaluate", "--benchmark", "crosswoz", "-o", str(tmp_path / "out.json")]
    assert main([*arguments, str(file)]) == 0
    error = capsys.readouterr().err
    assert kind in error
    assert "exchanges are empty" in error
    first = next(name for name in predictions if name != "_meta")
    assert f'dialogue "{first}", turn 0, key "{key}"' in error
    assert "unless" in error
    assert main([*arguments, "--strict", str(file)]) == 2
    capsys.readouterr()
    assert main([*arguments, str(source)]) == 0
    assert "exchanges are empty" not in capsys.readouterr().err
