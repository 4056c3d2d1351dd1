"""Values belong to the venue of their list item, row, column or sentence."""

from __future__ import annotations

import re
from typing import Any

from mwzeval.multiwoz.grounding.statements import Statements
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.work import calls


def mentions(
    response: str, pattern: str, slot: str, domain: str = "hotel", **more: Any
) -> list[Mention]:
    """Return the matches of a pattern as mentions of a slot."""
    return [
        Mention(*match.span(), match[0], slot, domain, **more)
        for match in re.finditer(pattern, response)
    ]


@tabled
def test_values_are_attributed_to_venue_names(response: str, names: str) -> None:
    (value,) = mentions(response, r"\bv\b", "area")
    found = Statements(response).spoken_of(value, mentions(response, r"\b[A-Z]\b", "name"))
    assert "".join(name.text for name in found) == names


@tabled
def test_claims_are_distinguished_from_other_mentions(
    response: str, value: str, slot: str, claim: bool
) -> None:
    names = mentions(response, "Lantern", "name")
    (*_, last) = mentions(response, re.escape(value), slot)
    choice = slot not in ("leaveat", "arriveby")
    assert Statements(response).is_claim(last, names, choice=choice) is claim


@tabled
def test_venue_types_are_claims_only_if_they_describe_the_venue(
    response: str, kind: str, claim: bool
) -> None:
    names = mentions(response, "Lantern", "name", "attraction")
    (*_, kind_at) = mentions(response, f"(?i){kind}", "type", "attraction", value=kind)
    written = not re.search(r"(?:the|this|our) $", response[: kind_at.start].lower())
    said = kind_at._replace(written=written)
    assert Statements(response).is_claim(said, names, choice=True) is claim


def test_missing_fee_is_a_claim_in_statements_but_not_in_questions() -> None:
    for response, claim in (
        ("It is nice. Note that there is no entrance fee.", True),
        ("Do you want something with no entrance fee?", False),
    ):
        more = {"value": "free", "written": False}
        (fee,) = mentions(response, "no entrance fee", "entrancefee", "attraction", **more)
        assert Statements(response).is_claim(fee, [], choice=True) is claim


@tabled
def test_work_grows_linearly_with_the_length_of_the_response(line: str) -> None:
    def read(lines: int) -> int:
        response = line * lines
        names, values = mentions(response, r"\bX\b", "name"), mentions(response, r"\bv\b", "area")

        def judge() -> None:
            statements = Statements(response)
            for value in values:
                statements.is_claim(value, names, choice=True)
                statements.spoken_of(value, names)

        return calls(judge)

    assert read(500) < 15 * read(50)


def test_values_in_a_long_list_belong_to_their_own_item() -> None:
    response = "".join(f"- **X{number}** is v\n" for number in range(100))
    names, values = mentions(response, "X[0-9]+", "name"), mentions(response, r"\bv\b", "area")
    statements = Statements(response)
    assert [statements.spoken_of(value, names) for value in values] == [(name,) for name in names]


@tabled
def test_prices_refer_to_the_stated_number_of_tickets(said: str, tickets: tuple[int, ...]) -> None:
    (price,) = mentions(said, "£9", "price", "train")
    assert Statements(said).tickets(price) == tickets


def test_room_prices_are_for_one_night() -> None:
    for said, nights in (("£9 per night", (1,)), ("£9 a night", (1,)), ("£9 for two", ())):
        (price,) = mentions(said, "£9", "price")
        assert Statements(said).tickets(price) == nights
