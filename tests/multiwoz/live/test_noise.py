"""Noise in user messages can be decoded, and only agents receive it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import Levenshtein
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.conversation.messages import as_meant, turns_of
from mwzeval.conversation.trajectory import Planned, Record, trajectory_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz import DEFAULT_CORPUS
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.noise import MOST_EDITS, Noise, terse
from mwzeval.multiwoz.live.stress import (
    LAYERS,
    Conditions,
    Stress,
    parse_conditions,
    table,
)
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from mwzeval.multiwoz.words.numbers import amount
from mwzeval.multiwoz.words.vocabulary import LISTS, SPELLINGS, keyed_rows, patterns_of
from tests.multiwoz.live.written_runs import live, scored, tables, town, values
from tests.places import shared

WORDS = [condition for condition, layer in LAYERS.items() if layer == "words"]


@cache
def noise() -> Noise:
    return Noise(tables(), town())


def dialogue(conditions: Conditions, item: str) -> Stress:
    return Stress(conditions, Planned(item, {}), Record())


def noised(text: str, stress: str, item: str = "a", turn: int = 0) -> str:
    return noise().noised(text, dialogue(parse_conditions(stress), item), turn)


def test_word_tables_contain_no_slot_values() -> None:
    cells = [cell for rows in tables().values() for row in rows for cell in row.items()]
    values = {v.lower() for column, v in cells if isinstance(v, str) and column != "introduction"}
    values |= {v for slot in SPELLINGS if slot != "word" for v in SPELLINGS[slot]}
    values |= {*LISTS["numbers"]}
    pairs = table("homophones.tsv", 2)
    assert (len(pairs), len(table("phonetic.tsv", 2))) == (40, 25)
    assert values.isdisjoint(word for pair in pairs for word in pair)
    assert all(
        Levenshtein.distance(*pair) <= MOST_EDITS for pair in (*pairs, *table("phonetic.tsv", 2))
    )
    fields = {column for column, _ in cells}
    domains = " ".join(words.pattern for words in patterns_of("judge domain").values())
    said = " ".join(text for lines in keyed_rows("live", "wordings.tsv").values() for text in lines)
    words = re.findall(r"[a-z']+", " ".join((*values, *fields, domains)).lower())
    meaning = {word for word in words if len(word) > 3} - set(re.findall(r"[a-z']+", said.lower()))
    meaning |= {*tables(), *fields, *values}
    for (talk,) in table("small_talk.txt", 1):
        assert len(talk) <= 45
        assert meaning.isdisjoint(re.findall(r"[a-z']+", talk.lower())), talk


@pytest.mark.parametrize("text", ["x" * 1000, "x" * 300_000, "gardenia" * 9999])
def test_noise_does_not_change_long_words(text: str) -> None:
    assert noised(text, "typos=1,asr=1,names=1") == text


def test_letters_with_longer_lowercase_forms_do_not_shift_noise() -> None:
    before, name, after = "İİİİİİ and ", "the pewter ladle", ", call 01632960273"
    for key in range(20):
        noisy = noised(before + name + after, "names=1", str(key))
        assert noisy.startswith(before)
        assert noisy.endswith(after)


@pytest.mark.parametrize(
    "text",
    [
        *("hrad", "hard=1", "typos=.1,hard", "words,tools", "typos", "typos=2", "typos=nan"),
        *("typos=.1,typos=.2", "impatient=1", "impatient=2.5", "passive=.6,rush=.6"),
    ],
)
def test_invalid_conditions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--stress"):
        parse_conditions(text)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("I'm looking for a cheap hotel in the north.", "cheap hotel in the north"),
        (
            "It should serve thai food. Please book it for 3 people.",
            "serve thai food. book it for 3 people",
        ),
        ("Could you tell me the phone number, please?", "the phone number?"),
        ("Thank you. Goodbye!", "Goodbye!"),
        ("Thank you.", "Thank you."),
        ("The hotel should be cheap.", "The hotel should be cheap."),
    ],
)
def test_terse_messages_omit_openers_and_courtesies(text: str, short: str) -> None:
    assert terse(text) == short


def test_slips_precede_the_correct_value() -> None:
    for key in "abc":
        text = noised("I want north american food on monday.", "repair=1", key)
        assert re.fullmatch(r"I want north american food on \w+day, no wait, I mean monday\.", text)
    assert "no wait" not in noised("Goodbye!", "repair=1")


@given(st.text(), st.lists(st.sampled_from(WORDS), unique=True), st.integers(0, 9))
def test_noise_is_reproducible_and_bounded_for_any_text(
    text: str, conditions: list[str], seed: int
) -> None:
    stress = ",".join(f"{condition}=1" for condition in conditions)
    noisy = noised(text, stress, str(seed))
    assert noisy == noised(text, stress, str(seed))
    assert bool(noisy.strip()) == bool(text.strip() or "chat" in conditions)
    assert len(noisy) <= 3 * len(text) + 80
    if {"numbers", "repair"}.isdisjoint(conditions):
        assert re.findall(r"\d", noisy) == re.findall(r"\d", text)


@pytest.mark.parametrize("number", range(1, 11))
def test_numbers_written_as_words_are_parsed(number: int) -> None:
    text = noised(f"Book it at 11:{number + 10} for {number}, please.", "numbers=1")
    assert text == f"Book it at 11:{number + 10} for {LISTS['numbers'][number]}, please."
    assert amount(LISTS["numbers"][number]) == number


@given(st.permutations(["typos=.5", "asr=.5", "fill=.5"]), st.integers(0, 99))
def test_noise_conditions_draw_independently(several: list[str], seed: int) -> None:
    first, second, _ = several
    alone = noised("restaurant", first, str(seed))
    if alone != "restaurant" and "fill" not in second:
        both = noised("restaurant", f"{second},{first}", str(seed))
        assert both in (alone, noised("restaurant", second, str(seed)))


def check_decodable(rows: Any, database: DatabaseTools, draws: int, least: int) -> None:
    """Check that a noised value is nearest to its original, and that names find their venue."""
    own, count = Noise(rows, database), 0
    columns: dict[str, set[str]] = {}
    for row in chain.from_iterable(rows.values()):
        for column, value in row.items():
            if isinstance(value, str) and column != "introduction":
                columns.setdefault(column, set()).add(value.lower())
    names = {domain: {row["name"].lower() for row in rows[domain]} for domain in VENUE_DOMAINS}
    cases = ((slot, value) for slot, values in columns.items() for value in sorted(values))
    for (slot, value), stress in product(cases, ("typos=1", "names=1", "asr=1")):
        conditions = parse_conditions(stress)
        altered = {own.noised(value, dialogue(conditions, str(key)), 0) for key in range(draws)}
        for text in altered - {value}:
            count += 1
            edits = Levenshtein.distance(text, value)
            nearer = [
                other
                for other in columns[slot]
                if other.replace(",", "") != value.replace(",", "")
                and Levenshtein.distance(text, other, score_cutoff=edits) <= edits
            ]
            assert not nearer, (slot, value, text)
            for domain in (d for d in VENUE_DOMAINS if slot == "name" and value in names[d]):
                found = database.query(domain, [("name", text)])
                assert found == database.query(domain, [("name", value)])
    assert count > least


def test_noisy_values_of_the_sample_can_be_decoded() -> None:
    check_decodable(tables(), town(), 10, 500)


@pytest.mark.integration
def test_noisy_values_of_multiwoz_can_be_decoded() -> None:
    rows = read_tables(corpus_root(DEFAULT_CORPUS, shared("data", "multiwoz"), offline=True))
    check_decodable(rows, DatabaseTools(rows), 200, 50_000)


@pytest.mark.parametrize("options", [(), ("--strict-user",)])
def test_noise_does_not_change_the_intended_messages_of_the_user(
    elsewhere: Path, options: Sequence[str]
) -> None:
    """The agent `silent` ignores the text, so the users intend the same messages."""
    clean = live("silent", "clean.jsonl", *options)
    noisy = live("silent", "noisy.jsonl", "--stress", "words", *options)
    assert any("meant" in message for line in noisy for message in line["messages"])
    for line, known in zip(noisy, clean, strict=True):
        meant = [
            {key: message[key] for key in message if key != "meant"}
            for message in as_meant(line["messages"])
        ]
        assert meant == known["messages"]


def test_noise_changes_no_verdicts_and_explanations_show_both_texts(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conditions = ("--stress", "lower=1,chat=.5,typos=.2")
    lines = live("rule", "run.jsonl", "--goals", "corpus:test:6", *conditions)
    before = scored(*lines)
    for line in lines:
        users = [message for message in line["messages"] if message["role"] == "user"]
        meant = [message.get("meant", message["content"]) for message in users]
        assert meant != [message["content"] for message in users]
        assert [turn.user for turn in turns_of(trajectory_of(line).talk)] == meant
        for turn, message in enumerate(users):
            if "meant" in message:
                message["content"] = noised(message["meant"], "words", line["dialogue"], turn)
    after = scored(*lines)
    for first, second in zip(before.explain_all(), after.explain_all(), strict=True):
        assert (first.outcomes, first.reasons) == (second.outcomes, second.reasons)
    assert values(after) == values(before)
    assert main(["explain", "run.jsonl", lines[0]["dialogue"]]) == 0
    assert "meant" in capsys.readouterr().out
