"""Every user and system act has a wording with its value and correct punctuation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

import pytest

from mwzeval.multiwoz.acts import (
    CHANGE,
    CORRECT,
    REPEAT,
    SYSTEM_SLOTS,
    THANK,
    USER_SLOTS,
    Act,
    giving_up,
)
from mwzeval.multiwoz.live.user import SAME_VALUE
from mwzeval.multiwoz.live.wordings import finished, system_text, user_text
from mwzeval.multiwoz.template_system import user_domains
from tests.multiwoz.convlab.records import acts, golden

USER, SYSTEM = user_text, system_text
BYE = Act("bye", "general", "none", "none")
TRACES = ("traces_pair", "traces_pair_corpus", "traces_user")
WRONG = re.compile(r"\b(?i:([^\W_]+) \1)\b|[.?!] [a-z]|  | [.,?!;:]|[.,?!]{2}")
"""A repeated word, a sentence without a capital letter, or redundant marks and spaces."""


Wordings = Callable[[list[Act], Random], str]


def check(wordings: Wordings, said: list[Act], rng: Random) -> None:
    text = wordings(said, rng)
    where = (said, text)
    assert (bool(text), where) == (bool(said), where)
    if not text:
        return
    values = [act.value for act in said if is_value_in_text(wordings, act)]
    assert all(value in text for value in values), where
    assert text[0] == text[0].upper(), where
    assert text[-1] in ".?!", where
    assert re.search(r"[{}]|a/an", text) is None, where
    assert WRONG.search(without(values, text)) is None, where


def without(values: list[str], text: str) -> str:
    """Replace the values in a text, which may contain arbitrary characters."""
    for number, value in enumerate(sorted(values, key=len, reverse=True)):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"Value{number}", text)
    return text


def is_value_in_text(wordings: Wordings, act: Act) -> bool:
    """Return whether the text of an act contains its value."""
    if act.domain == "general" or act.intent == "Request" or act.slot == "none":
        return False
    if act.value in ("none", "?"):
        return False
    if act.slot in ("Internet", "Parking") and act.value.lower() in ("yes", "no"):
        return False
    return wordings is SYSTEM or (act.value != "dontcare" and act.slot not in ("Choice", "NotBook"))


@pytest.mark.integration
@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("seed", [1, 2])
def test_turns_of_recorded_dialogues_are_worded(name: str, seed: int) -> None:
    rng = Random(seed)
    for trace in golden(name):
        for turn in trace["turns"]:
            check(USER, acts(turn["user"]), rng)
            check(SYSTEM, acts(turn["system"]), rng)


VALUES = {
    "Area": ("centre", "same area as the hotel"),
    "Price": ("cheap", "moderate", "in the same price range as the restaurant"),
    "Food": ("indian", "european", "asian oriental"),
    "Stars": ("1", "4"),
    "Type": ("hotel", "guesthouse", "museum", "architecture", "boat", "swimmingpool"),
    "Name": ("restaurant two two", "the place", "a and b guest house"),
    "Internet": ("yes", "no", "unknown"),
    "Parking": ("yes", "no", "unknown"),
    "Day": ("monday", "the same day", SAME_VALUE["day"].format("hotel")),
    "People": ("1", "4", "the same", SAME_VALUE["people"].format("hotel")),
    "Stay": ("1", "3"),
    "Fee": ("free", "?", "5 pounds"),
    "Department": ("cardiology", "emergency department", "oncology"),
    "Depart": ("cambridge", "the hotel"),
    "Choice": ("1", "many", "12"),
}
OTHERS = ("17:15",)


def user_acts() -> Iterator[Act]:
    for domain, slots in USER_SLOTS.items():
        name = domain.capitalize()
        yield Act("Inform", name, "none", "none")
        yield Act("Inform", name, "Choice", "any")
        yield Act("Inform", name, "NotBook", "none")
        yield giving_up(domain)
        for slot in slots.values():
            yield Act("Request", name, slot, "?")
            for value in (*VALUES.get(slot, OTHERS), "dontcare"):
                yield Act("Inform", name, slot, value)


def system_acts() -> Iterator[Act]:
    for domain, slots in SYSTEM_SLOTS.items():
        name = domain.capitalize()
        intents = ["Inform", "Recommend", "Select", "NoOffer"]
        intents += {"booking": ["Book", "NoBook"], "train": ["OfferBook", "OfferBooked"]}.get(
            domain, []
        )
        for slot in (*(slot.capitalize() for slot in slots), "Open"):
            slot = "none" if slot == "None" else slot
            yield Act("Request", name, slot, "?")
            for value in ("none",) if slot == "none" else VALUES.get(slot, OTHERS):
                yield from (Act(intent, name, slot, value) for intent in intents)
    yield from (Act(intent, "general", "none", "none") for intent in GENERAL)


GENERAL = ("bye", "greet", "reqmore", "welcome")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_single_act_is_worded(seed: int) -> None:
    rng = Random(seed)
    for act in (*user_acts(), THANK, BYE):
        check(USER, [act], rng)
    for act in system_acts():
        check(SYSTEM, [act], rng)


@pytest.mark.parametrize("marker", [REPEAT, CHANGE, CORRECT])
def test_repeated_corrected_and_changed_acts_are_worded(marker: Act) -> None:
    rng = Random(4)
    for act in user_acts():
        check(USER, [marker, act], rng)
        check(USER, [giving_up("hotel"), marker, act], rng)


def informs(domain: str, **values: str) -> list[Act]:
    return [Act("Inform", domain, slot, value) for slot, value in values.items()]


FOOD = {"Price": "expensive", "Area": "same area as the hotel", "Food": "italian"}
FLAGS = {"Internet": "no", "Parking": "yes", "Area": "north"}


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        (
            informs("Restaurant", none="none", **FOOD),
            r"an expensive italian .* in the same area as the hotel\b",
        ),
        (informs("Restaurant", Day="monday", People="1", Time="18:15"), "for 1 .* monday at 18:15"),
        # Negated slots come last.
        (informs("Hotel", none="none", **FLAGS), r"parking .*(?:without|no) (?:internet|wifi)"),
    ],
)
def test_related_acts_are_worded_in_one_phrase(said: list[Act], pattern: str) -> None:
    for seed in range(20):
        assert re.search(pattern, USER(said, Random(seed)))


@pytest.mark.parametrize("domain", list(USER_SLOTS))
def test_opening_acts_name_their_domain(domain: str) -> None:
    name = domain.capitalize()
    opening = Act("Inform", name, "none", "none")
    for seed in range(12):
        for slot in (None, *USER_SLOTS[domain].values()):
            if slot not in ("Type", "People", "Day", "Time", "Stay"):
                told = [] if slot is None else [Act("Inform", name, slot, "xyz")]
                text = USER([opening, *told], Random(seed))
                assert domain in user_domains(text.lower(), {}), text


def test_wordings_vary_with_the_seed_and_are_reproducible() -> None:
    said = [Act("Inform", "Hotel", "Area", "north"), Act("Inform", "Hotel", "Stars", "4")]
    texts = {USER(said, Random(seed)) for seed in range(50)}
    assert len(texts) > 20
    assert USER(said, Random(7)) == USER(said, Random(7))


def test_recommendations_are_worded_without_the_word_book() -> None:
    offer = [Act("Recommend", "Hotel", "Name", "avalon"), Act("Recommend", "Hotel", "Ref", "00")]
    assert all("book" not in SYSTEM(offer, Random(seed)).split("reference")[0] for seed in range(9))


def test_articles_match_the_next_word() -> None:
    for phrase in ("an italian one", "a european place", "an 8 star", "a 4 star"):
        _, rest = phrase.split(" ", 1)
        assert finished(f"is it a/an {rest}") == f"Is it {phrase}"
