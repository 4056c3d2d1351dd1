"""`mwzeval explain`: one dialogue in full, lists of dialogues, the histogram of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from tests.places import ROOT, read_json

WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
GOOD = str(ROOT / "predictions" / "sample-good.json")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file of a better system, whose domains are estimated as those of the weak one."""
    file = tmp_path_factory.mktemp("other") / "sample-good.json"
    turns = read_json(Path(GOOD))
    for name in turns:
        turns[name] = [
            {k: v for k, v in turn.items() if k != "active_domains"} for turn in turns[name]
        ]
    file.write_text(json.dumps(turns), encoding="utf-8")
    return str(file)


Explained = Callable[..., Any]


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Explained:
    def explain(*arguments: str) -> str:
        assert main(["explain", *arguments]) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out

    return explain


@pytest.fixture
def as_json(explained: Explained) -> Explained:
    return lambda *arguments: json.loads(explained(*arguments, "-f", "json"))


def test_a_reason_lists_its_dialogues(explained: Explained, as_json: Explained) -> None:
    everything = as_json(WEAK, "--worst", "1000")
    for asked in ("missing-constraint", "missing-constraint:area"):
        listed = as_json(WEAK, "--reason", asked)
        having = {
            unit["unit"]
            for unit in everything
            if any(r["code"] == asked or r["code"].startswith(asked + ":") for r in unit["reasons"])
        }
        assert having
        assert {unit["unit"] for unit in listed} == having
    assert len(as_json(WEAK, "--reason", "missing-constraint", "--worst", "2")) == 2
    assert explained(WEAK, "--reason", "unsatisfiable-goal") == ""


@pytest.mark.integration
def test_the_id_of_an_item_stands_for_its_trials(
    as_json: Explained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "run.jsonl")
    live = "live --agent rule --corpus sample --goals corpus:test:smp0021,smp0022 --trials 3 -q"
    assert main([*live.split(), "-o", file]) == 0
    capsys.readouterr()
    found = as_json(file, "smp0021")
    assert [each["unit"] for each in found] == [f"smp0021#{trial}" for trial in (1, 2, 3)]
    assert as_json(file, "smp0021#2") == found[1]
    assert main(["evaluate", "-g", file, "-o", str(tmp_path / "r.json"), "-f", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"grounded_inform", "hallucination"} <= set(report["meta"]["signatures"])


def test_what_was_lost_to_another_system(as_json: Explained, other: str) -> None:
    evaluator = Evaluator(success=True, corpus="sample")
    kept: dict[str, list[tuple[bool, bool]]] = {"inform": [], "success": []}
    names: dict[str, list[str]] = {"inform": [], "success": []}
    weak, good = read_json(Path(WEAK)), read_json(Path(other))
    for name in weak:
        mine, theirs = (evaluator.evaluate_dialogue(name, of[name]) for of in (weak, good))
        for outcome in kept:
            pair = (getattr(mine, outcome), getattr(theirs, outcome))
            kept[outcome].append(pair)
            if pair == (False, True):
                names[outcome].append(name)
    found = as_json(WEAK, "--against", other)
    assert found["systems"] == ["sample-weak-tracker", "sample-good"]
    assert found["dialogues"] == 62
    assert found["outcomes"] == [
        {
            "outcome": outcome,
            "lost": pairs.count((False, True)),
            "won": pairs.count((True, False)),
            "both_lost": pairs.count((False, False)),
            "both_won": pairs.count((True, True)),
        }
        for outcome, pairs in kept.items()
    ]
    for outcome, lost in names.items():
        listed = [each for each in found["lost"] if each["outcome"] == outcome]
        assert sorted(each["unit"] for each in listed) == sorted(lost)
        assert lost
    full = {each["unit"]: each for each in as_json(WEAK, "--worst", "1000")}
    users = {
        dialogue["dialogue_id"].lower().removesuffix(".json"): [
            turn["utterance"] for turn in dialogue["turns"] if turn["speaker"] == "USER"
        ]
        for file in (ROOT / "data" / "sample").rglob("dialogues_*.json")
        for dialogue in read_json(file)
    }
    for each in found["lost"]:
        assert each["reasons"] == full[each["unit"]]["reasons"]
        for there in each["instead"]:
            user, answer = (of["text"] for of in there["own"])
            assert user == users[each["unit"]][there["turn"]]
            assert answer == weak[each["unit"]][there["turn"]]["response"]
            assert [of["speaker"] for of in there["utterances"]] == ["system"]
    domains = [len({r["scope"] for r in full[of["unit"]]["reasons"]}) for of in found["lost"]]
    assert domains == sorted(domains, reverse=True)


def test_an_omission_is_told_with_what_the_other_system_gave(
    as_json: Explained, capsys: pytest.CaptureFixture[str], other: str, tmp_path: Path
) -> None:
    good = read_json(Path(other))
    lost = as_json(WEAK, "--against", other)["lost"]
    name = next(each["unit"] for each in lost if each["outcome"] == "inform")
    silent = [{**turn, "response": "how can i help ?"} for turn in good[name]]
    file = tmp_path / "silent.json"
    file.write_text(json.dumps({name: silent}), encoding="utf-8")
    arguments = [str(file), "--against", other, "--responses", "delexicalized"]
    assert main(["explain", *arguments, "-f", "json"]) == 0
    lost = json.loads(capsys.readouterr().out)["lost"]
    (inform,) = [each for each in lost if each["outcome"] == "inform"]
    assert {reason["code"] for reason in inform["reasons"]} == {"no-venue-offered"}
    assert inform["instead"]
    for there in inform["instead"]:
        assert {fact["label"] for fact in there["facts"]} == {"on offer"}
        assert there["utterances"][0]["text"] == good[name][there["turn"]]["response"]


@pytest.mark.integration
def test_selections_hold_for_what_was_lost_to_another(as_json: Explained, other: str) -> None:
    everything = as_json(WEAK, "--against", other)
    asked = "missing-constraint"
    chosen = as_json(WEAK, "--against", other, "--reason", asked)
    assert chosen["outcomes"] == everything["outcomes"]
    assert chosen["lost"] == [
        each
        for each in everything["lost"]
        if any(reason["code"].startswith(asked) for reason in each["reasons"])
    ]
    worst = as_json(WEAK, "--against", other, "--worst", "3")["lost"]
    assert len({each["unit"] for each in worst}) == 3
    (first, *_) = everything["lost"]
    alone = as_json(WEAK, first["unit"], "--against", other)
    assert alone["dialogues"] == 1
    assert alone["lost"] == [each for each in everything["lost"] if each["unit"] == first["unit"]]
