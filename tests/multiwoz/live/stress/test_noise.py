"""Noise in messages: it can be decoded, and only agents read it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import Levenshtein
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.conversation.messages import as_meant, turns_of
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import UsageError
from mwzeval.multiwoz.choices import DEFAULT_CORPUS
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.stress.conditions import (
    LAYERS,
    Conditions,
    Stress,
    parse_conditions,
    table,
)
from mwzeval.multiwoz.live.stress.noise import MOST_EDITS, Noise, terse
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.understanding import Vocabulary
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from mwzeval.multiwoz.words.numbers import amount
from mwzeval.multiwoz.words.vocabulary import LISTS, SPELLINGS, keyed_rows, patterns_of
from tests.multiwoz.live.written_runs import town
from tests.places import shared

WORDS = [condition for condition, layer in LAYERS.items() if layer == "words"]


@lru_cache
def sample_tables() -> Any:
    return read_tables(corpus_root("sample", None, offline=True))


@lru_cache
def noise() -> Noise:
    return Noise(sample_tables(), town())


def dialogue(conditions: Conditions, item: str) -> Stress:
    return Stress(conditions, Planned(item, {}), Record())


def noised(text: str, stress: str, item: str = "a", turn: int = 0) -> str:
    return noise().noised(text, dialogue(parse_conditions(stress), item), turn)


def digits(text: str) -> list[str]:
    return re.findall(r"\d", text)


def test_word_tables_have_no_values() -> None:
    values = (
        {
            value.lower()
            for rows in sample_tables().values()
            for row in rows
            for column, value in row.items()
            if isinstance(value, str) and column != "introduction"
        }
        | {v for slot in SPELLINGS if slot != "word" for v in SPELLINGS[slot]}
        | {*LISTS["numbers"]}
    )
    pairs = table("homophones.tsv", 2)
    assert (len(pairs), len(table("phonetic.tsv", 2))) == (40, 25)
    assert values.isdisjoint(word for pair in pairs for word in pair)
    assert all(
        Levenshtein.distance(*pair) <= MOST_EDITS for pair in (*pairs, *table("phonetic.tsv", 2))
    )
    fields = {column for rows in sample_tables().values() for row in rows for column in row}
    domains = " ".join(words.pattern for words in patterns_of("judge domain").values())
    said = " ".join(text for lines in keyed_rows("live", "wordings.tsv").values() for text in lines)
    words = re.findall(r"[a-z']+", " ".join((*values, *fields, domains)).lower())
    meaning = {word for word in words if len(word) > 3} - set(re.findall(r"[a-z']+", said.lower()))
    meaning |= {*sample_tables(), *fields, *values}
    for (talk,) in table("small_talk.txt", 1):
        assert len(talk) <= 45
        assert meaning.isdisjoint(re.findall(r"[a-z']+", talk.lower())), talk


@pytest.mark.parametrize("text", ["x" * 1000, "x" * 300_000, "gardenia" * 9999])
def test_long_words_stay(text: str) -> None:
    assert noised(text, "typos=1,asr=1,names=1") == text


def test_letters_with_a_longer_lower_case_move_nothing() -> None:
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
def test_impossible_conditions_are_refused(text: str) -> None:
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
def test_terse_messages_have_no_openers_and_courtesies(text: str, short: str) -> None:
    assert terse(text) == short


def test_a_slip_precedes_the_right_value() -> None:
    for key in "abc":
        text = noised("I want north american food on monday.", "repair=1", key)
        assert re.fullmatch(r"I want north american food on \w+day, no wait, I mean monday\.", text)
    assert "no wait" not in noised("Goodbye!", "repair=1")


@given(st.text(), st.lists(st.sampled_from(WORDS), unique=True), st.integers(0, 9))
def test_any_text_gives_text(text: str, conditions: list[str], seed: int) -> None:
    stress = ",".join(f"{condition}=1" for condition in conditions)
    noisy = noised(text, stress, str(seed))
    assert noisy == noised(text, stress, str(seed))
    assert bool(noisy.strip()) == bool(text.strip())
    assert len(noisy) <= 3 * len(text) + 80
    if {"numbers", "repair"}.isdisjoint(conditions):
        assert digits(noisy) == digits(text)


@pytest.mark.parametrize("number", range(1, 11))
def test_numbers_in_words_are_read_back(number: int) -> None:
    text = noised(f"Book it at 11:{number + 10} for {number}, please.", "numbers=1")
    assert text == f"Book it at 11:{number + 10} for {LISTS['numbers'][number]}, please."
    assert amount(LISTS["numbers"][number]) == number


@given(st.permutations(["typos=.5", "asr=.5", "fill=.5"]), st.integers(0, 99))
def test_conditions_do_not_change_the_draws_of_others(several: list[str], seed: int) -> None:
    first, second, _ = several
    alone = noised("restaurant", first, str(seed))
    if alone != "restaurant" and "fill" not in second:
        both = noised("restaurant", f"{second},{first}", str(seed))
        assert both in (alone, noised("restaurant", second, str(seed)))


def decoded(tables: Any, database: DatabaseTools, own: Noise, draws: int) -> int:
    """Return the number of altered values; each must be decodable."""
    count = 0
    cells: dict[str, set[str]] = {}
    for rows in tables.values():
        for row in rows:
            for column, value in row.items():
                if isinstance(value, str) and column != "introduction":
                    cells.setdefault(column, set()).add(value.lower())
    for slot, values in cells.items():
        domains = [domain for domain in VENUE_DOMAINS if slot == "name"]
        for value in sorted(values):
            for stress in ("typos=1", "names=1", "asr=1"):
                conditions = parse_conditions(stress)
                altered = {
                    own.noised(value, dialogue(conditions, str(key)), 0) for key in range(draws)
                } - {value}
                count += len(altered)
                for text in altered:
                    edits = Levenshtein.distance(text, value)
                    nearer = [
                        other
                        for other in values
                        if other.replace(",", "") != value.replace(",", "")
                        and Levenshtein.distance(text, other, score_cutoff=edits) <= edits
                    ]
                    assert not nearer, (slot, value, text)
                    for domain in domains:
                        if value in {row["name"].lower() for row in tables[domain]}:
                            assert database.query(domain, [("name", text)]) == database.query(
                                domain, [("name", value)]
                            )
    return count


def test_values_of_the_sample_can_be_decoded() -> None:
    assert decoded(sample_tables(), town(), noise(), 10) > 500


@pytest.mark.integration
def test_values_of_multiwoz_can_be_decoded() -> None:
    tables = read_tables(corpus_root(DEFAULT_CORPUS, shared("data", "multiwoz"), offline=True))
    database = DatabaseTools(tables)
    assert decoded(tables, database, Noise(tables, database), 200) > 50_000


def held(stress: str, goal: str) -> tuple[Episodes, Trajectory, list[dict[str, Any]]]:
    """Return the dialogue of the rule agent, and the messages that it saw."""
    episodes = Episodes("corpus:test:20", corpus="sample", stress=stress)
    episode = episodes.episode(goal)
    agent = RuleAgent(Vocabulary(sample_tables()), 0, goal)
    messages: list[Any] = list(episode.begin())
    while not episode.is_over:
        answer = agent(list(messages))
        messages += [answer, *episode.answer(answer)]
    assert [message for message in episode.messages if message["role"] == "user"] == [
        message for message in messages if message["role"] == "user"
    ]
    return episodes, episode.trajectory(), messages


def test_only_agents_read_noise() -> None:
    goals = [*Episodes("corpus:test:20", corpus="sample").goals][:6]
    for goal in goals:
        episodes, dialogue, seen = held("lower=1,chat=.5,typos=.2", goal)
        users = [message for message in dialogue.messages if message["role"] == "user"]
        read = [message for message in seen if message["role"] == "user"]
        assert all(message.keys() == {"role", "content"} for message in read)
        assert [m["content"] for m in read] == [m["content"] for m in users]
        meant = [message.get("meant", message["content"]) for message in users]
        assert meant != [message["content"] for message in users]
        assert [turn.user for turn in turns_of(dialogue.talk)] == meant
        other = [
            {**m, "content": noised(m["meant"], "words", goal, n)} if "meant" in m else m
            for n, m in enumerate(dialogue.messages)
        ]
        again = Trajectory(**{**vars_of(dialogue), "messages": tuple(other)})
        assert episodes.outcome(again) == episodes.outcome(dialogue)


@pytest.mark.parametrize("options", [(), ("--strict-user",)])
def test_noise_does_not_change_what_a_user_means(tmp_path: Path, options: Sequence[str]) -> None:
    """The agent `silent` gives the same answer to every text, so the users say the same."""
    command = ["live", "--agent", "silent", "--corpus", "sample", "-q", *options]
    runs = []
    for stress in ("clean", "words"):
        run = tmp_path / f"{stress}.jsonl"
        assert main([*command, "--stress", stress, "-o", str(run)]) == 0
        _, *lines = map(json.loads, run.read_text("utf-8").splitlines())
        runs.append([line["messages"] for line in lines])
    clean, noisy = runs
    without_meant = [
        [{key: message[key] for key in message if key != "meant"} for message in as_meant(messages)]
        for messages in noisy
    ]
    assert without_meant == clean
    assert any("meant" in message for messages in noisy for message in messages)


def vars_of(dialogue: Trajectory) -> dict[str, Any]:
    return {name: getattr(dialogue, name) for name in dialogue.__dataclass_fields__}


def test_explanations_have_both_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run.jsonl"
    command = ["live", "--agent", "rule", "--corpus", "sample", "--goals", "corpus:test:1", "-q"]
    assert main([*command, "--stress", "lower=1", "-o", str(run)]) == 0
    capsys.readouterr()
    assert (
        main(["explain", str(run), next(iter(Episodes("corpus:test:1", corpus="sample").goals))])
        == 0
    )
    shown = capsys.readouterr().out
    assert "meant" in shown, shown
