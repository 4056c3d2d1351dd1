"""Published systems get their published numbers, as a whole and dialogue by dialogue."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from mwzeval.evaluator import Evaluator
from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.normalization import normalize_response
from mwzeval.report.model import Report
from tests.places import read_json, shared

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")
TOLERANCE = 1e-6


@cache
def evaluator_on_real_data(rules: str) -> Evaluator:
    data = shared("data", "multiwoz")
    return Evaluator(True, True, True, True, corpus="multiwoz-2.2", rules=rules, data=data)


@cache
def report_of(system: str, rules: str) -> Report:
    predictions = read_json(shared("data", "multiwoz", "predictions", f"{system}.json"))
    return evaluator_on_real_data(rules).report(predictions)


@pytest.mark.parametrize("rules", ["2021", "2023"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_published_system_gets_its_published_numbers(system: str, rules: str) -> None:
    golden = read_json(shared("golden", "multiwoz", f"rules{rules}", f"{system}.json"))
    metrics = report_of(system, rules).metrics
    assert metrics["success"] == golden["success"]
    counts = {name for name in golden["richness"] if name.startswith("num_")}
    assert counts == {"num_unigrams", "num_bigrams", "num_trigrams"}
    assert {name: metrics["richness"][name] for name in counts} == {
        name: golden["richness"][name] for name in counts
    }
    for metric in ("bleu", "richness", "dst"):
        expected = golden.get(metric)
        if expected is None:
            assert metrics[metric] is None
        else:
            assert metrics[metric] == pytest.approx(expected, rel=0, abs=TOLERANCE), metric


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_dialogue_of_a_published_system_ends_as_published(system: str) -> None:
    table = report_of(system, "2021").table
    rows = {
        unit: dict(zip(table.columns, numbers, strict=True))
        for unit, numbers in zip(table.units, table.values.tolist(), strict=True)
    }
    different = {}
    expected_outcomes = outcomes_by_system()[system]
    assert set(rows) == set(expected_outcomes)
    for name, expected in expected_outcomes.items():
        found = {
            what: {
                column.partition(".")[2]: bool(number)
                for column, number in rows[name].items()
                if column.startswith(f"{what}.") and rows[name][f"goals.{column[len(what) + 1 :]}"]
            }
            for what in ("inform", "success")
        }
        if not expected["success"]:
            # Inform failed: no domain is asked for success, and none may count as one.
            assert not expected["inform"]["total"]
            expected["success"] = dict.fromkeys(expected["inform"], False)
        if found != expected:
            different[name] = (found, expected)
    assert not different


@cache
def outcomes_by_system() -> dict[str, dict[str, dict[str, dict[str, bool]]]]:
    outcomes: dict[str, dict[str, dict[str, dict[str, bool]]]] = defaultdict(dict)
    path = shared("golden", "multiwoz", "vectors", "dialogues.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        outcomes[fields["system"]][fields["dialogue"]] = {
            "inform": fields["inform"],
            "success": fields["success"],
        }
    return outcomes


def test_outcomes_are_published_for_all_systems() -> None:
    assert set(outcomes_by_system()) == set(SYSTEMS)


def annotated_turns() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the gold turns of the test fold, delexicalised here and now from the raw files."""
    folder = shared("data", "multiwoz", "data", "MultiWOZ_2.2")
    acts = read_json(folder / "dialog_acts.json")
    for path in sorted((folder / "test").glob("dialogues_*.json")):
        for dialogue in read_json(path):
            turns = []
            for user, system in zip(dialogue["turns"][::2], dialogue["turns"][1::2], strict=True):
                assert (user["speaker"], system["speaker"]) == ("USER", "SYSTEM")
                annotated = acts[dialogue["dialogue_id"]].get(system["turn_id"], {})
                text, taken = system["utterance"], len(system["utterance"]) + 1
                chosen: list[tuple[int, int, str]] = []
                for _, slot, value, start, end in sorted(
                    annotated.get("span_info", ()), key=lambda span: span[3]
                ):
                    if value != "dontcare" and (not chosen or start >= chosen[-1][1]):
                        chosen.append((start, end, slot))
                for start, end, slot in reversed(chosen):
                    assert end <= taken
                    text, taken = f"{text[:start]}[{slot}]{text[end:]}", start
                state: dict[str, dict[str, str]] = {}
                for frame in user["frames"]:
                    for key, values in frame["state"]["slot_values"].items():
                        if "dontcare" not in values:
                            domain, name = key.split("-", 1)
                            state.setdefault(domain, {})[name] = values[0]
                turns.append({"response": text, "state": state})
            yield dialogue["dialogue_id"].split(".")[0].lower(), turns


def test_gold_responses_and_states_score_as_known() -> None:
    gold = dict(annotated_turns())
    scores = evaluator_on_real_data("2021").evaluate(gold)
    assert scores["success"]["inform"]["total"] == 92.5
    assert scores["success"]["success"]["total"] == 88.8
    assert scores["bleu"] == {"mwz22": pytest.approx(100, abs=1e-9)}
    assert scores["dst"]["joint_accuracy"] == pytest.approx(100, abs=1e-6)


def test_references_are_the_gold_responses_normalised() -> None:
    root = corpus_root("multiwoz-2.2", shared("data", "multiwoz"), offline=True)
    fold = load_fold("multiwoz-2.2", "test", root)
    gold = dict(annotated_turns())
    assert list(fold.dialogues) == list(gold)
    for name, dialogue in fold.dialogues.items():
        assert list(dialogue.references) == [normalize_response(t["response"]) for t in gold[name]]
        assert list(dialogue.states) == [turn["state"] for turn in gold[name]]


@pytest.mark.parametrize("fold", ["test", "dev"])
def test_references_out_of_data_json_equal_those_out_of_the_22_format(fold: Any) -> None:
    # The 2.2-format files among the real data hold the 2.1 annotation, so both ways must agree.
    root = corpus_root("multiwoz-2.2", shared("data", "multiwoz"), offline=True)
    newer = load_fold("multiwoz-2.2", fold, root).dialogues
    older = load_fold("multiwoz-2.1", fold, root).dialogues
    assert set(older) == set(newer)
    different = {
        (name, index): (old, new)
        for name, dialogue in newer.items()
        for index, (old, new) in enumerate(
            zip(older[name].references, dialogue.references, strict=True)
        )
        if old != new
    }
    assert not different
    assert sum(len(dialogue.references) for dialogue in newer.values()) > 7000
