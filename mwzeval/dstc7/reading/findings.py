"""What can be wrong with DSTC7 files, how bad that is, and the list in which all of it is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mwzeval.errors import InputError, Problem

Level = Literal["error", "warning"]

_ERROR: tuple[Level, Level] = ("error", "error")
_STRICT_ONLY: tuple[Level, Level] = ("error", "warning")
_WARNING: tuple[Level, Level] = ("warning", "warning")

LEVELS: dict[str, tuple[Level, Level]] = {
    # Any file.
    "unreadable": _ERROR,
    "too-large": _ERROR,
    "too-many-values": _ERROR,
    "too-many-errors": _ERROR,
    "more-warnings": _WARNING,
    "empty-file": _ERROR,
    "not-json": _ERROR,
    "not-utf8": _ERROR,
    "not-an-array": _ERROR,
    "missing-field": _ERROR,
    "bad-type": _ERROR,
    "file-name": _WARNING,
    # Submissions.
    "missing-confidence": _STRICT_ONLY,
    "bad-confidence": _ERROR,
    "missing-example": _STRICT_ONLY,
    "unknown-example": _STRICT_ONLY,
    "no-common-example": _STRICT_ONLY,
    "duplicate-example": _STRICT_ONLY,
    "duplicate-candidate": _STRICT_ONLY,
    "unknown-candidate": _STRICT_ONLY,
    "none-not-allowed": _STRICT_ONLY,
    "empty-ranking": _STRICT_ONLY,
    "too-few-candidates": _STRICT_ONLY,
    "too-many-candidates": _STRICT_ONLY,
    "not-sorted": _WARNING,
    "not-a-distribution": _STRICT_ONLY,
    "malformed-trec": _ERROR,
    # Targets.
    "malformed-targets": _ERROR,
    "duplicate-target-example": _ERROR,
    "no-targets": _ERROR,
    "gold-not-in-candidates": _WARNING,
    # Dialogue files and pools.
    "wrong-track": _STRICT_ONLY,
    "duplicate-dialogue-example": _ERROR,
    "ambiguous-option": _WARNING,
    "unchecked-example": _WARNING,
    "malformed-pool": _ERROR,
    "duplicate-pool-candidate": _ERROR,
    "pool-size": _WARNING,
}
"""Code → how bad it is when strict, and when lenient."""


MORE_WARNINGS = "more-warnings"
MOST_ERRORS = 10_000
"""After so many the rest of a file is not looked at."""
MOST_WARNINGS = 10_000
"""So many are kept, and what comes after them is only counted."""


@dataclass(slots=True)
class Findings:
    """Collects problems with their places; nothing is raised before `check`.

    What is to be counted (`counted`) is kept once with its count, everything else one by one, but
    not without end: whatever is in a file, its problems fit into memory.
    """

    strict: bool = True
    file: str | None = None
    _problems: list[Problem] = field(default_factory=list)
    _counted: dict[tuple[str, str | None], int] = field(default_factory=dict)
    _sizes: Counter[Level] = field(default_factory=Counter)

    def of_file(self, file: str | None) -> Findings:
        """Return findings that go to the same list, about another file."""
        return Findings(self.strict, file, self._problems, self._counted, self._sizes)

    def add(self, kind: str, message: str, *, fatal: bool = False, **place: Any) -> None:
        """Note a problem as bad as its code is; `fatal` makes it an error in any case.

        `place` has any of example, position, key and count. Raises `InputError` with an error that
        says so when there are `MOST_ERRORS` already.
        """
        level = self._level(kind, fatal)
        if level == "error" and self._sizes[level] >= MOST_ERRORS:
            told = f"more than {MOST_ERRORS:,} errors: the rest was not looked at"
            raise InputError([Problem("too-many-errors", told, file=self.file)])
        if level == "warning" and self._sizes[level] >= MOST_WARNINGS and kind != MORE_WARNINGS:
            told = f"warnings beyond the first {MOST_WARNINGS:,}, which are not listed"
            self.counted(MORE_WARNINGS, told)
            return
        self._sizes[level] += 1
        self._problems.append(Problem(kind, message, level, self.file, **place))

    def counted(self, kind: str, message: str, **place: Any) -> None:
        """Note a problem that may be found often: the first place is kept, the others counted."""
        known = self._counted.get((kind, self.file))
        if known is None:
            self._counted[kind, self.file] = len(self._problems)
            self.add(kind, message, **place)
        else:
            problem = self._problems[known]
            self._problems[known] = replace(problem, count=problem.count + 1)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note problems that were found elsewhere."""
        self._problems.extend(problems)

    def _level(self, kind: str, fatal: bool) -> Level:
        return "error" if fatal else LEVELS[kind][not self.strict]

    @property
    def errors(self) -> list[Problem]:
        """What prevents scoring, in the order in which it was found."""
        return [problem for problem in self._problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """What does not prevent scoring."""
        return [problem for problem in self._problems if problem.severity == "warning"]

    @property
    def problems(self) -> list[Problem]:
        """Everything, errors first."""
        return [*self.errors, *self.warnings]

    def check(self) -> None:
        """Raise `InputError` with all errors, if there are any."""
        if errors := self.errors:
            raise InputError(errors)


def found(value: Any) -> str:
    """Return `found a number` and the like, for messages about a wrong type."""
    names = {
        bool: "true or false",
        str: "text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
    return f"found {names.get(type(value), type(value).__name__)}"
