"""`mwzeval explain`: a single dialogue, lists of dialogues, and the histogram of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from tests.command_lines import Ran, Run
from tests.places import ROOT, read_json, sample_file, sample_predictions, without, write_json

WEAK = sample_file("weak-tracker")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the predictions of a better system, without domains like those of the weak system."""
    file = tmp_path_factory.mktemp("other") / "sample-good.json"
    return write_json(file, without(sample_predictions("good"), "active_domains"))


Explained = Callable[..., Any]


@pytest.fixture
def as_json(run: Run) -> Explained:
    def explain(*arguments: str) -> Any:
        code, out, err = run("explain", *arguments, "-f", "json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return explain


def test_reason_option_lists_the_dialogues_with_that_reason(run: Run, as_json: Explained) -> None:
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
    assert run("explain", WEAK, "--reason", "unsatisfiable-goal") == Ran(0, "", "")


@pytest.mark.integration
@pytest.mark.usefixtures("elsewhere")
def test_an_item_id_selects_all_trials_of_the_item(as_json: Explained, run: Run) -> None:
    live = "live --agent rule --corpus sample --goals corpus:test:smp0021,smp0022 --trials 3 -q"
    assert run(*live.split(), "-o", "run.jsonl").code == 0
    found = as_json("run.jsonl", "smp0021")
    assert [item["unit"] for item in found] == [f"smp0021#{trial}" for trial in (1, 2, 3)]
    assert as_json("run.jsonl", "smp0021#2") == found[1]
    report = json.loads(run("evaluate", "-g", "run.jsonl", "-o", "r.json", "-f", "json").out)
    assert {"grounded_inform", "hallucination"} <= set(report["meta"]["signatures"])


def test_against_option_lists_outcomes_lost_to_another_system(
    as_json: Explained, other: str
) -> None:
    evaluator = Evaluator(success=True, corpus="sample")
    outcomes: dict[str, list[tuple[bool, bool]]] = {"inform": [], "success": []}
    names: dict[str, list[str]] = {"inform": [], "success": []}
    weak, good = read_json(Path(WEAK)), read_json(Path(other))
    for name in weak:
        mine, theirs = (evaluator.evaluate_dialogue(name, run[name]) for run in (weak, good))
        for outcome in outcomes:
            pair = (getattr(mine, outcome), getattr(theirs, outcome))
            outcomes[outcome].append(pair)
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
        for outcome, pairs in outcomes.items()
    ]
    for outcome, lost in names.items():
        listed = [item for item in found["lost"] if item["outcome"] == outcome]
        assert sorted(item["unit"] for item in listed) == sorted(lost)
        assert lost
    full = {item["unit"]: item for item in as_json(WEAK, "--worst", "1000")}
    users = {
        dialogue["dialogue_id"].lower().removesuffix(".json"): [
            turn["utterance"] for turn in dialogue["turns"] if turn["speaker"] == "USER"
        ]
        for file in (ROOT / "data" / "sample").rglob("dialogues_*.json")
        for dialogue in read_json(file)
    }
    for item in found["lost"]:
        assert item["reasons"] == full[item["unit"]]["reasons"]
        for there in item["instead"]:
            user, answer = (utterance["text"] for utterance in there["own"])
            assert user == users[item["unit"]][there["turn"]]
            assert answer == weak[item["unit"]][there["turn"]]["response"]
            assert [utterance["speaker"] for utterance in there["utterances"]] == ["system"]
    domains = [len({r["scope"] for r in full[item["unit"]]["reasons"]}) for item in found["lost"]]
    assert domains == sorted(domains, reverse=True)


def test_an_omission_is_shown_with_the_answer_of_the_other_system(
    as_json: Explained, run: Run, other: str, tmp_path: Path
) -> None:
    good = read_json(Path(other))
    lost = as_json(WEAK, "--against", other)["lost"]
    name = next(item["unit"] for item in lost if item["outcome"] == "inform")
    silent = [{**turn, "response": "how can i help ?"} for turn in good[name]]
    file = write_json(tmp_path / "silent.json", {name: silent})
    options = ("--against", other, "--responses", "delexicalized", "-f", "json")
    lost = json.loads(run("explain", file, *options).out)["lost"]
    (inform,) = [item for item in lost if item["outcome"] == "inform"]
    assert {reason["code"] for reason in inform["reasons"]} == {"no-venue-offered"}
    assert inform["instead"]
    for there in inform["instead"]:
        assert {fact["label"] for fact in there["facts"]} == {"on offer"}
        assert there["utterances"][0]["text"] == good[name][there["turn"]]["response"]


@pytest.mark.integration
def test_selection_options_filter_outcomes_lost_to_another_system(
    as_json: Explained, other: str
) -> None:
    everything = as_json(WEAK, "--against", other)
    code = "missing-constraint"
    chosen = as_json(WEAK, "--against", other, "--reason", code)
    assert chosen["outcomes"] == everything["outcomes"]
    assert chosen["lost"] == [
        item
        for item in everything["lost"]
        if any(reason["code"].startswith(code) for reason in item["reasons"])
    ]
    worst = as_json(WEAK, "--against", other, "--worst", "3")["lost"]
    assert len({item["unit"] for item in worst}) == 3
    (first, *_) = everything["lost"]
    alone = as_json(WEAK, first["unit"], "--against", other)
    assert alone["dialogues"] == 1
    assert alone["lost"] == [item for item in everything["lost"] if item["unit"] == first["unit"]]


OVERLAP = str(ROOT / "predictions" / "dstc7-overlap" / "Ubuntu_subtask_4.json")


def test_outcomes_with_the_same_failure_reason_share_one_line(run: Run) -> None:
    unknown = run("explain", "--benchmark", "dstc7", OVERLAP, "--reason", "ranked-belw")
    assert unknown.code == 2
    assert '"ranked-below"' in unknown.err
    code, out, _ = run("explain", "--benchmark", "dstc7", OVERLAP, "--worst", "10")
    assert code == 0
    example, seen = "", []
    for line in out.splitlines():
        example = example if line.startswith(" ") else line
        seen.append((example, line))
    assert len(seen) == len(set(seen))
