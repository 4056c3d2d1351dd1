"""Dialogue files: examples with a context, the candidates to choose from, and what is right.

In subtask 2 the candidates of all examples are in one file of their own, the pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.json_array import items_of
from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.targets import lines_of
from mwzeval.dstc7.reading.tracks import candidate_id, example_id
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import read_text
from mwzeval.scores.findings import Findings, found

POOL_SIZE = 120_000


def read_pool(path: str | Path, findings: Findings | None = None) -> Mapping[str, str]:
    """Return canonical candidate id → utterance, in the order of the file.

    The file is UTF-8, `candidate-id<TAB>utterance` per line, without header and quoting; later
    tabs belong to the utterance. Lines without two columns and repeated ids are errors, another
    size than 120,000 is a warning. With `findings` all go there, else errors raise `InputError`.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    text = read_text(path)
    pool: dict[str, str] = {}
    raw_ids: dict[str, str] = {}
    for number, line in lines_of(text):
        raw, tab, utterance = line.partition("\t")
        identity = candidate_id(raw)
        if not tab or identity is None:
            what = "no candidate-id" if tab else "fewer than two columns"
            note(notes, "malformed-pool", f"line {number}: {what}")
        elif identity in pool:
            first = raw_ids[identity]
            as_what = "" if first == raw else f' (there as "{shorten(first)}")'
            note(
                notes,
                "duplicate-pool-candidate",
                f'line {number}: the candidate "{shorten(raw)}" was given before{as_what}',
            )
        else:
            pool[identity], raw_ids[identity] = utterance, raw
    if len(pool) != POOL_SIZE:
        note(notes, "pool-size", f"{len(pool):,} candidates, where the official pool has 120,000")
    if findings is None:
        notes.check()
    return pool


SPLITS = ("train", "dev", "valid", "test")
KEYS = (
    "data-split",
    "example-id",
    "messages-so-far",
    "options-for-correct-answers",
    "options-for-next",
    "profile",
    "scenario",
)


@dataclass(frozen=True, slots=True)
class Message:
    """What was said, as it stands in the file; `extra` has the keys that nothing here knows."""

    speaker: str
    utterance: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An utterance that may come next; `candidate_id` is canonical, `raw_id` as in the file."""

    candidate_id: str
    utterance: str
    raw_id: int | str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One decision: what was said so far, oldest first, and what may come next.

    `candidates` is empty where they come from a pool (subtask 2). `correct` is None where the file
    does not say it (test), empty where none of the candidates is right (subtask 4). `scenario` is
    the subtask that the file names, `profile` the student's (Advising) as the file has it.
    """

    example_id: str
    messages: tuple[Message, ...]
    candidates: tuple[Candidate, ...] = ()
    correct: tuple[Candidate, ...] | None = None
    split: str | None = None
    scenario: int | None = None
    profile: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def context(self) -> str:
        """All that was said so far, oldest first, with blanks between."""
        return " ".join(message.utterance for message in self.messages)


def read_examples(path: str | Path) -> tuple[Example, ...]:
    """Return all examples of a dialogue file (also `.gz`, `.xz`, `.zst`, `-`), in its order.

    Needs some three times as much memory as the file has. Raises `InputError` with every problem.
    """
    findings = Findings(file=str(path))
    examples = tuple(stream_examples(path, findings))
    findings.check()
    return examples


def stream_examples(path: str | Path, findings: Findings | None = None) -> Iterator[Example]:
    """Yield the examples of a dialogue file without holding more than a few in memory.

    Problems go to `findings`, and examples that have one are left out; without `findings`,
    `InputError` is raised at the first one. Broken JSON raises `InputError` with line and column.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    seen: set[str] = set()
    for index, raw in enumerate(items_of(path), start=1):
        example = _example(raw, _Place(notes, index))
        if example is not None and example.example_id in seen:
            note(
                notes,
                "duplicate-dialogue-example",
                "the example was given before",
                example=example.example_id,
            )
            example = None
        if findings is None:
            notes.check()
        if example is not None:
            seen.add(example.example_id)
            yield example


@dataclass(slots=True)
class _Place:
    """An example of the file, for its findings: its id once that is known, else its number."""

    findings: Findings
    index: int
    example: str | None = None

    def add(self, kind: str, message: str, key: str | None = None) -> None:
        where = "" if self.example else f"item {self.index} of the array: "
        note(self.findings, kind, where + message, example=self.example, key=key)


def _example(raw: Any, place: _Place) -> Example | None:
    """Return a typed example; None when something essential of it is missing."""
    if type(raw) is not dict:
        place.add("bad-type", f"an example is an object, {found(raw)}")
        return None
    identity = _identity(raw, place)
    messages = _messages(raw, place)
    candidates = _candidates(raw, "options-for-next", place)
    correct = _candidates(raw, "options-for-correct-answers", place)
    profile = raw.get("profile")
    if profile is not None and type(profile) is not dict:
        place.add("bad-type", f"a profile is an object, {found(profile)}", "profile")
        return None
    if identity is None or messages is None or candidates is None or correct is None:
        return None
    split, scenario = raw.get("data-split"), raw.get("scenario")
    return Example(
        example_id=identity,
        messages=messages,
        candidates=candidates,
        correct=correct if raw.get("options-for-correct-answers") is not None else None,
        split=split if type(split) is str else None,
        scenario=_scenario(scenario),
        profile=profile,
        extra={key: value for key, value in raw.items() if key not in KEYS},
    )


def _scenario(raw: Any) -> int | None:
    if type(raw) is str and raw.strip().isdecimal() and len(raw) < 9:
        return int(raw)
    return raw if type(raw) is int else None


def _identity(raw: Mapping[str, Any], place: _Place) -> str | None:
    if "example-id" not in raw:
        hint = did_you_mean("example-id", raw).replace("did you mean", "was this meant:")
        place.add("missing-field", f"the example has no example-id{hint}", "example-id")
        return None
    identity = example_id(raw["example-id"])
    if identity is None or not identity.lstrip("-").isdigit():
        value = raw["example-id"]
        shown = f'found "{shorten(value)}"' if type(value) is str else found(value)
        place.add("bad-type", f"an example-id is a whole number, {shown}", "example-id")
        return None
    place.example = identity
    return identity


def _messages(raw: Mapping[str, Any], place: _Place) -> tuple[Message, ...] | None:
    key = "messages-so-far"
    if key not in raw:
        place.add("missing-field", f"the example has no {key}", key)
        return None
    listed = raw[key]
    if type(listed) is not list or not listed:
        what = "an empty list" if listed == [] else found(listed).removeprefix("found ")
        place.add("bad-type", f"expected a list of messages with one at least, found {what}", key)
        return None
    messages = []
    for index, said in enumerate(listed):
        where = f"{key}[{index}]"
        if type(said) is not dict:
            place.add("bad-type", f"a message is an object, {found(said)}", where)
            return None
        speaker, utterance = said.get("speaker"), said.get("utterance")
        if type(speaker) is not str or type(utterance) is not str:
            name, value = (
                ("speaker", speaker) if type(speaker) is not str else ("utterance", utterance)
            )
            _not_text(name, value, name in said, where, place)
            return None
        extra = {k: v for k, v in said.items() if k not in ("speaker", "utterance")}
        messages.append(Message(speaker, utterance, extra))
    return tuple(messages)


def _candidates(raw: Mapping[str, Any], key: str, place: _Place) -> tuple[Candidate, ...] | None:
    """Return the candidates under a key, none where it is absent; None when they are malformed."""
    listed = raw.get(key)
    if listed is None:
        return ()
    if type(listed) is not list:
        place.add("bad-type", f"expected a list of candidates, {found(listed)}", key)
        return None
    candidates: list[Candidate] = []
    known: dict[str, int | str] = {}
    for index, option in enumerate(listed):
        where = f"{key}[{index}]"
        if type(option) is not dict:
            place.add("bad-type", f"a candidate is an object, {found(option)}", where)
            return None
        if "candidate-id" not in option:
            place.add("missing-field", "the candidate has no candidate-id", where)
            return None
        raw_id, utterance = option["candidate-id"], option.get("utterance")
        identity = candidate_id(raw_id)
        if identity is None:
            place.add("bad-type", f"a candidate-id is text or a number, {found(raw_id)}", where)
            return None
        if type(utterance) is not str:
            _not_text("utterance", utterance, "utterance" in option, where, place)
            return None
        if identity in known:
            _ambiguous(known[identity], raw_id, where, place)
        known[identity] = raw_id
        candidates.append(Candidate(identity, utterance, raw_id))
    return tuple(candidates)


def _not_text(name: str, value: Any, given: bool, where: str, place: _Place) -> None:
    if given:
        place.add("bad-type", f"{name} is text, {found(value)}", where)
    else:
        place.add("missing-field", f"no {name}", where)


def _ambiguous(first: int | str, second: int | str, where: str, place: _Place) -> None:
    """Report ids that are the same, or become the same in their canonical form."""
    if first == second:
        message = f'the candidate "{shorten(str(first))}" is listed twice'
    else:
        message = (
            f'the ids "{shorten(str(first))}" and "{shorten(str(second))}" are the same once case '
            "and outer blanks are ignored"
        )
    place.add("ambiguous-option", message, where)
