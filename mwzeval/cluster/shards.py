"""Inputs in many files, scored as if they stood in one.

A shard becomes a part, here or on another machine, and parts are merged in the order of the shards.
It is a part as a whole or not at all, so that one which fails in the middle, because its file is
damaged or its worker was killed, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from mwzeval.errors import SHOWN_PROBLEMS, InputError, Problem
from mwzeval.files.streams import shortest_ends
from mwzeval.progress import followed
from mwzeval.scores.report import Report


class Part(Protocol):
    """What is kept of consecutive shards; it can be sent between processes."""

    def blank(self) -> Any:
        """Return a part of the same kind, of no shard yet."""

    def merge(self, later: Any) -> None:
        """Add the part of the shards that come after these.

        Raises `InputError` with a problem for each unit that both have.
        """


class ShardScorer(Protocol):
    """What scores the shards of one input.

    It is sent to other processes with every shard, small; what it reads there, it keeps.
    """

    def part(self, shard: str) -> Part:
        """Return the part that a shard is.

        Raises `InputError` with all its problems, `DataError`, `UsageError`.
        """

    def units(self, shard: str) -> Collection[str]:
        """Return the names of what is scored in a shard that could be read before."""

    def decided(self, part: Any) -> ShardScorer:
        """Return what scores all shards as their merged part shows that it must be.

        That is mostly this one. Another one makes the parts again.
        """

    def report(self, part: Any, file: str | None) -> Report:
        """Return the report of the merged part; `file` names all shards in what is not about one.

        Raises `InputError` with what only the whole shows, named after its shard where it is of
        one.
        """


class Piece(NamedTuple):
    """What was read of a shard, and the names of what is to be scored in it."""

    read: Any
    units: tuple[str, ...]


@dataclass(slots=True)
class Pieces:
    """A part that keeps shards as they were read: memory grows with them.

    `read` has what was read of each shard, `shard_of` the shard of each unit; `unit` is what a
    problem calls one.
    """

    unit: Literal["dialogue", "example"]
    read: dict[str, Any] = field(default_factory=dict)
    shard_of: dict[str, str] = field(default_factory=dict)

    def blank(self) -> Pieces:
        """Return pieces of no shard yet."""
        return Pieces(self.unit)

    def merge(self, later: Pieces) -> None:
        """Add the shards that come after these. Raises `InputError` for units that both have."""
        repeated = [unit for unit in later.shard_of if unit in self.shard_of]
        if repeated:
            of: dict[str, Any] = {}
            raise InputError(
                Problem(f"repeated-{self.unit}", "given before", **of | {self.unit: unit})
                for unit in repeated
            )
        self.read |= later.read
        self.shard_of |= later.shard_of

    def named(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return problems of the whole, those of a unit with the name of its shard."""
        return tuple(
            replace(problem, file=self.shard_of.get(unit_of(problem), problem.file))
            for problem in problems
        )


@dataclass(frozen=True, slots=True)
class PieceScorer:
    """Scores shards that are read one by one, and then scored as one input.

    That is for what fits into memory. `read` returns what is in a shard, checked as far as a shard
    can be by itself; `score` takes shard → what was read, in order, and the name of all. Both raise
    `InputError`, and are sent to other processes.
    """

    read: Callable[[str], Piece]
    score: Callable[[Mapping[str, Any], str | None], Report]
    unit: Literal["dialogue", "example"] = "dialogue"

    def part(self, shard: str) -> Pieces:
        """Return the piece of a shard. Raises as `read` does."""
        read, units = self.read(shard)
        return Pieces(self.unit, {shard: read}, dict.fromkeys(units, shard))

    def units(self, shard: str) -> Collection[str]:
        """Return the names of what is scored in a shard. Raises as `read` does."""
        return self.read(shard).units

    def decided(self, part: Pieces) -> PieceScorer:
        """Return this scorer: nothing is scored before all is there."""
        return self

    def report(self, part: Pieces, file: str | None) -> Report:
        """Return the report of all pieces. Raises `InputError`, with shards named."""
        try:
            report = self.score(part.read, file)
        except InputError as error:
            raise InputError(part.named(error.problems)) from None
        return replace(report, warnings=part.named(report.warnings))


@dataclass(slots=True)
class Found:
    """What consecutive shards have in them: their part, and what is wrong with them.

    `part` is None where no shard can be scored. `bad` are the errors of each that cannot;
    `repeated` are units that are in two of the shards.
    """

    part: Any = None
    bad: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    repeated: tuple[Problem, ...] = ()

    def merge(self, later: Found) -> None:
        """Add the shards that come after these."""
        self.bad |= later.bad
        self.repeated += later.repeated
        if later.part is None:
            return
        if self.part is None:
            # Not the other's itself, which may be asked for again.
            self.part = later.part.blank()
        try:
            self.part.merge(later.part)
        except InputError as error:
            self.repeated += error.problems


Run = Callable[[ShardScorer, Sequence[str]], Found]
"""Makes the parts of all shards and merges them, here or on other machines."""


def evaluate_shards(
    scorer: ShardScorer,
    shards: Sequence[str],
    run: Run,
    *,
    skip_bad: bool = False,
    file: str | None = None,
) -> Report:
    """Return the report of all shards together, that of one file with what is in them, in order.

    With `skip_bad` shards that cannot be scored are left out, and named in the report's `meta`
    (`skipped_shards`). `file` names all shards in warnings that are not about one.

    Raises `InputError` with the problems of all bad shards otherwise, when none is left, or when a
    unit is in two of them; whatever `run` raises.
    """
    bad: dict[str, tuple[Problem, ...]] = {}
    while True:
        good = [shard for shard in shards if shard not in bad]
        found = run(scorer, good)
        bad |= found.bad
        if bad and not (skip_bad and len(bad) < len(shards)):
            raise InputError(problem for problems in bad.values() for problem in problems)
        if found.repeated:
            raise InputError(repeated_in(scorer, good, found.repeated))
        decided = scorer.decided(found.part)
        if decided is not scorer:
            scorer = decided
            continue
        try:
            return _without(scorer.report(found.part, file), shards, bad)
        except InputError as error:
            late = _by_shard(error.problems, good)
            if late is None or not skip_bad:
                raise
            bad |= late


def _by_shard(
    problems: Sequence[Problem], shards: Sequence[str]
) -> dict[str, tuple[Problem, ...]] | None:
    """Return the problems of each shard that has any; None when some are of no single one."""
    of: dict[str, tuple[Problem, ...]] = {}
    for problem in problems:
        if problem.file is None or problem.file not in shards:
            return None
        of[problem.file] = (*of.get(problem.file, ()), problem)
    return of


def _without(report: Report, shards: Sequence[str], bad: dict[str, tuple[Problem, ...]]) -> Report:
    """Return the report with what it says of shards that were left out."""
    if not bad:
        return report
    skipped = [
        {"shard": name, "problems": [str(replace(problem, file=name)) for problem in bad[shard]]}
        for shard, name in zip(shards, shortest_ends(shards), strict=True)
        if shard in bad
    ]
    warnings = tuple(
        Problem(
            "skipped-shard",
            f"left out, because {problems[0].message}",
            severity="warning",
            file=shard,
        )
        for shard, problems in bad.items()
    )
    return replace(
        report,
        warnings=(*report.warnings, *warnings),
        meta={**report.meta, "skipped_shards": skipped},
    )


def one_after_the_other(
    scorer: ShardScorer, shards: Sequence[str], *, progress: bool = False
) -> Found:
    """Return what shards have in them, found in this process. Raises as `found_in`."""
    total = Found()
    for shard in followed(shards, "shards", shown=progress):
        total.merge(found_in(scorer, shard))
    return total


def found_in(scorer: ShardScorer, shard: str) -> Found:
    """Return the part of one shard, or all its problems. Raises `DataError`, `UsageError`."""
    try:
        return Found(scorer.part(shard))
    except InputError as error:
        return Found(bad={shard: error.problems})


def unit_of(problem: Problem) -> str:
    """Return the name of what a problem is about: a dialogue, an example, or nothing."""
    return problem.dialogue or problem.example or ""


def repeated_in(
    scorer: ShardScorer, shards: Sequence[str], repeated: Sequence[Problem]
) -> list[Problem]:
    """Return an error for each unit that comes again, with the shards that it is in.

    Reads the shards again, which happens only when nothing else is to be done.
    """
    first = {unit_of(problem): problem for problem in reversed(repeated)}
    places: dict[str, list[str]] = {unit_of(problem): [] for problem in repeated}
    shown = list(places)[:SHOWN_PROBLEMS]
    for shard in shards:
        there = scorer.units(shard)
        for unit in shown:
            if unit in there:
                places[unit].append(shard)
    return [_repeated(first[unit], places[unit]) for unit in places]


def _repeated(problem: Problem, shards: Sequence[str]) -> Problem:
    what = "dialogue" if problem.example is None else "example"
    message = f"the {what} is in more than one shard: {', '.join(shards)}"
    return replace(problem, message=message, file=None)
