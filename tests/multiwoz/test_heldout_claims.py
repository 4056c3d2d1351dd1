"""The held-out sentences: what is called true is, and what is called false is not.

Claims are read back from the texts by means of this file, neither by those that wrote them nor by
those of the package.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.claims import Reading, held_out
from benchmarks.heldout.filling import RIGHT, UNCLEAR, Filled, Filler
from benchmarks.heldout.sentences import read_sentences
from mwzeval import Evaluator
from tests.places import ROOT, shared

Row = Mapping[str, Any]
DOMAINS = ("hotel", "restaurant", "attraction", "train")
HELD_OUT = read_sentences()
WHICH = ("sample", pytest.param("real", marks=pytest.mark.integration))
WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
AREAS = {"north": "north", "south": "south", "east": "east", "west": "west"}
PRICES = {
    **dict.fromkeys(("cheap", "cheaply", "inexpensive", "low-cost", "£"), "cheap"),
    **dict.fromkeys(("moderate", "moderately", "mid-range", "mid-priced", "££"), "moderate"),
    **dict.fromkeys(("expensive", "expensively", "upmarket", "high-end", "£££"), "expensive"),
}
SPOKEN_MINUTES = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}


def bare(text: str) -> str:
    """Return a text without markup, in lower case."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", html.unescape(re.sub(r"</?b>", "", text)))
    text = text.replace("\u00a0", " ").replace("’", "'").lower()
    return text.strip('*_`"“”').removeprefix("'").removesuffix("'")


def numbers(text: str) -> list[float]:
    """Return the numbers in a text, in digits or words."""
    found = re.findall(r"\d+(?:\.\d+)?|[a-z]+", text)
    return [float(WORDS.index(n) if n in WORDS else n) for n in found if n in WORDS or n[0] < "a"]


def time(text: str) -> int:
    """Return minutes since midnight."""
    spoken = re.fullmatch(r"([a-z-]+) (past|to) ([a-z]+) in the (\w+)", text)
    if spoken:
        minutes = SPOKEN_MINUTES[spoken[1]]
        hours = WORDS.index(spoken[3]) % 12 + 12 * (spoken[4] != "morning")
        return hours * 60 + (minutes if spoken[2] == "past" else -minutes)
    joined = re.fullmatch(r"(\d\d)(\d\d)(?: hrs)?", text)
    clock = joined or re.match(r"(\d+)(?:[:.](\d\d))?", text)
    assert clock, text
    hours, minutes = int(clock[1]), int(clock[2] or 0)
    half = re.search(r"([ap])\.?m", text)
    if half:
        hours = hours % 12 + 12 * (half[1] == "p")
    return hours % 24 * 60 + minutes


def duration(text: str) -> float:
    """Return minutes."""
    spans = numbers(text.replace("an hour", "1 hour"))
    return 60 * spans[0] + spans[1] if len(spans) == 2 else spans[0]


def phone(text: str) -> str:
    number = re.sub(r"\D", "", text.replace("(0)", ""))
    return "0" + re.sub("^(?:00)?44", "", number) if re.match(r"(?:\+|00)", text) else number


def price(text: str) -> float:
    amounts = numbers(text)
    return amounts[0] + amounts[1] / 100 if len(amounts) == 2 else amounts[0]


def fee(text: str) -> float:
    return 0.0 if re.search("free|no |nothing", text) else price(text)


def stars(text: str) -> float:
    return float(text.count("★") or text.count("⭐") or 0) if text[0] in "★⭐" else numbers(text)[0]


def area(text: str) -> str:
    return next((AREAS[name] for name in AREAS if name in text), "centre")


def kind(text: str) -> str:
    text = {"b&b": "guesthouse", "bed and breakfast": "guesthouse"}.get(text, text)
    return text.replace(" ", "")


def address(text: str) -> str:
    text = text.replace(" rd", " road").replace("number ", "").replace(" on ", " ")
    text = re.sub(r" st(?=,| city| fen|$)", " street", text)
    text = re.sub(r",? (city centre|chesterton|cherry hinton|fen ditton|newnham)(?=,|$)", "", text)
    return re.sub(r"[ ,–-]", "", text)


def hours(text: str) -> list[int]:
    clocks = re.findall(r"(\d+)(?::00)? ?([ap])\.?m", text)
    return [int(hour) % 12 + 12 * (half == "p") for hour, half in clocks]


def yes(text: str) -> bool:
    return not text.startswith("no")


READERS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("leaveat", "arriveby"), time),
    **dict.fromkeys(("parking", "internet"), yes),
    **dict.fromkeys(("single", "double", "family", "price", "count"), price),
    "name": lambda text: re.sub("^the | and | & ", "", text),
    "phone": phone,
    "postcode": lambda text: re.sub(r"[ -]", "", text),
    "duration": duration,
    "day": lambda text: text[:3],
    "entrancefee": fee,
    "stars": stars,
    "area": area,
    "pricerange": PRICES.get,
    "type": kind,
    "address": address,
    "openhours": hours,
}
COLUMNS = {
    "leaveat": "leaveAt",
    "arriveby": "arriveBy",
    "trainid": "trainID",
    "entrancefee": "entrance fee",
}


def in_database(row: Row, slot: str) -> str:
    if slot in ("single", "double", "family"):
        return str(row["price"].get(slot, 0))
    return str(row.get(COLUMNS.get(slot, slot), "?"))


def says(slot: str, text: str, form: str = "") -> object:
    """Return what a text says, such that it equals what the database says when it means it."""
    read = READERS.get(slot, str)(bare(text))
    people = re.search(r"\bx(\d)\b", form)
    return round(float(str(read)) / int(people[1]), 4) if people else read


@cache
def tables(folder: Path) -> Mapping[str, Sequence[Row]]:
    return {name: json.loads((folder / f"{name}_db.json").read_bytes()) for name in DOMAINS}


def database(which: str) -> Mapping[str, Sequence[Row]]:
    sample = ROOT / "data" / "sample" / "db"
    return tables(sample if which == "sample" else shared("data", "multiwoz", "db"))


@cache
def filled(which: str) -> list[Filled]:
    return list(Filler(database(which), HELD_OUT).fillings(rounds=1))


def claims(which: str) -> Iterator[tuple[Filled, Mapping[str, Any], Row, str]]:
    for text in filled(which):
        for fact in text.facts:
            words = text.turns[fact["turn"]][fact["start"] : fact["end"]]
            yield text, fact, text.venues[fact["venue"] - 1], words


def spoken_of(text: Filled, fact: Mapping[str, Any], row: Row, which: str) -> list[Row]:
    """Return the venues that a claim may be about: the one named, else all as asked for."""
    if any(f["slot"] in ("name", "trainid") and f["venue"] == fact["venue"] for f in text.facts):
        return [row]
    asked = text.state[fact["domain"]].items()
    rows = database(which)[fact["domain"]]
    return [r for r in rows if all(in_database(r, slot) == value for slot, value in asked)]


def test_there_are_enough_sentences_traps_and_names() -> None:
    traps = [sentence for sentence in HELD_OUT.sentences if not sentence.claims]
    names = [name for domain in DOMAINS[:3] for name in HELD_OUT.invented[domain]]
    assert len(HELD_OUT.sentences) - len(traps) >= 300
    assert len(traps) >= 60
    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize("which", WHICH)
def test_what_is_called_true_is_true_and_what_is_called_false_is_false(which: str) -> None:
    wrong = []
    for text, fact, row, words in claims(which):
        slot = fact["slot"]
        if slot == "count" or fact["kind"] == UNCLEAR:
            continue
        said = says(slot, words, fact["form"])
        if fact["kind"] == RIGHT:
            good = said == says(slot, in_database(row, slot))
        else:
            rows = spoken_of(text, fact, row, which)
            good = all(said != says(slot, in_database(r, slot)) for r in rows)
        if not good:
            wrong.append((text.sentence.number, slot, fact["kind"], words, in_database(row, slot)))
    assert wrong == []


@pytest.mark.parametrize("which", WHICH)
def test_counts_are_those_of_what_was_asked_for(which: str) -> None:
    for text, fact, _, words in claims(which):
        if fact["slot"] == "count":
            ((domain, asked),) = text.state.items()
            rows = database(which)[domain]
            good = [r for r in rows if all(in_database(r, s) == v for s, v in asked.items())]
            assert (says("count", words) == len(good)) == (fact["kind"] in (RIGHT, UNCLEAR))


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("slot", ["name", "trainid", "phone", "postcode"])
def test_made_up_values_are_in_no_database(which: str, slot: str) -> None:
    rows = [(domain, row) for domain in DOMAINS for row in database(which)[domain]]
    every = {(domain, says(slot, in_database(row, slot))) for domain, row in rows}
    made_up = [
        (fact["domain"], says(slot, words))
        for _, fact, _, words in claims(which)
        if fact["kind"] == "invented" and fact["slot"] == slot
    ]
    assert made_up
    assert every.isdisjoint(made_up)


@pytest.mark.integration
def test_every_sentence_is_filled_from_the_real_database_true_and_with_each_claim_false() -> None:
    numbers = [text.sentence.number for text in filled("real")]
    for sentence in HELD_OUT.sentences:
        falsifiable = [claim for claim in sentence.claims if claim.venue]
        least = len(falsifiable) if sentence.about != ("train",) else 0
        assert numbers.count(sentence.number) >= min(2, 1 + least), sentence.number


def test_one_claim_at_most_is_false_and_the_same_seed_fills_alike() -> None:
    for text in filled("sample"):
        kinds = [fact["kind"] for fact in text.facts]
        assert sum(kind not in (RIGHT, UNCLEAR) for kind in kinds) <= 1
        assert UNCLEAR not in kinds or any(kind == "invented" for kind in kinds)
    again = Filler(database("sample"), HELD_OUT).fillings(rounds=1)
    assert [text.turns for text, _ in zip(again, range(100), strict=False)] == [
        text.turns for text in filled("sample")[:100]
    ]


@pytest.mark.parametrize(
    "line",
    [
        "hotel <name/>",
        "hotel\t<name|titel/>",
        "hotel\t<2.name/>",
        "hotel\t<na me/>",
        "hotel\tin the {area",
    ],
)
def test_a_sentence_that_cannot_be_read_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "sentences.tsv"
    path.write_text(f"# a comment\n{line}\n")
    with pytest.raises(ValueError, match="line 2"):
        read_sentences(path)


@pytest.mark.integration
def test_the_report_has_figures_and_no_texts() -> None:
    reading = Reading()
    evaluator = Evaluator(grounded=True, corpus="sample", responses="lexicalized")
    table = "\n".join(held_out(reading, evaluator, rounds=1))
    claimed = sum(1 for _, fact, _, _ in claims("sample") if fact["kind"] != UNCLEAR)
    of_slots = [counts for key, counts in reading.groups.items() if key[1] == "slot"]
    assert sum(counts.claims for counts in of_slots) == claimed
    assert f"{len(HELD_OUT.sentences)} sentences" in table
    assert not any(name in table for names in HELD_OUT.invented.values() for name in names)
