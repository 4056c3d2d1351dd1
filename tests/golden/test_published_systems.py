"""Published systems get their published scores and outcomes of dialogues."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU

from mwzeval.multiwoz import Fold
from mwzeval.multiwoz.corpus import corpus_root, load_fold, own_references
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.report import Report
from tests.multiwoz import specification
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")
TOLERANCE = 1e-6


@cache
def evaluator_on_real_data(rules: str) -> Evaluator:
    data = shared("data", "multiwoz")
    return Evaluator(True, True, True, True, corpus="multiwoz-2.2", rules=rules, data=data)


@cache
def report_of(system: str, rules: str) -> Report:
    predictions = read_json(shared("data", "multiwoz", "predictions", f"{system}.json"))
    return evaluator_on_real_data(rules).evaluate(predictions)


@pytest.mark.parametrize("rules", ["2021", "2023"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_systems_get_their_published_scores(system: str, rules: str) -> None:
    golden = read_json(shared("golden", "multiwoz", f"rules{rules}", f"{system}.json"))
    metrics = report_of(system, rules).metrics
    found = {
        what: {scope: round(rate, 1) for scope, rate in rates.items()}
        for what, rates in metrics["success"].items()
    }
    assert found == golden["success"]  # published with one decimal
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
def test_each_dialogue_of_a_published_system_has_its_published_outcome(system: str) -> None:
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
            # The vectors have no Success if Inform failed; here, every domain must have failed.
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


def gold_of(fold: str) -> dict[str, list[dict[str, Any]]]:
    folder = shared("data", "multiwoz", "data", "MultiWOZ_2.2")
    return dict(specification.annotated_turns(folder, fold))


def test_gold_responses_and_states_get_their_known_scores() -> None:
    gold = gold_of("test")
    scores = evaluator_on_real_data("2021").evaluate(gold).to_dict()
    assert round(scores["success"]["inform"]["total"], 1) == 92.5
    assert round(scores["success"]["success"]["total"], 1) == 88.8
    assert scores["bleu"] == {"mwz22": pytest.approx(100, abs=1e-9)}
    assert scores["dst"]["joint_accuracy"] == pytest.approx(100, abs=1e-6)


def references_of(corpus: str, fold: Fold) -> Mapping[str, tuple[str, ...]]:
    root = corpus_root(corpus, shared("data", "multiwoz"), offline=True)
    return own_references(load_fold(corpus, fold, root)).responses


def test_references_are_normalized_and_tokenized_gold_responses() -> None:
    tokenize = BLEU().tokenizer
    references = references_of("multiwoz-2.2", "test")
    gold = gold_of("test")
    assert list(references) == list(gold)
    # The specification is slow, so only every fifth dialogue is compared.
    for name in list(gold)[::5]:
        expected = [tokenize(specification.normal_response(t["response"])) for t in gold[name]]
        assert list(references[name]) == expected


@pytest.mark.parametrize("fold", ["test", "dev"])
def test_references_from_data_json_and_the_22_format_are_equal(fold: Fold) -> None:
    # The real data in the 2.2 format contain the 2.1 annotation, so both must agree.
    older, newer = references_of("multiwoz-2.1", fold), references_of("multiwoz-2.2", fold)
    assert set(older) == set(newer)
    different = {
        (name, index): (old, new)
        for name, references in newer.items()
        for index, (old, new) in enumerate(zip(older[name], references, strict=True))
        if old != new
    }
    assert not different
    assert sum(len(references) for references in newer.values()) > 7000
