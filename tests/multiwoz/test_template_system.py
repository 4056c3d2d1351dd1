"""The template system and `mwzeval baseline`: responses, inputs, scores and files."""

from __future__ import annotations

import json
import os
import re
import string
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mwzeval.multiwoz import FOLDS, Fold
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.predictions import read_predictions
from mwzeval.multiwoz.schema import DATABASE_DOMAINS, STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system import (
    ANSWERS,
    Catalogue,
    Policy,
    baseline_predictions,
    known_services,
    requested_slots,
    user_domains,
)
from mwzeval.multiwoz.words.vocabulary import has, keyed_rows, patterns_of
from tests.cases import tabled
from tests.command_lines import Run
from tests.places import ROOT, read_json, shared
from tests.waiting import HANGING

BLANK = re.compile(r"\{([a-z]+)\}")
NAMED = re.compile(r"\[([a-z]+)_([a-z]+)\]")
COMMITTED = ROOT / "predictions" / "template-sample.json"
TEMPLATE = ("baseline", "template", "--corpus", "sample")
SAMPLE = corpus_root("sample", None, offline=True)

HOTEL = {"area": "south", "type": "hotel", "pricerange": "expensive"}
JOURNEY = {"departure": "tarnbridge", "destination": "pellingford", "day": "saturday"}
SLOTS = {
    "HOTEL": HOTEL,
    "BOOKED": {**HOTEL, "bookpeople": "2", "bookday": "monday", "bookstay": "3"},
    "TRAIN": {**JOURNEY, "leaveat": "17:45"},
    "TAXI": {"departure": "here", "destination": "there", "leaveat": "10:00"},
}
"""The slots and values that table cells name."""
Turn = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def gold() -> GoldFold:
    return load_fold("sample", "test", SAMPLE)


@pytest.fixture(scope="module")
def catalogue(gold: GoldFold) -> Catalogue:
    return Catalogue(gold.tables, "2021")


@tabled
def test_responses_contain_the_expected_placeholders(
    catalogue: Catalogue, before: list[Turn], turn: Turn, said: list[str], unsaid: list[str]
) -> None:
    policy = Policy(catalogue, "smp0000")
    for utterance, state in (*before, turn):
        slots = {domain: SLOTS[v] if isinstance(v, str) else v for domain, v in state.items()}
        response, domains = policy.reply(utterance, slots)
    for placeholder in said:
        assert f"[{placeholder}]" in response
    for placeholder in unsaid:
        assert f"[{placeholder}" not in response
    assert {domain for domain, _ in NAMED.findall(response)} <= set(domains)


@tabled
def test_requests_are_recognized_by_keywords(utterance: str, slots: tuple[str, ...]) -> None:
    assert requested_slots(utterance) == slots


def test_domains_are_recognized_by_keywords_and_names() -> None:
    state = {"restaurant": {"name": "the turnip cart"}, "hotel": {"area": "north"}}
    assert user_domains("where is the turnip cart?", state) == ("restaurant",)
    assert user_domains("a cab from the museum", state) == ("taxi", "attraction")
    assert user_domains("hello", state) == ()
    assert has("user closing", "thank you, goodbye")
    assert not has("user closing", "a cheap hotel")


def test_all_templates_exist_and_have_known_placeholders() -> None:
    needed = {"hello", "welcome", "more?", "more? attraction", "booked taxi", "inform police"}
    needed |= {"inform hospital", *(f"ask taxi {s}" for s in ("departure", "destination", "time"))}
    needed |= {f"ask train {s}" for s in ("departure", "destination", "day", "time")}
    for domain in DATABASE_DOMAINS:
        kinds = ["several", "offer", "again", "none"]
        if booking := STATE_BOOKING_SLOTS.get(domain, ()):
            kinds += ["booked", "reference", "book?"]
            needed |= {f"booked {domain} unnamed", *(f"ask {domain} {slot}" for slot in booking)}
        needed |= {f"offer {domain} unnamed", *(f"{kind} {domain}" for kind in kinds)}
    known = {
        key.removeprefix("template "): wordings
        for key, wordings in keyed_rows("live", "agents.tsv").items()
        if not key.startswith(("rule ", "temp")) or key.startswith("template ")
    }
    assert needed == {key for key in known if not key.startswith(("detail ", "name of "))}
    for key in needed:
        domain = next((word for word in key.split() if word in patterns_of("user domain")), "")
        blanks = {slot for wording in known[key] for slot in BLANK.findall(wording)}
        assert {f"{domain}_{slot}" for slot in blanks} <= PLACEHOLDERS.keys(), key
    for domain, slots in ANSWERS.items():
        for slot in slots:
            if f"detail {slot}" in known:
                assert BLANK.findall(known[f"detail {slot}"][0]) == [slot]
                assert f"{domain}_{slot}" in PLACEHOLDERS
            else:
                assert {f"detail {slot}=yes", f"detail {slot}=no"} <= known.keys()


@pytest.mark.parametrize("fold", FOLDS)
def test_predictions_pass_strict_validation_without_warnings(fold: Fold) -> None:
    predictions = baseline_predictions(load_fold("sample", fold, SAMPLE), states=True)
    strict = Evaluator(True, True, True, True, corpus="sample", fold=fold)
    assert strict.validate(predictions) == []
    scores = strict.evaluate(predictions).to_dict()
    assert scores["dst"]["joint_accuracy"] > 99.9
    assert scores["success"]["success"]["total"] >= 90


def test_predictions_use_only_previous_utterances_and_states(gold: GoldFold) -> None:
    whole = baseline_predictions(gold)
    blind = {
        name: replace(
            dialogue,
            goal={"taxi": Goal({}, frozenset())},
            booked=tuple(frozenset({"taxi"}) for _ in dialogue.booked),
            references=tuple("x" for _ in dialogue.references),
            tokenized_references=tuple("x" for _ in dialogue.references),
            user_utterances=dialogue.user_utterances[:3],
            states=dialogue.states[:3],
        )
        for name, dialogue in gold.dialogues.items()
    }
    beginnings = baseline_predictions(replace(gold, dialogues=blind))
    assert beginnings == {name: turns[:3] for name, turns in whole.items()}


def test_response_values_belong_to_venues_that_match_the_state(
    gold: GoldFold, catalogue: Catalogue
) -> None:
    names = {
        domain: {string.capwords(row["name"]): str(row["id"]) for row in gold.tables[domain]}
        for domain in ("restaurant", "hotel", "attraction")
    }
    plain = baseline_predictions(gold)
    filled = baseline_predictions(gold, services=known_services(SAMPLE))
    named = 0
    for name, dialogue in gold.dialogues.items():
        for turn, delexicalized, state in zip(
            filled[name], plain[name], dialogue.states, strict=True
        ):
            assert "[" not in turn["response"]
            assert turn["active_domains"] == delexicalized["active_domains"]
            for domain in names:
                if f"[{domain}_name]" in delexicalized["response"]:
                    ids = {i for n, i in names[domain].items() if n in turn["response"]}
                    constraints = {
                        slot: value
                        for slot, value in state.get(domain, {}).items()
                        if not slot.startswith("book")
                    }
                    assert ids & set(catalogue.find(domain, constraints))
                    named += 1
    assert named > 50
    scores = [
        Evaluator(success=True, corpus="sample", responses=responses).evaluate(predictions).metrics
        for responses, predictions in (("delexicalized", plain), ("lexicalized", filled))
    ]
    assert scores[0] == scores[1]


@pytest.mark.integration
def test_scores_of_the_test_fold_equal_the_documented_scores() -> None:
    data = shared("data", "multiwoz")
    root = corpus_root("multiwoz-2.2", data, offline=True)
    predictions = baseline_predictions(load_fold("multiwoz-2.2", "test", root))
    packed = (ROOT / "predictions" / "template-multiwoz-2.2.json.zst").read_bytes()
    assert predictions == json.loads(zstandard.decompress(packed))
    evaluator = Evaluator(True, True, True, corpus="multiwoz-2.2", data=data, offline=True)
    # Some shared files differ from the published files, and templates predict no states.
    assert {problem.kind for problem in evaluator.validate(predictions)} <= {
        "other-corpus-files",
        "gold-states",
    }
    scores = evaluator.evaluate(predictions).to_dict()
    assert round(scores["success"]["inform"]["total"], 1) == 97.0
    assert round(scores["success"]["success"]["total"], 1) == 94.1
    assert scores["bleu"]["mwz22"] == pytest.approx(13.5, abs=0.05)
    assert scores["richness"]["num_unigrams"] < 200


@pytest.mark.integration
@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_predictions_do_not_depend_on_the_hash_seed(tmp_path: Path, seed: str) -> None:
    output = tmp_path / "predictions.json"
    command = [sys.executable, "-m", "mwzeval", *TEMPLATE, "-o", str(output)]
    subprocess.run(
        command, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=HANGING
    )
    assert output.read_bytes() == COMMITTED.read_bytes()


def test_json_lines_and_standard_output_contain_equal_predictions(tmp_path: Path, run: Run) -> None:
    lines = tmp_path / "predictions.jsonl"
    code, out, err = run(*TEMPLATE, "-o", str(lines))
    assert (code, out, str(lines) in err) == (0, "", True)
    assert dict(read_predictions(lines)) == read_json(COMMITTED)
    assert run(*TEMPLATE, "-o", "-").out == COMMITTED.read_text(encoding="utf-8")


def test_options_select_fold_states_and_lexicalized_values(run: Run) -> None:
    ran = run(*TEMPLATE, "--fold", "val", "--states", "--lexicalized", "-o", "-")
    dev = load_fold("sample", "dev", SAMPLE)
    services = known_services(SAMPLE)
    assert json.loads(ran.out) == baseline_predictions(dev, states=True, services=services)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o x.json --fold tset", '"test"'),
        ("-o x.json --rules 2020", "2020"),
        ("-o x.json.gz", "x.json.gz"),
        ("-o .", "cannot write .:"),
    ],
)
def test_invalid_options_are_refused(words: str, message: str, elsewhere: Path, run: Run) -> None:
    code, _, err = run(*TEMPLATE, *words.split())
    assert (code, message in err) == (2, True)
    assert list(elsewhere.iterdir()) == []
