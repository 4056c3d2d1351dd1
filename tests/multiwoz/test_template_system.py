"""The template system: what it says when, that it sees nothing else, and what it scores."""

from __future__ import annotations

import dataclasses
import json
import re
import string
from typing import Any

import pytest
import zstandard

from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.choices import FOLDS, Fold
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
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
from tests.places import ROOT, read_json, shared

BLANK = re.compile(r"\{([a-z]+)\}")
NAMED = re.compile(r"\[([a-z]+)_([a-z]+)\]")


def sample_fold(fold: Fold = "test") -> GoldFold:
    return load_fold("sample", fold, corpus_root("sample", None, offline=True))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(sample_fold().tables, "2021")


HOTEL = {"area": "south", "type": "hotel", "pricerange": "expensive"}
JOURNEY = {"departure": "tarnbridge", "destination": "pellingford", "day": "saturday"}
SLOTS = {
    "HOTEL": HOTEL,
    "BOOKED": {**HOTEL, "bookpeople": "2", "bookday": "monday", "bookstay": "3"},
    "TRAIN": {**JOURNEY, "leaveat": "17:45"},
    "TAXI": {"departure": "here", "destination": "there", "leaveat": "10:00"},
}
"""What cells name instead of slots and their values."""
Turn = tuple[str, dict[str, Any]]


@tabled
def test_a_turn_says_what_it_should(
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
def test_requests_are_seen_by_keywords(utterance: str, slots: tuple[str, ...]) -> None:
    assert requested_slots(utterance) == slots


def test_topics_are_seen_by_words_and_names() -> None:
    state = {"restaurant": {"name": "the turnip cart"}, "hotel": {"area": "north"}}
    assert user_domains("where is the turnip cart?", state) == ("restaurant",)
    assert user_domains("a cab from the museum", state) == ("taxi", "attraction")
    assert user_domains("hello", state) == ()
    assert has("user closing", "thank you, goodbye")
    assert not has("user closing", "a cheap hotel")


def wordings_of_templates() -> dict[str, tuple[str, ...]]:
    """Return what the template system may say: its own wordings, and those of all agents."""
    table = keyed_rows("live", "agents.tsv")
    shared = {key: texts for key, texts in table.items() if not key.startswith(("rule ", "temp"))}
    own = {
        key.removeprefix("template "): texts
        for key, texts in table.items()
        if key.startswith("template ")
    }
    assert own.keys().isdisjoint(shared)
    return own | shared


def test_every_wording_that_can_be_asked_for_exists_and_is_understood() -> None:
    needed = {"hello", "welcome", "more?", "more? attraction", "booked taxi", "inform police"}
    needed |= {"inform hospital", *(f"ask taxi {s}" for s in ("departure", "destination", "time"))}
    needed |= {f"ask train {s}" for s in ("departure", "destination", "day", "time")}
    for domain in DATABASE_DOMAINS:
        needed |= {f"{k} {domain}" for k in ("several", "offer", "again", "none")}
        needed |= {f"offer {domain} unnamed"}
        needed |= {f"ask {domain} {slot}" for slot in STATE_BOOKING_SLOTS.get(domain, ())}
        if STATE_BOOKING_SLOTS.get(domain, ()):
            needed |= {f"{k} {domain}" for k in ("booked", "reference", "book?")}
            needed |= {f"booked {domain} unnamed"}
    known = wordings_of_templates()
    assert needed == {key for key in known if not key.startswith(("detail ", "name of "))}
    for key in needed:
        domain = next((word for word in key.split() if word in patterns_of("user domain")), "")
        for wording in known[key]:
            for slot in BLANK.findall(wording):
                assert f"{domain}_{slot}" in PLACEHOLDERS, wording
    for domain, slots in ANSWERS.items():
        for slot in slots:
            if f"detail {slot}" in known:
                assert BLANK.findall(known[f"detail {slot}"][0]) == [slot]
                assert f"{domain}_{slot}" in PLACEHOLDERS
            else:
                assert {f"detail {slot}=yes", f"detail {slot}=no"} <= known.keys()


@pytest.mark.parametrize("fold", FOLDS)
def test_predictions_pass_validation_without_any_warning(fold: Fold) -> None:
    predictions = baseline_predictions(sample_fold(fold), states=True)
    strict = Evaluator(True, True, True, True, corpus="sample", fold=fold)
    assert strict.validate(predictions) == []
    scores = strict.evaluate(predictions).to_dict()
    assert scores["dst"]["joint_accuracy"] > 99.9
    assert scores["success"]["success"]["total"] >= 90


def test_nothing_but_utterances_states_and_the_database_is_looked_at() -> None:
    gold = sample_fold()
    blind = {
        name: dataclasses.replace(
            dialogue,
            goal={"taxi": Goal({}, frozenset())},
            booked=tuple(frozenset({"taxi"}) for _ in dialogue.booked),
            references=tuple("x" for _ in dialogue.references),
            tokenized_references=tuple("x" for _ in dialogue.references),
        )
        for name, dialogue in gold.dialogues.items()
    }
    assert baseline_predictions(dataclasses.replace(gold, dialogues=blind)) == baseline_predictions(
        gold
    )


def test_nothing_of_later_turns_is_looked_at() -> None:
    gold = sample_fold()
    whole = baseline_predictions(gold)
    cut = {
        name: dataclasses.replace(
            dialogue, user_utterances=dialogue.user_utterances[:3], states=dialogue.states[:3]
        )
        for name, dialogue in gold.dialogues.items()
    }
    beginnings = baseline_predictions(dataclasses.replace(gold, dialogues=cut))
    assert beginnings == {name: turns[:3] for name, turns in whole.items()}


def test_filled_in_values_are_those_of_venues_that_satisfy_the_state() -> None:
    gold, root = sample_fold(), corpus_root("sample", None, offline=True)
    catalogue = Catalogue(gold.tables, "2021")
    names = {
        domain: {string.capwords(row["name"]): str(row["id"]) for row in gold.tables[domain]}
        for domain in ("restaurant", "hotel", "attraction")
    }
    plain = baseline_predictions(gold)
    filled = baseline_predictions(gold, services=known_services(root))
    named = 0
    for name, turns in filled.items():
        for turn, with_placeholders, state in zip(
            turns, plain[name], gold.dialogues[name].states, strict=True
        ):
            assert "[" not in turn["response"]
            assert turn["active_domains"] == with_placeholders["active_domains"]
            for domain in names:
                if f"[{domain}_name]" in with_placeholders["response"]:
                    ids = [i for n, i in names[domain].items() if n in turn["response"]]
                    constraints = {
                        slot: value
                        for slot, value in state.get(domain, {}).items()
                        if not slot.startswith("book")
                    }
                    assert set(ids) & set(catalogue.find(domain, constraints))
                    named += 1
    assert named > 50


def test_values_can_be_told_from_words_again() -> None:
    gold, root = sample_fold(), corpus_root("sample", None, offline=True)
    filled = baseline_predictions(gold, services=known_services(root))
    delexicalizing = Evaluator(success=True, corpus="sample", responses="lexicalized")
    plain = Evaluator(success=True, corpus="sample", responses="delexicalized")
    found = delexicalizing.evaluate(filled).metrics["success"]
    assert found == plain.evaluate(baseline_predictions(gold)).metrics["success"]


def test_the_committed_sample_predictions_are_these() -> None:
    committed = read_json(ROOT / "predictions" / "template-sample.json")
    assert committed == baseline_predictions(sample_fold())


def committed_for_multiwoz() -> Any:
    path = ROOT / "predictions" / "template-multiwoz-2.2.json.zst"
    return json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))


@pytest.mark.integration
def test_on_the_real_test_fold_it_scores_what_the_readme_says() -> None:
    data = shared("data", "multiwoz")
    root = corpus_root("multiwoz-2.2", data, offline=True)
    predictions = baseline_predictions(load_fold("multiwoz-2.2", "test", root))
    assert predictions == committed_for_multiwoz()
    evaluator = Evaluator(True, True, True, corpus="multiwoz-2.2", data=data, offline=True)
    # Of the shared files some are not the published ones; templates predict no states.
    assert {each.kind for each in evaluator.validate(predictions)} <= {
        "other-corpus-files",
        "gold-states",
    }
    scores = evaluator.evaluate(predictions).to_dict()
    assert round(scores["success"]["inform"]["total"], 1) == 97.0
    assert round(scores["success"]["success"]["total"], 1) == 94.1
    assert scores["bleu"]["mwz22"] == pytest.approx(13.5, abs=0.05)
    assert scores["richness"]["num_unigrams"] < 200
