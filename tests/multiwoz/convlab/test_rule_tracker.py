"""Values become those of a list: those that a user informs of, and those that a system says."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.resources import SystemValues, UserValues
from mwzeval.multiwoz.convlab.system import RuleTracker
from tests.cases import tabled
from tests.multiwoz.convlab.records import belief

LISTED: dict[str, dict[str, list[str]]] = {
    "hotel": {
        "name": ["the junction inn", "alpha-milton guest house", "john's house", "city centre"],
        "internet": ["yes", "no"],
        "area": ["east", "west"],
    },
    "train": {"leaveat": ["17:21", "17:15", "05:00"], "day": ["monday"]},
    "taxi": {"leaveat": []},
}
SPELLINGS = UserValues(LISTED)


@tabled
def test_finds_the_listed_spelling(domain: str, slot: str, said: str, written: str) -> None:
    assert SPELLINGS.normalized(domain, slot, said) == written


def test_the_belief_is_what_the_user_informed_of() -> None:
    tracker = RuleTracker(SPELLINGS)
    assert belief(tracker) == {}
    tracker.update(
        [
            Act("Inform", "Hotel", "none", "none"),
            Act("inform", "Hotel", "Area", "EAST"),
            Act("Inform", "Hotel", "Stay", " 2 Nights"),
            Act("Inform", "Hotel", "Choice", "any"),
            Act("Inform", "Hotel", "Time", "17:15"),
            Act("Inform", "Train", "Time", "51 minutes"),
            Act("Inform", "Train", "Dest", "Ely"),
            Act("Request", "Train", "Depart", "?"),
            Act("Recommend", "Train", "Depart", "cambridge"),
            Act("Inform", "Booking", "Day", "monday"),
            Act("bye", "general", "none", "none"),
            Act("Inform", "UNK", "Area", "east"),
        ]
    )
    tracker.update([Act("Inform", "Restaurant", "Time", "18:00")])
    tracker.update([Act("Inform", "Hotel", "Area", "west")])
    assert belief(tracker) == {
        "hotel": {"semi": {"area": "west"}, "book": {"stay": " 2 Nights"}},
        "train": {"semi": {"destination": "ely"}},
        "restaurant": {"book": {"time": "18:00"}},
    }


def test_dialogues_do_not_share_their_belief() -> None:
    RuleTracker(SPELLINGS).update([Act("Inform", "Hotel", "Area", "east")])
    assert belief(RuleTracker(SPELLINGS)) == {}


PUBLIC = {
    "hotel": {
        "stars": ["4", "0", "3"],
        "parking": ["no", "yes"],
        "name": ["El Shaddai", "alpha-milton guest house", "rosa's bed  and breakfast"],
    },
    "train": {"arriveBy": ["21:17", "17:15", "17:10"]},
}
VALUES = SystemValues(PUBLIC)


@tabled
def test_a_value_is_understood_as_a_listed_one(
    domain: str, slot: str, value: str, understood: str
) -> None:
    assert VALUES.understand(domain, slot, value) == understood


@given(st.text(alphabet="elshadi 's-ELSH\t", max_size=14), st.sampled_from(["name", "stars"]))
@example("\u0130", "name")
def test_what_is_understood_is_listed_or_what_was_said(value: str, slot: str) -> None:
    listed = {" ".join(text.split()) for text in PUBLIC["hotel"][slot]}
    understood = VALUES.understand("hotel", slot, value)
    assert understood == value or understood in listed | {text.lower() for text in listed}
