"""Values are of the venue of their list item, row, column or sentence."""

from __future__ import annotations

import re

from mwzeval.multiwoz.grounding.statements import Statements
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.work import calls


def bound(response: str) -> str:
    """Return the names, in capitals of one letter, that the value `v` is said of."""
    names = [
        Mention(match.start(), match.end(), match[0], "name", "hotel")
        for match in re.finditer(r"\b[A-Z]\b", response)
    ]
    place = re.search(r"\bv\b", response)
    assert place is not None
    value = Mention(place.start(), place.end(), "v", "area", "hotel")
    return "".join(name.text for name in Statements(response).spoken_of(value, names))


@tabled
def test_what_a_value_is_said_of(response: str, names: str) -> None:
    assert bound(response) == names


def claimed(response: str, value: str, *, slot: str = "area", name: str = "Lantern") -> bool:
    """Whether the last `value` in a response is said to be so."""
    at = response.rindex(value)
    names = [
        Mention(match.start(), match.end(), name, "name", "hotel")
        for match in re.finditer(name, response)
    ]
    mention = Mention(at, at + len(value), value, slot, "hotel")
    return Statements(response).is_claim(mention, names, choice=slot not in ("leaveat", "arriveby"))


@tabled
def test_what_is_said_to_be_so(response: str, value: str) -> None:
    assert claimed(response, value)


@tabled
def test_what_is_not_said_to_be_so(response: str, value: str) -> None:
    assert not claimed(response, value)


@tabled
def test_kinds_and_ranges(response: str, value: str, slot: str, claim: bool) -> None:
    assert claimed(response, value, slot=slot) is claim


@tabled
def test_kinds_of_a_venue_and_of_what_is_beside_it(response: str, kind: str, claim: bool) -> None:
    at = response.lower().rindex(kind)
    written = not re.search(r"(?:the|this|our) $", response[:at].lower())
    places = [match.start() for match in re.finditer("Lantern", response)]
    names = [Mention(place, place + 7, "Lantern", "name", "attraction") for place in places]
    said = Mention(at, at + len(kind), kind, "type", "attraction", kind, written=written)
    assert Statements(response).is_claim(said, names, choice=True) is claim


def test_what_there_is_not_is_said_of_a_venue() -> None:
    response, said = "It is nice. Note that there is no entrance fee.", "no entrance fee"
    at = response.index(said)
    fee = Mention(at, at + len(said), said, "entrancefee", "attraction", "free", written=False)
    assert Statements(response).is_claim(fee, [], choice=True)
    asked = "Do you want something with no entrance fee?"
    at = asked.index(said)
    wish = Mention(at, at + len(said), said, "entrancefee", "attraction", "free", written=False)
    assert not Statements(asked).is_claim(wish, [], choice=True)


@tabled
def test_ten_times_the_text_takes_ten_times_the_work(line: str) -> None:
    def read(lines: int) -> int:
        response = line * lines
        names, values = (
            [
                Mention(match.start(), match.end(), sign, slot, "hotel")
                for match in re.finditer(rf"\b{sign}\b", response)
            ]
            for sign, slot in (("X", "name"), ("v", "area"))
        )

        def judge() -> None:
            statements = Statements(response)
            for value in values:
                statements.is_claim(value, names, choice=True)
                statements.spoken_of(value, names)

        return calls(judge)

    assert read(500) < 15 * read(50)


def test_a_value_at_the_end_of_a_long_list_is_of_its_own_item() -> None:
    response = "".join(f"- **X{number}** is v\n" for number in range(100))
    names = [
        Mention(match.start(), match.end(), match[0], "name", "hotel")
        for match in re.finditer(r"X[0-9]+", response)
    ]
    values = [
        Mention(match.start(), match.end(), "v", "area", "hotel")
        for match in re.finditer(r"\bv\b", response)
    ]
    statements = Statements(response)
    assert [statements.spoken_of(value, names) for value in values] == [(name,) for name in names]


@tabled
def test_of_how_many_tickets_a_price_is(said: str, tickets: tuple[int, ...]) -> None:
    at = said.index("£9")
    price = Mention(at, at + 2, "£9", "price", "train")
    assert Statements(said).tickets(price) == tickets


def test_of_rooms_only_the_price_of_one_night_is_told() -> None:
    for said, nights in (("£9 per night", (1,)), ("£9 a night", (1,)), ("£9 for two", ())):
        assert Statements(said).tickets(Mention(0, 2, "£9", "price", "hotel")) == nights
