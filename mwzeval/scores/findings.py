"""What is wrong with an input: collected with its place, not raised one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.files.json_files import RepeatedKeys

OBJECT = (dict, Mapping)
"""What a JSON object may come as; a dict is recognised faster than a mapping in general."""


DIFFERENT_WARNINGS = 1_000
"""Warnings that are kept of an input in parts, so that garbage in all of them fills no memory."""

MORE_WARNINGS = Problem(
    "more-warnings",
    f"there are more than {DIFFERENT_WARNINGS} different warnings; the others are only counted",
    severity="warning",
)


@dataclass(slots=True)
class Findings:
    """Collects problems; warnings of one kind about one thing are counted, not repeated.

    `positions` tells where turns stand in what the user wrote, dialogue → position of each turn;
    without, they stand where they are counted.
    """

    file: str | None = None
    positions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    errors: list[Problem] = field(default_factory=list)
    _warnings: dict[tuple[str, str], Problem] = field(default_factory=dict)

    def error(self, kind: str, message: str, **place: Any) -> None:
        """Note something that prevents scoring; `place` is dialogue, turn, key."""
        self.errors.append(Problem(kind, message, "error", self.file, **self._written(place)))

    def warning(self, kind: str, message: str, *, count: int = 1, **place: Any) -> None:
        """Note something that is scored, but perhaps not as meant."""
        known = self._warnings.get((kind, message))
        self._warnings[kind, message] = (
            replace(known, count=known.count + count)
            if known
            else Problem(kind, message, "warning", self.file, **self._written(place), count=count)
        )

    def _written(self, place: dict[str, Any]) -> dict[str, Any]:
        if self.positions and place.get("turn") is not None:
            place["turn"] = self.positions[place["dialogue"]][place["turn"]]
        return place

    @property
    def warned(self) -> int:
        """How many different warnings there are so far."""
        return len(self._warnings)

    @property
    def warnings(self) -> list[Problem]:
        """The warnings so far, each once with its count and first place."""
        return list(self._warnings.values())

    def sort_warnings(self) -> None:
        """Order the warnings by kind, so that it does not matter in which parts they were found."""
        self._warnings = dict(sorted(self._warnings.items(), key=lambda item: item[0][0]))

    def merge(self, later: Findings) -> None:
        """Add what was found in a later part of the input; too many warnings are only counted."""
        self.errors += later.errors
        for found_key, problem in later._warnings.items():
            is_kept = found_key in self._warnings or len(self._warnings) < DIFFERENT_WARNINGS
            key = found_key if is_kept else (MORE_WARNINGS.kind, MORE_WARNINGS.message)
            first = problem if is_kept else replace(MORE_WARNINGS, count=problem.count)
            known = self._warnings.get(key)
            total = first if known is None else replace(known, count=known.count + first.count)
            self._warnings[key] = total

    def check(self) -> None:
        """Raise `InputError` if anything prevents scoring."""
        if self.errors:
            raise InputError(self.errors)


@dataclass(frozen=True, slots=True)
class Place:
    """A turn of the input, for its findings; `key` is what of the turn they are about."""

    findings: Findings
    dialogue: str
    turn: int

    def error(self, kind: str, message: str, key: str | None = None) -> None:
        """Note something that prevents scoring."""
        self.findings.error(kind, message, dialogue=self.dialogue, turn=self.turn, key=key)

    def warning(self, kind: str, message: str, key: str | None = None) -> None:
        """Note something that is scored, but perhaps not as meant."""
        self.findings.warning(kind, message, dialogue=self.dialogue, turn=self.turn, key=key)


def check_repeated(raw: Mapping[Any, Any], place: Place) -> None:
    """Note keys that one object has more than once."""
    if isinstance(raw, RepeatedKeys):
        place.error("repeated-key", repeated(raw))


def repeated(raw: RepeatedKeys) -> str:
    """Return what to say about an object's repeated keys."""
    names = ", ".join(f'"{shorten(key)}"' for key in raw.repeated)
    return f"given more than once in one object: {names}"


def found(value: Any) -> str:
    """Return `found a number` and the like, for messages about a wrong shape."""
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
