"""Predictions in many files, as if they stood in one: read in batches, kept as sums.

A shard is scored as a whole or not at all, so that one which fails in the middle, because its file
is damaged or its worker was killed, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tqdm import tqdm

from mwzeval.errors import SHOWN_PROBLEMS, InputError, Problem
from mwzeval.files.json_files import parse_json, read_text
from mwzeval.files.streams import first_line, lines
from mwzeval.metrics.measure import no_garbage_collection
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.incremental import IncrementalEvaluator
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.reading import (
    Findings,
    called_lines,
    is_line,
    predictions_of_lines,
)
from mwzeval.multiwoz.scoring import Sources
from mwzeval.scores.score import Report

BATCH = 256
"""Dialogues in memory at a time, of files with one dialogue a line."""

PROBLEMS_OF_A_SHARD = 5 * SHOWN_PROBLEMS
"""After so many errors the rest of a shard is not looked at."""


@dataclass(slots=True)
class Found:
    """What consecutive shards have in them: their sums, and what is wrong with them.

    `bad` are the errors of each shard that cannot be scored; `repeated` are dialogues that are in
    two of the shards.
    """

    scored: IncrementalEvaluator
    bad: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()

    def merge(self, later: Found) -> None:
        """Add the shards that come after these."""
        self.bad |= later.bad
        self.repeated += later.repeated
        try:
            self.scored.merge(later.scored)
        except InputError as error:
            self.repeated += tuple(problem.dialogue or "" for problem in error.problems)


Run = Callable[[Evaluator, Sequence[str], Sources], Found]
"""Scores all shards under one choice of sources, here or on other machines."""


def evaluate_shards(
    evaluator: Evaluator,
    shards: Sequence[str],
    run: Run,
    *,
    skip_bad: bool = False,
    file: str | None = None,
) -> Report:
    """Return the report of all shards together, that of one file with their lines in order.

    With `skip_bad` shards that cannot be scored are left out, and named in the report's `meta`
    (`skipped_shards`). `file` names all shards in warnings that are not about one.

    Raises `InputError` with the problems of all bad shards otherwise, or when a dialogue is in two
    of them; `UsageError` where intervals are asked for.
    """
    evaluator.incremental()  # what cannot be had from sums is refused before anything is read
    sources = first_sources(evaluator, shards)
    found = run(evaluator, shards, sources)
    if found.bad and not (skip_bad and len(found.bad) < len(shards)):
        raise InputError(problem for problems in found.bad.values() for problem in problems)
    if found.repeated:
        raise InputError(repeated_in(evaluator, shards, found.repeated))
    good = [shard for shard in shards if shard not in found.bad]
    decided = Sources.of_census(found.scored.census)
    if decided != sources:
        # Some turns lack what the first ones have: that is known only now, and counts for all.
        bad, found = found.bad, run(evaluator, good, decided)
        if found.bad:
            raise InputError(problem for problems in found.bad.values() for problem in problems)
        found.bad.update(bad)
    report = found.scored.report(file=file)
    if not found.bad:
        return report
    skipped = [
        {"shard": shard, "problems": [str(problem) for problem in found.bad[shard]]}
        for shard in shards
        if shard in found.bad
    ]
    warnings = tuple(
        Problem(
            "skipped-shard",
            f"left out, because {problems[0].message}",
            severity="warning",
            file=shard,
        )
        for shard, problems in found.bad.items()
    )
    return replace(
        report,
        warnings=(*report.warnings, *warnings),
        meta={**report.meta, "skipped_shards": skipped},
    )


def one_after_the_other(
    evaluator: Evaluator, shards: Sequence[str], sources: Sources, *, progress: bool = False
) -> Found:
    """Score shards in this process."""
    total = Found(evaluator.incremental())
    for shard in tqdm(
        shards, unit="shard", delay=1, leave=False, disable=None if progress else True
    ):
        total.merge(evaluate_shard(evaluator, shard, sources))
    return total


def evaluate_shard(evaluator: Evaluator, shard: str, sources: Sources) -> Found:
    """Score one shard under the given choice of sources, whether its turns lead to it or not.

    All its problems are collected; with any there are no scores of it.
    """
    scored = IncrementalEvaluator(evaluator, partial(_fixed, sources))
    problems: list[Problem] = []
    with no_garbage_collection():
        for batch in batches(shard, problems):
            try:
                scored.update(batch, file=shard)
            except InputError as error:
                problems += error.problems
            if len(problems) >= PROBLEMS_OF_A_SHARD:
                break
    if problems:
        scored.reset()
    return Found(scored, {shard: tuple(problems)} if problems else {})


def _fixed(sources: Sources, census: Census) -> tuple[Sources, ...]:
    return (sources,)


def first_sources(evaluator: Evaluator, shards: Sequence[str]) -> Sources:
    """Return the choice of sources that the first readable batch leads to."""
    for shard in shards:
        batch = next(batches(shard, []), None)
        part = None if batch is None else evaluator.part(batch, Findings(shard))
        if part is not None:
            return Sources.of_census(part.census)
    return Sources(predicted_states=False, predicted_domains=False)


def batches(shard: str, problems: list[Problem]) -> Iterator[Any]:
    """Yield the predictions of a shard, some at a time; what cannot be read goes to `problems`.

    Files with one dialogue a line are never in memory as a whole; others are, and yielded at once.
    """
    try:
        if called_lines(shard) or is_line(first_line(shard).decode(errors="replace")):
            yield from _batches_of_lines(lines(shard), shard, problems)
        else:
            yield parse_json(read_text(shard), shard)
    except InputError as error:
        problems += error.problems


def _batches_of_lines(
    of_shard: Iterable[tuple[int, str]], shard: str, problems: list[Problem]
) -> Iterator[Any]:
    batch: list[tuple[int, Any]] = []
    for number, text in of_shard:
        try:
            batch.append((number, parse_json(text, shard, first_line=number)))
        except InputError as error:
            problems += error.problems
        if len(batch) == BATCH:
            yield from _predictions(batch, shard, problems)
            batch = []
        if len(problems) >= PROBLEMS_OF_A_SHARD:
            return
    if batch:
        yield from _predictions(batch, shard, problems)


def _predictions(
    batch: Sequence[tuple[int, Any]], shard: str, problems: list[Problem]
) -> Iterator[Any]:
    try:
        yield predictions_of_lines(batch, shard)
    except InputError as error:
        problems += error.problems


def repeated_in(
    evaluator: Evaluator, shards: Sequence[str], dialogues: Sequence[str]
) -> list[Problem]:
    """Return an error for each dialogue that comes again, with the shards that it is in.

    Reads the shards again, which happens only when nothing else is to be done.
    """
    places: dict[str, list[str]] = {name: [] for name in dict.fromkeys(dialogues)}
    shown = list(places)[:SHOWN_PROBLEMS]
    for shard in shards:
        for batch in batches(shard, []):
            part = evaluator.part(batch, Findings(shard))
            there = part.dialogues if part else {}
            for name in shown:
                if name in there:
                    places[name].append(shard)
    return [
        Problem(
            "repeated-dialogue",
            f"the dialogue is in more than one shard: {', '.join(places[name])}",
            dialogue=name,
        )
        for name in places
    ]
