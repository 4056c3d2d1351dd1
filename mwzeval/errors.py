"""The exceptions, and the class `Problem`: a problem of an input and its location.

Each message states the error, its location, the allowed values, and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import PurePath
from typing import Literal

SHOWN_PROBLEMS = 20
"""The number of problems that an error message lists; further problems are only counted."""


CONDITIONS = frozenset(
    {"gold-states", "gold-acts", "other-references", "partial-state", "partial-active_domains"}
)
"""Kinds of warnings about the conditions of scores: gold annotation was used instead of
predictions, or the references are not the default references. Reports print these warnings next to
the scores."""
CHOSEN = frozenset({"other-references"})
"""Kinds of warnings that result from an option of the user; `--strict` accepts them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an input, and its location.

    `turn` is the index of the turn in the dialogue, from 0. `position` is the position in a
    ranking, from 1. `count` is the number of occurrences of the problem; the location is the
    location of the first occurrence.
    """

    kind: str
    message: str
    severity: Literal["error", "warning"] = "error"
    file: str | None = None
    dialogue: str | None = None
    turn: int | None = None
    key: str | None = None
    count: int = 1
    example: str | None = None
    position: int | None = None

    def __str__(self) -> str:
        names = ("dialogue", "example", "turn", "position", "key")
        place = [
            f'{name} "{shorten(value)}"' if isinstance(value, str) else f"{name} {value}"
            for name, value in ((name, getattr(self, name)) for name in names)
            if value is not None
        ]
        parts = [part for part in (self.file, ", ".join(place)) if part]
        return printable(": ".join([*parts, self.message]))

    def shared(self) -> Problem:
        """Return the problem with its file name but without the folder, for reports."""
        return self if self.file is None else replace(self, file=PurePath(self.file).name or None)


def counted(text: str, count: int) -> str:
    """Return the text of a problem, with its number of occurrences if there are several."""
    return f"{text} ({count:,} times)" if count > 1 else text


def conditions(warnings: Iterable[Problem]) -> list[str]:
    """Return the distinct messages of warnings about the conditions of scores."""
    return list(
        dict.fromkeys(problem.message for problem in warnings if problem.kind in CONDITIONS)
    )


class MwzevalError(Exception):
    """Base class of all errors that a user can cause or correct; the command line exits with 2.

    Each argument becomes a line of the message; line breaks within an argument are escaped.
    """

    def __str__(self) -> str:
        return "\n".join(printable(str(line)) for line in self.args)


class UsageError(MwzevalError):
    """The call is wrong: an unknown corpus, rule, metric or option."""


class InputError(MwzevalError):
    """The input cannot be scored; `problems` has all problems.

    The message has a line for each group of problems that differ only in their location; the line
    states the first location. `can_be_validated` is true if `mwzeval validate` reads the input.
    """

    def __init__(self, problems: Iterable[Problem], *, can_be_validated: bool = True) -> None:
        self.problems = tuple(problems)
        self.can_be_validated = can_be_validated
        super().__init__(self.problems)

    def __str__(self) -> str:
        groups: dict[tuple[str | None, ...], Problem] = {}
        for problem in self.problems:
            key = problem.file, problem.severity, problem.kind, problem.message, problem.key
            if known := groups.get(key):
                problem = replace(known, count=known.count + problem.count)
            groups[key] = problem
        lines = list(groups.values())
        shown = [counted(str(problem), problem.count) for problem in lines[:SHOWN_PROBLEMS]]
        hidden = sum(problem.count for problem in lines[SHOWN_PROBLEMS:])
        if hidden:
            where = " (`mwzeval validate` lists all of them)" if self.can_be_validated else ""
            shown.append(f"… and {hidden:,} more{where}")
        return "\n".join(shown)


class DataError(MwzevalError):
    """Corpus or database files are missing, unreachable or damaged."""


class DependencyError(MwzevalError):
    """A required library is missing, or it does not have the version that scoring needs."""


class MwzevalWarning(UserWarning):
    """A warning about a result; the command line prints the warning on one line."""


def shorten(text: str, limit: int = 60) -> str:
    """Return `text` for one line of a message: printable, with at most `limit` characters."""
    visible = printable(text[:limit])
    return visible if len(text) <= limit else visible + "…"


_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, line separators, changes of direction, characters without width (except
joiners), and lone surrogates. Such characters could control a terminal, imitate a line of output,
or hide text."""


def printable(text: str, keep: str = "") -> str:
    """Return `text` with escapes for unprintable characters, except those in `keep`."""
    return escaped(text, lambda char: char.encode("unicode_escape").decode(), keep)


def escaped(text: str, escape: Callable[[str], str], keep: str = "") -> str:
    """Return `text` with each unprintable character c (except those in `keep`) as `escape(c)`."""
    return _UNPRINTABLE.sub(lambda m: m[0] if m[0] in keep else escape(m[0]), text)


def some_of(names: Sequence[str], most: int) -> str:
    """Return at most `most` names, and the number of further names: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def unknown(what: str, name: str, known: Iterable[str], more: str = "") -> str:
    """Return the message about an unknown name; `more` follows the list of known names."""
    names = list(dict.fromkeys(known))
    hint, listed = did_you_mean(name, names), ", ".join(names)
    return f'unknown {what} "{shorten(name)}"{hint} (known: {listed}{more})'


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` — did you mean "x"?` for the closest known name, or "" if none is close."""
    # Chinese words are short: if one of two characters matches, the similarity is 0.5.
    cutoff = 0.5 if len(name) <= 3 and not name.isascii() else 0.7
    return _closest(name[:60], tuple(known), cutoff)


@lru_cache(maxsize=256)
def _closest(name: str, known: tuple[str, ...], cutoff: float) -> str:
    # Cached, because the same mistake may occur a hundred thousand times.
    close = get_close_matches(name, known, n=1, cutoff=cutoff)
    return f' — did you mean "{close[0]}"?' if close else ""
