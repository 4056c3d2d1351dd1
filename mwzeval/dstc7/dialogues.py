"""The files of the track: dialogues, the candidate pool of subtask 2, and targets.

Each example of a dialogue file has a context, the candidates and, except in the test set, the
correct candidates. In subtask 2, all examples share the candidates in a separate file, the pool. A
targets file lists the correct candidates if the dialogue file does not list them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.json_array import items_of
from mwzeval.dstc7.tracks import NONE, candidate_id, example_id
from mwzeval.errors import InputError, did_you_mean, shorten
from mwzeval.files.reading import lines
from mwzeval.scores.findings import Findings, found

POOL_SIZE = 120_000
SPLITS = ("train", "dev", "valid", "test")
ID, MESSAGES, CANDIDATES = "example-id", "messages-so-far", "options-for-next"
ANSWERS = "options-for-correct-answers"


@dataclass(frozen=True, slots=True)
class Message:
    """A message in its original form."""

    speaker: str
    utterance: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate; `candidate_id` is its canonical id."""

    candidate_id: str
    utterance: str


@dataclass(frozen=True, slots=True)
class Example:
    """An example: the messages of the context, oldest first, and the candidates.

    `candidates` is empty if the candidates are in a pool (subtask 2). `correct` is None if the file
    does not have the answers (test set), and empty if no candidate is correct (subtask 4).
    `scenario` is the subtask that the file states.
    """

    example_id: str
    messages: tuple[Message, ...]
    candidates: tuple[Candidate, ...] = ()
    correct: tuple[Candidate, ...] | None = None
    split: str | None = None
    scenario: int | None = None

    @property
    def context(self) -> str:
        """All messages of the context, oldest first, joined with spaces."""
        return " ".join(message.utterance for message in self.messages)


def stream_examples(path: str | Path, findings: Findings | None = None) -> Iterator[Example]:
    """Yield the examples of a dialogue file (possibly compressed, or `-`), in file order.

    Only a few examples are in memory at a time; all examples need about three times as much memory
    as the size of the file. Examples with problems are left out, and the problems are added to
    `findings`. If `findings` is None, the first problem raises `InputError`. Invalid JSON always
    raises `InputError`, with line and column.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    seen: set[str] = set()
    for number, raw in enumerate(items_of(path), start=1):
        name: str | None = None
        try:
            name = _identity(raw)
            example = _example(name, raw, notes)
            if name in seen:
                raise _Malformed("duplicate-dialogue-example", "the example occurs twice")
        except _Malformed as problem:
            kind, message, *key = problem.args
            where = "" if name else f"item {number} of the array: "
            notes.error(kind, where + message, example=name, key=key[0] if key else None)
        else:
            seen.add(name)
            yield example
        if findings is None:
            notes.check()


class _Malformed(Exception):  # noqa: N818
    """An example cannot be used; the arguments are kind, message and optionally key."""


def _expect(value: Any, kind: type, what: str, key: str | None = None) -> None:
    if type(value) is not kind:
        raise _Malformed("bad-type", f"{what}, {found(value)}", key)


def _identity(raw: Any) -> str:
    _expect(raw, dict, "an example must be an object")
    if ID not in raw:
        hint = did_you_mean(ID, raw).replace("did you mean", "was this meant:")
        raise _Malformed("missing-field", f"the example has no {ID}{hint}", ID)
    identity = example_id(raw[ID])
    if identity is None or not identity.lstrip("-").isdigit():
        shown = f'found "{shorten(raw[ID])}"' if type(raw[ID]) is str else found(raw[ID])
        raise _Malformed("bad-type", f"an {ID} must be a whole number, {shown}", ID)
    return identity


def _example(identity: str, raw: Mapping[str, Any], notes: Findings) -> Example:
    if MESSAGES not in raw:
        raise _Malformed("missing-field", f"the example has no {MESSAGES}", MESSAGES)
    listed = raw[MESSAGES]
    if type(listed) is not list or not listed:
        what = "an empty list" if listed == [] else found(listed).removeprefix("found ")
        message = f"expected a list of at least one message, found {what}"
        raise _Malformed("bad-type", message, MESSAGES)
    candidates, ambiguous = _candidates(raw, CANDIDATES)
    correct, more = _candidates(raw, ANSWERS)
    messages = tuple(_message(said, f"{MESSAGES}[{n}]") for n, said in enumerate(listed))
    profile, split, scenario = map(raw.get, ("profile", "data-split", "scenario"))
    if profile is not None:
        _expect(profile, dict, "a profile must be an object", "profile")
    for key, text in (ambiguous | more).items():
        notes.warning("ambiguous-option", text, example=identity, key=key)
    if type(scenario) is str and scenario.strip().isdecimal() and len(scenario) < 9:
        scenario = int(scenario)
    return Example(
        example_id=identity,
        messages=messages,
        candidates=candidates,
        correct=correct if raw.get(ANSWERS) is not None else None,
        split=split if type(split) is str else None,
        scenario=scenario if type(scenario) is int else None,
    )


def _message(raw: Any, where: str) -> Message:
    _expect(raw, dict, "a message must be an object", where)
    speaker, utterance = _text(raw, "speaker", where), _text(raw, "utterance", where)
    return Message(speaker, utterance)


def _text(raw: Mapping[str, Any], name: str, where: str) -> str:
    if name not in raw:
        raise _Malformed("missing-field", f"no {name}", where)
    _expect(raw[name], str, f"{name} must be a string", where)
    text: str = raw[name]
    return text


def _candidates(raw: Mapping[str, Any], key: str) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Return the candidates under a key (none if the key is missing), and repeated candidates."""
    listed = [] if raw.get(key) is None else raw[key]
    _expect(listed, list, "expected a list of candidates", key)
    candidates: list[Candidate] = []
    known: dict[str, int | str] = {}
    repeats: dict[str, str] = {}
    for index, option in enumerate(listed):
        where = f"{key}[{index}]"
        _expect(option, dict, "a candidate must be an object", where)
        if "candidate-id" not in option:
            raise _Malformed("missing-field", "the candidate has no candidate-id", where)
        raw_id, utterance = option["candidate-id"], _text(option, "utterance", where)
        identity = candidate_id(raw_id)
        if identity is None:
            message = f"a candidate-id must be a string or a number, {found(raw_id)}"
            raise _Malformed("bad-type", message, where)
        if identity in known:
            repeats[where] = _repeat(known[identity], raw_id)
        known[identity] = raw_id
        candidates.append(Candidate(identity, utterance))
    return tuple(candidates), repeats


def _repeat(first: int | str, second: int | str) -> str:
    if first == second:
        return f'the candidate "{shorten(str(first))}" is listed twice'
    return (
        f'the ids "{shorten(str(first))}" and "{shorten(str(second))}" differ only in case '
        "or outer blanks"
    )


def read_pool(path: str | Path, findings: Findings | None = None) -> Mapping[str, str]:
    """Return a mapping from canonical candidate id to utterance, in the order of the file.

    The file is UTF-8 with lines `candidate-id<TAB>utterance`, without header or quotes; further
    tabs are part of the utterance. Lines with only one column and repeated ids are errors; a number
    of candidates other than 120,000 causes a warning. Problems of the pool are added to `findings`;
    without `findings`, errors raise `InputError`.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    pool: dict[str, str] = {}
    raw_ids: dict[str, str] = {}
    for number, line in lines(str(path)):
        raw, tab, utterance = line.removesuffix("\r").partition("\t")
        identity = candidate_id(raw)
        if not tab or identity is None:
            what = "no candidate-id" if tab else "fewer than two columns"
            notes.error("malformed-pool", f"line {number}: {what}")
        elif identity in pool:
            first = raw_ids[identity]
            as_what = "" if first == raw else f' (there as "{shorten(first)}")'
            message = f'line {number}: the candidate "{shorten(raw)}" occurs twice{as_what}'
            notes.error("duplicate-pool-candidate", message)
        else:
            pool[identity], raw_ids[identity] = utterance, raw
    if len(pool) != POOL_SIZE:
        notes.warning("pool-size", f"{len(pool):,} candidates; the official pool has 120,000")
    if findings is None:
        notes.check()
    return pool


Targets = Mapping[str, tuple[str, ...]]
"""Canonical example id → canonical ids of the correct candidates, in file order."""


def read_targets(
    path: str | Path, findings: Findings | None = None, *, repeats: bool = False
) -> Targets:
    """Return the targets of a file with lines `example-id<TAB>id[,id...]`.

    Further columns are ignored. `NONE`, in upper or lower case, means that no candidate is correct.
    Repeated ids are removed unless `repeats` is true. Problems are added to `findings`; without
    `findings`, errors raise `InputError`.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    targets: Targets = {}
    try:
        targets = parse_targets(lines(str(path)), notes, repeats=repeats)
    except InputError as error:
        if [problem.kind for problem in error.problems] != ["empty-file"]:
            raise
        notes.error("no-targets", "the file has no targets")
    if findings is None:
        notes.check()
    return targets


def parse_targets(
    numbered: Iterable[tuple[int, str]], findings: Findings, *, repeats: bool = False
) -> Targets:
    """Return the targets in numbered lines of a file, and add the problems to `findings`.

    If an example occurs twice, the last line counts.
    """
    targets: dict[str, tuple[str, ...]] = {}
    for number, line in numbered:
        raw_example, tab, rest = line.removesuffix("\r").partition("\t")
        identity = example_id(raw_example)
        ids = list(filter(None, map(candidate_id, rest.partition("\t")[0].split(","))))
        correct = tuple(ids if repeats else dict.fromkeys(ids))
        problem = ""
        if not tab or identity is None:
            what = "no example-id" if tab else "one column only"
            problem = f"{what}; expected example-id, tab, ids with commas between"
        elif not correct:
            problem = "no answer (write NONE if no candidate is correct)"
        elif NONE in correct and set(correct) != {NONE}:
            problem = "NONE cannot be combined with candidates"
        if problem or identity is None:
            example = identity if tab else None
            findings.error("malformed-targets", f"line {number}: {problem}", example=example)
            continue
        if identity in targets:
            message = f"line {number}: the example occurs twice"
            findings.error("duplicate-target-example", message, example=identity)
        targets[identity] = correct
    return targets


def write_targets(targets: Targets) -> str:
    """Return targets as the text of a targets file."""
    return "".join(f"{example}\t{','.join(correct)}\n" for example, correct in targets.items())
