"""An address is one mention, however much of it is said, and is right as a whole or wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.multiwoz.worlds import Tables, read_tables
from tests.places import ROOT, shared

DOMAINS = ("restaurant", "hotel", "attraction")


def venue(identifier: str, name: str, address: str) -> dict[str, str]:
    return {"id": identifier, "name": name, "address": address, "area": "centre", "type": "park"}


TOWN: Tables = {
    "restaurant": [
        venue("1", "the copper spoon", "14 Weir Street City Centre"),
        venue("2", "noodle heaven", "8 - 10 King's Parade Marsham"),
        venue("3", "soup and salt", "Weir Street City Centre"),
        venue("4", "otter grill", "The Old Tannery 2G Otter Road Marsham Marsham"),
    ],
    "hotel": [venue("1", "wexcombe guest house", "40517 weir street")],
    "attraction": [
        venue("1", "the candle works", "unit su4, candle arcade, saint anne's passage"),
        venue("2", "wexcombe country park", "wexcombe country park, wexcombe"),
        venue("3", "marsh pools", "pool way, off otter road"),
    ],
    "train": [],
}


@cache
def delexicalizer(folder: Path | None = None) -> Delexicalizer:
    return Delexicalizer(TOWN if folder is None else read_tables(folder))


def said_of(name: str, words: str, domain: str = "restaurant") -> list[Mention]:
    """Return what is found in words about a venue behind its name."""
    (turn,) = delexicalizer().dialogue([f"{name.title()} is at {words} ."], [{}], [(domain,)])
    return list(turn.mentions[1:])


@tabled
def test_much_or_little_of_an_address_is_that_of_the_venue(name: str, said: str) -> None:
    for words in (said, said.lower()):
        (mention,) = said_of(name, words)
        (row,) = (row for row in TOWN["restaurant"] if row["name"] == name)
        text = words.removeprefix("the ")
        assert (mention.slot, mention.text, mention.value) == ("address", text, row["address"])
        assert row["id"] in mention.venues


def test_a_part_of_the_town_that_the_database_leaves_out_may_be_added() -> None:
    (mention,) = said_of("wexcombe guest house", "40517 Weir Street, Marsham", "hotel")
    assert (mention.text, mention.value) == ("40517 Weir Street, Marsham", "40517 weir street")


@tabled
def test_what_no_venue_has_is_one_unknown_address(said: str) -> None:
    (mention,) = said_of("the copper spoon", said)
    assert (mention.slot, mention.text) == ("address", said)
    assert (mention.domain, mention.value, mention.venues) == ("restaurant", None, ())


def test_a_misspelt_street_is_its_own_and_needs_its_number() -> None:
    (known,) = said_of("otter grill", "2G Ottter Road")
    assert (known.value, known.sure) == (TOWN["restaurant"][3]["address"], False)
    (wrong,) = said_of("otter grill", "3G Ottter Road")
    assert wrong.value is None


@tabled
def test_what_stands_beside_an_address_is_no_part_of_it(said: str, texts: list[str]) -> None:
    assert [mention.text for mention in said_of("the copper spoon", said)] == texts


def test_a_name_that_begins_an_address_is_a_name_first_and_then_an_address() -> None:
    park = "wexcombe country park"
    (first, *_) = delexicalizer().dialogue([f"Try {park}, wexcombe."], [{}], [("attraction",)])
    assert (first.mentions[0].slot, first.mentions[0].text) == ("name", park)
    (mention,) = said_of(park, f"{park}, wexcombe", "attraction")
    assert (mention.slot, mention.value) == ("address", f"{park}, wexcombe")


@tabled
def test_landmarks_are_neither_names_nor_addresses(said: str, landmarks: list[str]) -> None:
    found = said_of("the copper spoon", f"a place {said}")
    assert [m.text for m in found if m.slot == "landmark"] == landmarks
    text = f"It is {said}"
    (turn,) = delexicalizer().dialogue([text], [{}], [("restaurant",)])
    for landmark in landmarks:
        assert landmark in turn.response


def test_a_town_may_be_any_of_its_stations() -> None:
    trains = [
        {"trainID": f"TR{number}", "departure": station, "destination": "cambridge"}
        for number, station in enumerate(("london kings cross", "london liverpool street", "ely"))
    ]
    stations = Delexicalizer({**TOWN, "train": trains})
    for said, venues in (
        ("London", {"TR0", "TR1"}),
        ("London Liverpool", {"TR1"}),
        ("Liverpool St", {"TR1"}),
    ):
        (turn,) = stations.dialogue([f"It leaves from {said} ."], [{}], [("train",)])
        assert [(m.slot, set(m.venues)) for m in turn.mentions] == [("departure", venues)]


def test_each_part_of_an_address_has_a_placeholder_of_its_own() -> None:
    text = "The Candle Works is at unit su4 , candle arcade , saint anne 's passage ."
    (turn,) = delexicalizer().dialogue([text], [{}], [("attraction",)])
    address = "[attraction_address]"
    assert turn.response == f"[attraction_name] is at {address} , {address} , {address} ."


def sample_database() -> Path:
    return ROOT / "data" / "sample" / "db"


def real_database() -> Path:
    return shared("data", "multiwoz", "db")


both_databases = pytest.mark.parametrize(
    "database", [sample_database, pytest.param(real_database, marks=pytest.mark.integration)]
)


def spellings(address: str) -> set[str]:
    plain = address.rstrip(", ")
    without = re.sub(r"\s*,\s*", " ", plain)
    return {form for words in (plain, without) for form in (words, words.lower(), words.title())}


def addresses(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for domain in DOMAINS:
        for row in read_tables(folder)[domain]:
            if row.get("address"):
                yield domain, row


@both_databases
def test_every_address_of_a_database_is_one_mention_of_its_venue(
    database: Callable[[], Path],
) -> None:
    folder = database()
    for domain, row in addresses(folder):
        for form in spellings(row["address"]):
            text = f"{row['name']} : the address is {form} ."
            (turn,) = delexicalizer(folder).dialogue([text], [{}], [(domain,)])
            found = [m for m in turn.mentions if m.start >= text.index(" : ")]
            said = form if form[0] == "T" else form.removeprefix("the ")
            assert [(m.slot, m.text) for m in found] == [("address", said)], text
            assert row["id"] in found[0].venues, text


@both_databases
def test_another_house_number_is_no_address_of_the_venue(database: Callable[[], Path]) -> None:
    folder = database()
    for domain, row in addresses(folder):
        for number in re.finditer(r"\d+", row["address"]):
            altered = int(number[0]) + 1000
            address = f"{row['address'][: number.start()]}{altered}{row['address'][number.end() :]}"
            for form in spellings(address):
                text = f"{row['name']} : the address is {form} ."
                (turn,) = delexicalizer(folder).dialogue([text], [{}], [(domain,)])
                found = [m for m in turn.mentions if m.start >= text.index(" : ")]
                assert {m.slot for m in found} == {"address"}, text
                assert all(row["id"] not in m.venues for m in found), text
