"""Values are of the venue of their list item, row, column or sentence."""

from __future__ import annotations

import re

import pytest

from mwzeval.multiwoz.grounding.statements import Statements
from mwzeval.multiwoz.words.text import Mention
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


@pytest.mark.parametrize(
    ("response", "names"),
    [
        ("X is x, and Y is v.", "Y"),
        ("X is v, and Y is y.", "X"),
        ("X and Y are both v. Z is not.", "XY"),
        ("X, Y, and the Z are v.", "XYZ"),
        ("X is nice. It is v. Y is not.", "X"),
        ("X is nice. Y is dear. It is v.", "Y"),
        ("There is the v X. Y is dear.", "X"),
        ("The v place is X, the other Y.", "X"),
        ("i found v places. X is good. Y too.", ""),
        ("1. **X** – x\n2. **Y** – v\n3. Z – z", "Y"),
        ("1. **X**\n   - x\n   - v\n2. **Y**\n   - y", "X"),
        ("**X**\n- v\n- x\n\n**Y**\n- y", "X"),
        ("we like X best.\n- v\n- w\n\nY is good, too.", "X"),
        ("### X\nIt is nice.\n\nIt is v.\n### Y\nno", "X"),
        ("X or Y?\n1. X: x\n2. Y: v", "Y"),
        ("How about X? It is v.", "X"),
        ("i have found a v place. It's called X. Y is x.", "X"),
        ("- **Type:** v\n- **Name:** X", "X"),
        ("| n | a |\n|---|---|\n| X | x |\n| Y | v |", "Y"),
        ("| | X | Y |\n|---|---|---|\n| a | x | v |", "Y"),
        ("X is nice. Shall we book it? It is v.", ""),
        ("1. X – x\n2. Y – y\n\nWhich one? It is v.", ""),
        ("1. X – x\n2. Y – y\n\nThey are v.", ""),
        ("1. X – x\n2. Y – y\n\nWhich one? It is v. The phone of X is 5.", "X"),
        ("X is nice. Shall we book it? It is v. Y is dear.", "Y"),
        ("1. X – x\n2. Y – y\n\nIt is v. Or is it Z?", "Z"),
        ("1. X – x\n2. Y – y\n\nY is v.", "Y"),
        ("In v.", ""),
    ],
)
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


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ("It is in the north.", "north"),
        ("- **Area:** north", "north"),
        ("The Lantern is not cheap, but in the north.", "north"),
        ("How about the Lantern in the north?", "north"),
        ("I have found the Lantern in the north for you.", "north"),
        ("You would like the Lantern: it is in the north.", "north"),
        ("There is a place in the north called Lantern.", "north"),
        ("We have one in the north, the Lantern.", "north"),
        ("I have found one in the north. It's called Lantern.", "north"),
        ("There is the north side Lantern.", "north"),
        ("How about the northern Lantern?", "northern"),
        ("The Lantern is a good one in the north.", "north"),
        ("There are two: Lantern (north) and another.", "north"),
    ],
)
def test_what_is_said_to_be_so(response: str, value: str) -> None:
    assert claimed(response, value)


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ("The Lantern is not in the north.", "north"),
        ("The Lantern isn't in the north.", "north"),
        ("It does n't have any rooms in the north.", "north"),
        ("There are no hotels that have rooms in the north.", "north"),
        ("Nothing in the north, sorry.", "north"),
        ("Do you want something in the north?", "north"),
        ("You asked for the north.", "north"),
        ("The Lantern is dear. There is also one in the north.", "north"),
        ("I like the Lantern and another in the north.", "north"),
        ("There are 12 hotels in the north.", "north"),
        ("One is dear, and one is in the north.", "north"),
        ("They range from cheap to expensive.", "expensive"),
        ("There is one in the north. Lantern is dear.", "north"),
        ("I have 3 in the north, and Lantern is dear.", "north"),
        ("Do you want the north? Lantern is dear.", "north"),
        ("I looked for the north, but Lantern is dear.", "north"),
    ],
)
def test_what_is_not_said_to_be_so(response: str, value: str) -> None:
    assert not claimed(response, value)


def test_kinds_in_general_are_no_claims() -> None:
    assert claimed("The Lantern is a hotel.", "hotel", slot="type")
    assert not claimed("The Lantern is a 4-star hotel.", "hotel", slot="type")
    assert not claimed("These hotels are nice.", "hotels", slot="type")


@pytest.mark.parametrize(
    ("response", "kind", "claim"),
    [
        ("The Lantern is a museum.", "museum", True),
        ("The museum Lantern is nice.", "museum", True),
        ("It is the museum called Lantern.", "museum", True),
        ("The Lantern, the museum in the west, is nice.", "museum", True),
        ("The Lantern is one of our museums.", "museums", True),
        ("The Lantern – this museum is nice.", "museum", True),
        ("The Lantern has free entry, is a museum.", "museum", True),
        ("The museum is shut, but the Lantern is open.", "museum", False),
        ("The Lantern is shut. The museum is not.", "museum", False),
        ("The Lantern is near some museums.", "museums", False),
        ("The Lantern is next to a museum.", "museum", False),
        ("The Lantern has a cafe and a museum.", "museum", False),
        ("The Lantern is a museum-style place.", "museum", False),
        ("The Lantern is great for museum lovers.", "museum", False),
    ],
)
def test_kinds_of_a_venue_and_of_what_is_beside_it(response: str, kind: str, claim: bool) -> None:
    at = response.lower().rindex(kind)
    written = not re.search(r"(?:the|this|our) $", response[:at].lower())
    places = [match.start() for match in re.finditer("Lantern", response)]
    names = [Mention(place, place + 7, "Lantern", "name", "attraction") for place in places]
    said = Mention(at, at + len(kind), kind, "type", "attraction", kind, written=written)
    assert Statements(response).is_claim(said, names, choice=True) is claim


def test_a_range_of_prices_is_no_price() -> None:
    assert not claimed("The Lantern has all, from cheap to dear.", "dear", slot="pricerange")


def test_limits_of_times_are_no_claims() -> None:
    assert claimed("It leaves at 19:00.", "19:00", slot="leaveat")
    assert not claimed("It leaves after 19:00.", "19:00", slot="leaveat")
    assert not claimed("There is no train at 19:00.", "19:00", slot="leaveat")
    assert claimed("No, it leaves at 19:00.", "19:00", slot="leaveat")
    assert not claimed("The trains before 19:00 are full.", "19:00", slot="arriveby")
    assert not claimed("Trains leave between 09:00 and 19:00.", "19:00", slot="leaveat")
    assert not claimed("Trains leave from 09:00 to 19:00.", "19:00", slot="arriveby")
    assert not claimed("It is closest to your 19:00 arrival.", "19:00", slot="arriveby")


def test_a_train_that_is_named_is_said_to_be_there_by_a_time() -> None:
    assert claimed("Lantern gets you in by 19:00.", "19:00", slot="arriveby")
    assert claimed("Lantern runs from 18:00 to 19:00.", "19:00", slot="arriveby")
    assert not claimed("Lantern is full. You asked to be there by 19:00.", "19:00", slot="arriveby")
    assert not claimed("Lantern leaves after 19:00.", "19:00", slot="leaveat")


def test_a_range_of_days_is_no_claim() -> None:
    assert claimed("It leaves on Monday to go to Ely.", "Monday", slot="day")
    for said in ("Monday to Friday", "Mon\N{EN DASH}Fri"):
        response = f"Lantern: call {said}."
        assert not claimed(response, "Monday" if "Monday" in said else "Mon", slot="day")
        assert not claimed(response, "Fri", slot="day")


def test_what_there_is_not_is_said_of_a_venue() -> None:
    response, said = "It is nice. Note that there is no entrance fee.", "no entrance fee"
    at = response.index(said)
    fee = Mention(at, at + len(said), said, "entrancefee", "attraction", "free", written=False)
    assert Statements(response).is_claim(fee, [], choice=True)
    asked = "Do you want something with no entrance fee?"
    at = asked.index(said)
    wish = Mention(at, at + len(said), said, "entrancefee", "attraction", "free", written=False)
    assert not Statements(asked).is_claim(wish, [], choice=True)


@pytest.mark.parametrize(
    "line",
    [
        "X is v.\n",
        "X is v, ",
        "| X | v |\n",
        "- **X** is v\n",
        "| v | v |\n",
        "v and v ",
    ],
)
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


@pytest.mark.parametrize(
    ("said", "tickets"),
    [
        *(("It is £9 each.", (1,)), ("£9 per ticket", (1,)), ("2 tickets at £9 pp", (1,))),
        *(("£9 for two.", (2,)), ("£9 in total for 2 people", (2,)), ("£9 for both of you", (2,))),
        *(("2 tickets come to £9", (2,)), ("3 seats for £9", (1, 3)), ("It is £9.", ())),
        *(("£9 for two nights", ()), ("2 seats. It is £9.", ()), ("£9 for 2 stars", ())),
    ],
)
def test_of_how_many_tickets_a_price_is(said: str, tickets: tuple[int, ...]) -> None:
    at = said.index("£9")
    price = Mention(at, at + 2, "£9", "price", "train")
    assert Statements(said).tickets(price) == tickets


def test_of_rooms_only_the_price_of_one_night_is_told() -> None:
    for said, nights in (("£9 per night", (1,)), ("£9 a night", (1,)), ("£9 for two", ())):
        assert Statements(said).tickets(Mention(0, 2, "£9", "price", "hotel")) == nights
