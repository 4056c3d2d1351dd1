"""Values of states that say that a slot is not filled, and texts that are too long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.places import ROOT, read_json

DST = ROOT / "predictions" / "crosswoz-sample-dst.json"
NLG = ROOT / "predictions" / "crosswoz-sample-nlg.json"


def problems_of(raw: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    (folder / "x.json").write_text(json.dumps(raw), encoding="utf-8")
    main(["validate", "--benchmark", "crosswoz", str(folder / "x.json")])
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["problems"]
    return listed


@pytest.mark.parametrize("value", ["none", "无", "未提及", " None "])
def test_values_for_unfilled_slots_are_told(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = read_json(DST)
    states = [of["state"] for name in raw if name != "_meta" for of in raw[name] if of.get("state")]
    filled = [slots for state in states for slots in state.values() if slots]
    for slots in filled:
        slots[next(iter(slots))] = value
    (told,) = (p for p in problems_of(raw, tmp_path, capsys) if p["kind"] == "unfilled-value")
    assert told["count"] == len(filled)
    assert told["key"].startswith("state.")


def test_states_without_such_values_are_not_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = {problem["kind"] for problem in problems_of(read_json(DST), tmp_path, capsys)}
    assert "unfilled-value" not in kinds


def test_a_text_that_is_too_long_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = read_json(NLG)
    name = next(name for name in raw if name != "_meta")
    raw[name][0]["response"] = "好的" * 6_000
    (told,) = problems_of(raw, tmp_path, capsys)
    assert (told["kind"], told["dialogue"]) == ("too-long", name)
