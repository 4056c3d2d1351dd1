"""Collects the problems of an input with their locations, so that all are reported together."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from mwzeval.errors import InputError, Problem, did_you_mean, shorten, some_of
from mwzeval.files.reading import RepeatedKeys, json_files, read_json

OBJECT = (dict, Mapping)
"""Types of a JSON object; `isinstance` is faster for a dict than for a mapping in general."""
LIST = (list, tuple)

IN_TWO_FILES = "in-two-files"
"""The kind of the problem that an item occurs in two files of an input."""
MOST_ERRORS = 10_000
MOST_WARNINGS = 10_000
"""The maximum number of different warnings per input, so that all problems fit into memory."""

SHOWN_PLACES = 3

MOST_ADVICE = 100
"""The number of errors from which the search for similar ids stops."""

LONGEST = 1_000
"""The maximum number of characters of a message; longer messages are shortened."""

MORE = "there are more than {:,} {}; further ones are counted but not listed"
MORE_ERRORS = Problem("too-many-errors", MORE.format(MOST_ERRORS, "errors"))
MORE_WARNINGS = Problem(
    "more-warnings", MORE.format(MOST_WARNINGS, "different warnings"), severity="warning"
)


@dataclass(slots=True)
class Findings:
    """Collects the problems of an input; only the method `check` raises an error.

    There are three degrees. An *error* prevents scoring. A *doubt* is about a missing or incorrect
    value that could still be scored. By default, a doubt is an error; with `lenient`, a doubt is a
    warning. A *warning* is about a value that is scored, but perhaps not as intended; with
    `strict`, a warning also prevents scoring. Equal warnings are stored once, with their count and
    the first location.

    `file` is the name of the input; `of_file` returns findings of another file that share the list
    of problems. `positions` maps a dialogue to the positions of its turns in the input; without
    `positions`, the position of a turn is its number. The location of a problem consists of
    `dialogue`, `turn`, `key`, `example` or `position`, as in `Problem`.

    >>> findings = Findings("predictions.json")
    >>> findings.warning("unknown-slot", 'unknown slot "prize"', dialogue="mul0003", turn=4)
    >>> findings.warning("unknown-slot", 'unknown slot "prize"', dialogue="mul0003", turn=5)
    >>> [(str(problem), problem.count) for problem in findings.problems]
    [('predictions.json: dialogue "mul0003", turn 4: unknown slot "prize"', 2)]
    """

    file: str | None = None
    lenient: bool = False
    strict: bool = False
    positions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    errors: list[Problem] = field(default_factory=list)
    _warnings: dict[tuple[str, str], Problem] = field(default_factory=dict)

    def of_file(self, file: str | None) -> Findings:
        """Return findings about another file that are added to the same list."""
        return replace(self, file=file)

    def error(self, kind: str, message: str, *, count: int = 1, **place: Any) -> None:
        """Note a problem that prevents scoring."""
        self._note(kind, message, "error", count, place)

    def doubt(
        self, kind: str, message: str, *, then: str = "", count: int = 1, **place: Any
    ) -> None:
        """Note a problem that prevents scoring or, if the findings are lenient, a warning.

        `then` describes how the value is scored if the findings are lenient.
        """
        if self.lenient:
            self.warning(kind, f"{message}; {then}" if then else message, count=count, **place)
        else:
            self.error(kind, message, count=count, **place)

    def warning(self, kind: str, message: str, *, count: int = 1, **place: Any) -> None:
        """Record a warning about a value that is scored, but perhaps not as the user intended."""
        self._note(kind, message, "warning", count, place)

    def other_files(self, corpus: str, checksum: str, places: Sequence[str]) -> None:
        """Note the corpus files (at `places`) whose content differs from the published files."""
        if places:
            self.warning(
                "other-corpus-files",
                f"{some_of(places, SHOWN_PLACES)}: the content differs from the published files, "
                "so scores are only comparable with scores on the same files "
                f"(corpus:{corpus}@{checksum} in signatures)",
            )

    def position(self, dialogue: str, turn: int) -> int:
        """Return the position in the input of a turn."""
        return self.positions[dialogue][turn] if self.positions else turn

    def _note(
        self,
        kind: str,
        message: str,
        severity: Literal["error", "warning"],
        count: int,
        place: dict[str, Any],
    ) -> None:
        if place.get("turn") is not None:
            place["turn"] = self.position(place["dialogue"], place["turn"])
        message = message if len(message) <= LONGEST else shorten(message, LONGEST)
        self.extend([Problem(kind, message, severity, self.file, count=count, **place)])

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note problems that were found elsewhere; each problem keeps its severity."""
        for problem in problems:
            if problem.severity == "warning":
                key = problem.kind, problem.message
                if key not in self._warnings and len(self._warnings) >= MOST_WARNINGS:
                    key = MORE_WARNINGS.kind, MORE_WARNINGS.message
                    problem = replace(MORE_WARNINGS, count=problem.count)
                if known := self._warnings.get(key):
                    problem = replace(known, count=known.count + problem.count)
                self._warnings[key] = problem
            elif len(self.errors) < MOST_ERRORS:
                self.errors.append(problem)
            elif len(self.errors) == MOST_ERRORS:
                self.errors.append(replace(MORE_ERRORS, file=problem.file))
            else:
                # `replace` would be slow: there may be millions of errors.
                kind, message, last = MORE_ERRORS.kind, MORE_ERRORS.message, self.errors[-1]
                self.errors[-1] = Problem(kind, message, file=last.file, count=last.count + 1)

    def merge(self, later: Findings) -> None:
        """Add the problems that were found in a later part of the same input."""
        self.extend(later.errors)
        self.extend(later._warnings.values())

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Catch an `InputError` in a `with` block, and note the problems of the error."""
        try:
            yield
        except InputError as error:
            self.extend(error.problems)

    @property
    def warned(self) -> int:
        """The number of different warnings so far."""
        return len(self._warnings)

    @property
    def warnings(self) -> list[Problem]:
        """The distinct warnings so far (errors with `strict`), with counts and first locations."""
        found = self._warnings.values()
        return (
            [replace(warning, severity="error") for warning in found] if self.strict else [*found]
        )

    @property
    def problems(self) -> list[Problem]:
        """All problems, errors first."""
        return [*self.errors, *self.warnings]

    def sort_warnings(self) -> None:
        """Sort the warnings by kind, so that their order does not depend on the input's parts."""
        ordered = sorted(self._warnings.items(), key=lambda item: item[0][0])
        self._warnings.clear()
        self._warnings.update(ordered)

    def check(self) -> None:
        """Raise `InputError` with all problems that prevent scoring, if there are any."""
        if self.errors or (self.strict and self._warnings):
            raise InputError(self.problems if self.strict else self.errors)


class Coverage(dict[str, dict[str, int]]):
    """The numbers of scored units and of all units, by kind of unit, for the `meta` of a report.

    >>> coverage = Coverage()
    >>> coverage.count("turns", True)
    >>> coverage.count("turns", False)
    >>> coverage, coverage.is_complete
    ({'turns': {'scored': 1, 'of': 2}}, False)
    """

    def count(self, units: str, is_scored: bool, number: int = 1) -> None:
        """Count one unit or `number` units, as scored or not scored."""
        counts = self.setdefault(units, {"scored": 0, "of": 0})
        counts["scored"] += number * is_scored
        counts["of"] += number

    @property
    def is_complete(self) -> bool:
        """Whether all units are scored."""
        return all(counts["scored"] == counts["of"] for counts in self.values())


class Place(NamedTuple):
    """A place in the input: a turn, a dialogue, or the whole input; `key` is a field there."""

    findings: Findings
    dialogue: str | None = None
    turn: int | None = None
    key: str | None = None

    def at(self, key: str) -> Place:
        """Return the location of a field of this turn."""
        return self._replace(key=key)

    def error(self, kind: str, message: str, key: str | None = None) -> None:
        """Note a problem of this field (or of its field `key`) that prevents scoring."""
        self.findings.error(kind, message, **self._place(key))

    def doubt(self, kind: str, message: str, *, then: str = "") -> None:
        """Note a problem that prevents scoring or, if the findings are lenient, a warning."""
        self.findings.doubt(kind, message, then=then, **self._place(None))

    def warning(self, kind: str, message: str, key: str | None = None, *, count: int = 1) -> None:
        """Record a warning about a value that is scored, but perhaps not as the user intended."""
        self.findings.warning(kind, message, count=count, **self._place(key))

    def _place(self, key: str | None) -> dict[str, Any]:
        return {"dialogue": self.dialogue, "turn": self.turn, "key": key or self.key}


def expect(
    value: Any,
    kind: type | tuple[type, ...],
    expected: str,
    place: Place,
    key: str | None = None,
) -> bool:
    """Return whether a value has the given type; note a wrong type or repeated keys."""
    if isinstance(value, kind):
        if isinstance(value, RepeatedKeys):  # checked here, because a call is slower
            check_repeated(value, place)
        return True
    place.error("shape", f"{expected}, {found(value)}", key)
    return False


def check_repeated(raw: object, place: Place) -> None:
    """Note keys that occur more than once in one object."""
    if isinstance(raw, RepeatedKeys):
        place.error("repeated-key", repeated(raw))


def repeated(raw: RepeatedKeys) -> str:
    """Return the message about an object's repeated keys."""
    names = ", ".join(f'"{shorten(key)}"' for key in raw.repeated)
    return f"repeated in one object: {names}"


def found(value: Any) -> str:
    """Return a phrase such as `found a number`, for messages about a wrong type."""
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (bool, "true or false"),
        (str, "text"),
        ((int, float), "a number"),
        ((list, tuple), "a list"),
        (Mapping, "an object"),
        (type(None), "null"),
    )
    kind = next((name for types, name in names if isinstance(value, types)), type(value).__name__)
    return f"found {kind}"


def items_of(
    files: str | Sequence[str],
    key: str,
    shape: Mapping[str, Any],
    known: Collection[str],
    findings: Findings,
    *,
    but: Collection[str] = (),
) -> Iterator[tuple[Any, Place]]:
    """Yield the items of predictions that have a given shape, each with its place.

    `files` are one or more JSON files or folders. In a folder, all JSON files are read, except
    files with a name in `but`. A file contains an array of items or an object that maps ids to
    items; in an object, items need no `key`. The value of `key` in an item is the id of the item;
    the id must be `known`, and each id must occur only once. An input without items is an error.
    """
    seen: dict[str, str] = {}
    whole = {key: str, **shape}
    places = [files] if isinstance(files, str) else files
    for file in (file for place in places for file in json_files(place, but)):
        raw, within = None, findings.of_file(file)
        with within.collecting():
            raw = read_json(file)
            if raw in ([], {}):
                within.warning("no-items", "the file is empty")
        items: Iterable[Any] = raw if isinstance(raw, list) else [raw] if raw else ()
        if isinstance(raw, dict):
            check_repeated(raw, Place(within))
            items = (
                {**item, key: name} if isinstance(item, dict) else item
                for name, item in raw.items()
            )
        for item in items:
            name = str(item[key]) if isinstance(item, dict) and key in item else ""
            place = Place(within, name or None)
            if problems := misfits(item, whole):
                for problem in problems:
                    place.error("shape", problem)
            elif name not in known:
                # The search for a similar id is slow if there are many ids.
                advice = did_you_mean(name, known) if len(findings.errors) < MOST_ADVICE else ""
                advice = advice or " (check the options that select the gold data)"
                place.error("unknown-id", f"the gold data have no such {key}{advice}")
            elif name in seen:
                kind = "repeated-id" if seen[name] == file else IN_TWO_FILES
                place.error(kind, f"it occurs twice, first in {seen[name]}")
            else:
                seen[name] = file
                yield item, place
    if not seen and not findings.errors:
        findings.error("no-items", f"there is nothing with a {key}")


def first_item(raw: Any) -> Any:
    """Return the first item of an array, or the first value of an object; None for other values."""
    items = raw.values() if isinstance(raw, dict) else raw if isinstance(raw, list) else ()
    return next(iter(items), None)


def misfit(value: Any, shape: Any) -> str:
    """Return where a JSON value first differs from a shape, and the expected type, or "".

    A shape is a type, a union of types (`float` includes integers) or a frozenset of the allowed
    texts. Other shapes are `[shape]` for an array, `(shape,)` for an array that is not empty, and a
    dict for an object. In a dict, the key `str` stands for any key, and a key with the suffix `?`
    is optional. The object may have further keys, but no key may occur twice. The value of the key
    `...` is a function that returns another shape of the object.

    >>> misfit({"values": {"city": "Rome"}}, {"values": {str: [str]}})
    'values.city: expected an array, found "Rome"'
    """
    return next(iter(misfits(value, shape)), "")


def misfits(value: Any, shape: Any) -> list[str]:
    """Return all places at which a JSON value differs from a shape (see `misfit`)."""
    return [f"{path}: {text}".lstrip(".: ") for path, text in _misfits(value, shape)]


def _misfits(value: Any, shape: Any) -> Sequence[tuple[str, str]]:
    """Return the places and the differences; few objects are created for a value that fits."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return _expected("an object", value)
        found: list[tuple[str, str]] = []
        if isinstance(value, RepeatedKeys):
            found.append(("", repeated(value)))
        for key, inner in shape.items():
            names: Iterable[str] = ()
            if key is ...:
                found = found or [*_misfits(value, inner(value))]
            elif key is str:
                names = value
            elif (name := key.removesuffix("?")) in value:
                names = (name,)
            elif name == key:
                found.append(("", f"the key {key} is missing"))
            for name in names:
                for path, text in _misfits(value[name], inner):
                    found.append((f".{shorten(name)}{path}", text))
        return found
    if isinstance(shape, (list, tuple)):
        if not isinstance(value, list):
            return _expected("an array", value)
        if isinstance(shape, tuple) and not value:
            return _expected("an array with a value", value)
        (inner,) = shape
        return [
            (f"[{index}]{path}", text)
            for index, part in enumerate(value)
            for path, text in _misfits(part, inner)
        ]
    if isinstance(shape, frozenset):
        if isinstance(value, str) and value in shape:
            return ()
        advice = did_you_mean(str(value).upper(), shape)
        return _expected(f"one of {', '.join(sorted(shape))}", value, advice)
    if isinstance(value, shape) or (isinstance(value, int) and isinstance(0.0, shape)):
        return ()
    names_of = {str: "a text", int: "a whole number", float: "a number"}
    return _expected(names_of.get(shape, "a value"), value)


def _expected(what: str, value: Any, advice: str = "") -> list[tuple[str, str]]:
    text = shorten(json.dumps(value, ensure_ascii=False, default=repr), 80)
    return [("", f"expected {what}, found {text}{advice}")]
