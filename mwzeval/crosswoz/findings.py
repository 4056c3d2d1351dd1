"""What is wrong with an input: collected with its place, not raised one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mwzeval.errors import InputError, Problem


@dataclass(slots=True)
class Findings:
    """Collects problems; warnings that say the same are counted, not repeated.

    With `lenient`, what could be scored as a wrong answer (a slot that does not exist) is a
    warning; otherwise it prevents scoring. With `strict` every warning does.
    """

    file: str | None = None
    lenient: bool = False
    strict: bool = False
    errors: list[Problem] = field(default_factory=list)
    _warnings: dict[tuple[str, str], Problem] = field(default_factory=dict)

    def error(self, kind: str, message: str, **place: Any) -> None:
        """Note something that prevents scoring; `place` is dialogue, turn, key."""
        self.errors.append(Problem(kind, message, "error", self.file, **place))

    def warning(self, kind: str, message: str, *, count: int = 1, **place: Any) -> None:
        """Note something that is scored, but perhaps not as meant."""
        known = self._warnings.get((kind, message))
        self._warnings[kind, message] = (
            replace(known, count=known.count + count)
            if known
            else Problem(kind, message, "warning", self.file, **place, count=count)
        )

    def wrong_answer(
        self, kind: str, message: str, *, then: str = "it counts as wrong", **place: Any
    ) -> None:
        """Note something that no gold answer can be: a warning when lenient, else an error.

        `then` says what becomes of it when it is scored.
        """
        if self.lenient:
            self.warning(kind, f"{message}; {then}", **place)
        else:
            self.error(kind, message, **place)

    @property
    def warnings(self) -> list[Problem]:
        """The warnings so far, each once with its count and first place (errors when strict)."""
        severity: Literal["error", "warning"] = "error" if self.strict else "warning"
        return [replace(warning, severity=severity) for warning in self._warnings.values()]

    @property
    def problems(self) -> list[Problem]:
        """Everything, errors first."""
        return [*self.errors, *self.warnings]

    def check(self) -> None:
        """Raise `InputError` if anything prevents scoring."""
        if self.errors or (self.strict and self._warnings):
            raise InputError(self.problems if self.strict else self.errors)


@dataclass(frozen=True, slots=True)
class Place:
    """An exchange of the input, for its findings; `key` is the field they are about."""

    findings: Findings
    dialogue: str
    turn: int
    key: str | None = None

    def at(self, key: str) -> Place:
        """Return the place of a field in this exchange."""
        return replace(self, key=key)

    def error(self, kind: str, message: str) -> None:
        """Note something that prevents scoring."""
        self.findings.error(kind, message, dialogue=self.dialogue, turn=self.turn, key=self.key)

    def warning(self, kind: str, message: str, count: int = 1) -> None:
        """Note something that is scored, but perhaps not as meant."""
        place = {"dialogue": self.dialogue, "turn": self.turn, "key": self.key}
        self.findings.warning(kind, message, count=count, **place)

    def wrong_answer(self, kind: str, message: str) -> None:
        """Note something that no gold answer can be."""
        place: dict[str, Any] = {"dialogue": self.dialogue, "turn": self.turn, "key": self.key}
        self.findings.wrong_answer(kind, message, **place)


KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (str, "text"),
    ((int, float), "a number"),
    ((list, tuple), "a list"),
    (Mapping, "an object"),
    (type(None), "null"),
)


def found(value: Any) -> str:
    """Return `found a number` and the like, for messages about a wrong shape."""
    kind = next((name for types, name in KINDS if isinstance(value, types)), type(value).__name__)
    return f"found {kind}"
