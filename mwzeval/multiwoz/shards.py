"""Predictions in many files, scored as one input, in this process or on a Dask cluster.

Each shard is read in batches and scored to sums (an `IncrementalEvaluator`), and the sums are
merged in the order of the shards, so memory does not grow with the number of dialogues. A shard
counts as a whole or not at all: if its file is damaged or its worker is killed, none of it counts.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from uuid import uuid4

from mwzeval.errors import SHOWN_PROBLEMS, DependencyError, InputError, MwzevalError, Problem
from mwzeval.files.reading import first_line, lines, parse_json, read_text, shortest_ends
from mwzeval.libraries import no_garbage_collection, required
from mwzeval.multiwoz.evaluator import Evaluator, IncrementalEvaluator
from mwzeval.multiwoz.predictions.reading import (
    called_lines,
    is_line,
    predictions_of_lines,
)
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.output import counting, followed
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report

BATCH = 256
"""Dialogues in memory at a time, of files with one dialogue a line."""

PROBLEMS_OF_A_SHARD = 5 * SHOWN_PROBLEMS
"""After this many errors, the rest of a shard is not read."""

SHARDS_TOGETHER = 8
"""Neighbouring shards whose sums are merged on the cluster before they are fetched."""


@dataclass(slots=True)
class MergedShards:
    """The sums of consecutive shards, the errors of each bad shard, and repeated dialogues.

    `sums` is None if no shard can be scored.
    """

    sums: IncrementalEvaluator | None = None
    bad: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()

    def merge(self, later: MergedShards) -> None:
        """Add the shards that come after these."""
        self.bad |= later.bad
        self.repeated += later.repeated
        if later.sums is None:
            return
        if self.sums is None:
            # `later` stays as it is: Dask may use the result of a task again.
            self.sums = later.sums.blank()
        try:
            self.sums.merge(later.sums)
        except InputError as error:
            self.repeated += tuple(problem.dialogue or "" for problem in error.problems)


def score_shard(evaluator: Evaluator, sources: Sources, shard: str) -> MergedShards:
    """Return the sums of one shard, or all its errors. Raises `DataError`, `UsageError`.

    It is scored with these sources, whether or not its turns lead to them.
    """
    scored = IncrementalEvaluator(evaluator, sources=sources)
    problems: list[Problem] = []
    with no_garbage_collection():
        for batch in _batches(shard, problems):
            try:
                scored.update(batch, file=shard)
            except InputError as error:
                problems += error.problems
            if len(problems) >= PROBLEMS_OF_A_SHARD:
                break
    return MergedShards(bad={shard: tuple(problems)}) if problems else MergedShards(scored)


def evaluate_shards(
    evaluator: Evaluator,
    shards: Sequence[str],
    *,
    client: Any = None,
    skip_bad: bool = False,
    file: str | None = None,
    progress: bool = False,
) -> Report:
    """Return the report of all shards: that of one file with the same dialogues in this order.

    A Dask `client` scores the shards on its cluster. With `skip_bad`, shards that cannot be scored
    are left out and listed in the report's `meta` (`skipped_shards`). `file` names all shards in
    warnings that are not about a single one. `progress` shows a line on standard error.

    Raises `InputError` with the problems of all bad shards (with `skip_bad`: if all are bad), or if
    a dialogue is in two shards; `UsageError` if sums do not suffice (intervals) or there is no
    metric; `DataError`; `DependencyError`, `MwzevalError` if the cluster fails.
    """
    evaluator.incremental()  # raises errors about the options before anything is read
    sources = _first_sources(evaluator, shards)
    bad: dict[str, tuple[Problem, ...]] = {}
    while True:
        good = [shard for shard in shards if shard not in bad]
        if client is None:
            merged = MergedShards()
            for shard in followed(good, "shards", shown=progress):
                merged.merge(score_shard(evaluator, sources, shard))
        else:
            merged = on_cluster(client, evaluator, sources, good, progress=progress)
        bad |= merged.bad
        if merged.sums is None or (bad and not skip_bad):
            raise InputError(problem for problems in bad.values() for problem in problems)
        if merged.repeated:
            raise InputError(_repeated_in(evaluator, good, merged.repeated))
        # Only the end shows that some turn lacks what the first ones have; it counts for all.
        tried, sources = sources, Sources.of_census(merged.sums.census)
        if sources == tried:
            return _with_skipped(merged.sums.compute(file=file), shards, bad)


def _first_sources(evaluator: Evaluator, shards: Sequence[str]) -> Sources:
    """Return the sources that the first batch that can be read leads to."""
    for shard in shards:
        batch = next(_batches(shard, []), None)
        part = None if batch is None else evaluator.part(batch, Findings(shard))
        if part is not None:
            return Sources.of_census(part.census)
    return Sources(predicted_states=False, predicted_domains=False)


def _repeated_in(
    evaluator: Evaluator, shards: Sequence[str], repeated: Iterable[str]
) -> list[Problem]:
    """Return an error for each repeated dialogue, with its shards, which are read once more."""
    places: dict[str, list[str]] = {name: [] for name in repeated}
    for shard in shards:
        parts = (evaluator.part(batch, Findings(shard)) for batch in _batches(shard, []))
        names = {name for part in parts if part is not None for name in part.dialogues}
        for name in names & places.keys():
            places[name].append(shard)
    message = "the dialogue is in more than one shard: "
    return [
        Problem("repeated-dialogue", message + ", ".join(found), dialogue=name)
        for name, found in places.items()
    ]


def _with_skipped(
    report: Report, shards: Sequence[str], bad: dict[str, tuple[Problem, ...]]
) -> Report:
    """Return the report with a warning and an entry in `meta` for each shard left out."""
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


def on_cluster(
    client: Any,
    evaluator: Evaluator,
    sources: Sources,
    shards: Sequence[str],
    *,
    progress: bool = False,
) -> MergedShards:
    """Return the merged sums of shards, scored by the workers of a Dask cluster.

    Each shard is a task, and so are the sums of eight neighbours. If a worker dies, another one
    does its tasks again; since a task only returns sums, nothing is lost or counted twice.

    Raises `MwzevalError` if a shard fails for another reason than its content, `DependencyError`
    without Dask or if workers lack a library.
    """
    distributed: Any = required("distributed", "distributed", "evaluating on a cluster needs Dask")
    settings = pickle.dumps(evaluator.unloaded())
    run = uuid4().hex
    shard_of = {
        client.submit(_scored, settings, sources, shard, key=f"mwzeval-shard-{run}-{number}"): shard
        for number, shard in enumerate(shards)
    }
    single = list(shard_of)
    groups = [
        client.submit(
            _merged,
            single[first : first + SHARDS_TOGETHER],
            key=f"mwzeval-sum-{run}-{first}",
            # Before the next shards; otherwise the sums of single shards would fill the workers.
            priority=1,
        )
        for first in range(0, len(single), SHARDS_TOGETHER)
    ]
    del single
    order = {group.key: place for place, group in enumerate(groups)}
    total = MergedShards()
    waiting: dict[int, MergedShards] = {}
    added = 0
    tasks = distributed.as_completed([*shard_of, *groups], loop=client.loop)
    with counting(len(shards), "shards", shown=progress) as update:
        for future in tasks:
            shard = shard_of.pop(future, None)
            if future.status != "finished":
                # A sum fails because one of its shards does.
                failed = (name for task, name in shard_of.items() if task.status == "error")
                _fail(future, shard or next(failed, None))
            if shard is not None:
                update(1)
                continue
            waiting[order[future.key]] = future.result()
            future.release()
            while added in waiting:
                total.merge(waiting.pop(added))
                added += 1
    return total


def _scored(settings: bytes, sources: Sources, shard: str) -> MergedShards:
    return score_shard(_loaded(settings), sources, shard)


@lru_cache(maxsize=4)
def _loaded(settings: bytes) -> Evaluator:
    """Return the evaluator of this process, which reads its gold data once for all shards."""
    evaluator = pickle.loads(settings)
    assert isinstance(evaluator, Evaluator)
    return evaluator


def _merged(parts: Sequence[MergedShards]) -> MergedShards:
    total = MergedShards()
    for part in parts:
        total.merge(part)
    return total


def _fail(future: Any, shard: str | None) -> None:
    """Raise the error of a failed task as a `MwzevalError`."""
    try:
        error = future.exception()
    except Exception as cancelled:  # the connection is gone
        error = cancelled
    if isinstance(error, MwzevalError):
        raise error
    where = f"{shard}: " if shard else ""
    name = type(error).__name__
    if name == "KilledWorker":
        raise MwzevalError(
            f"{where}every worker that took it died, perhaps because it ran out of memory: write "
            "one dialogue a line (.jsonl), or smaller shards"
        )
    if isinstance(error, ImportError):
        raise DependencyError(f"{where}the workers lack what this process has: {error}")
    raise MwzevalError(f"{where}scoring failed on the cluster ({name}: {error})")


def _batches(shard: str, problems: list[Problem]) -> Iterator[Any]:
    """Yield the predictions of a shard, some at a time; errors of reading go to `problems`.

    Files with one dialogue a line are never in memory as a whole; other files are one batch.
    """
    try:
        if not (called_lines(shard) or is_line(first_line(shard).decode(errors="replace"))):
            yield parse_json(read_text(shard), shard)
            return
        batch: list[tuple[int, Any]] = []
        for number, text in lines(shard):
            try:
                batch.append((number, parse_json(text, shard, first_line=number)))
            except InputError as error:
                problems += error.problems
            if len(batch) == BATCH:
                yield from _predictions(batch, shard, problems)
                batch = []
            if len(problems) >= PROBLEMS_OF_A_SHARD:
                return
        yield from _predictions(batch, shard, problems)
    except InputError as error:
        problems += error.problems


def _predictions(
    batch: Sequence[tuple[int, Any]], shard: str, problems: list[Problem]
) -> Iterator[Any]:
    if batch:
        try:
            yield predictions_of_lines(batch, shard)
        except InputError as error:
            problems += error.problems
