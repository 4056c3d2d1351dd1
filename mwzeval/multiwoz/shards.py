"""Score predictions in many files as one input, in this process or on a Dask cluster.

Each shard is read in batches and scored with an `IncrementalEvaluator`, which stores only sums. The
sums are merged in the order of the shards, so memory does not grow with the number of dialogues. If
the file of a shard is damaged or its worker is killed, no part of the shard is counted.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import uuid4

from mwzeval.errors import SHOWN_PROBLEMS, DependencyError, InputError, MwzevalError, Problem
from mwzeval.files.reading import first_line, lines, parse_json, read_text
from mwzeval.libraries import no_garbage_collection
from mwzeval.multiwoz.evaluator import Evaluator, IncrementalEvaluator
from mwzeval.multiwoz.predictions import (
    called_lines,
    is_line,
    predictions_of_lines,
)
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.output import counting, followed
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report

BATCH = 256
"""Maximum number of dialogues in memory, for files with one dialogue per line."""
PROBLEMS_OF_A_SHARD = 5 * SHOWN_PROBLEMS
"""Maximum number of errors in a shard, after which reading stops."""
SHARDS_TOGETHER = 8
"""Number of consecutive shards whose sums are merged on the cluster before they are fetched."""


@dataclass(slots=True)
class MergedShards:
    """The sums of consecutive shards, the errors of each invalid shard, and repeated dialogues.

    `sums` is None if no shard can be scored.
    """

    sums: IncrementalEvaluator | None = None
    bad: dict[str, list[Problem]] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[MergedShards]) -> MergedShards:
        """Merge consecutive parts; they are not modified, because Dask may use them again."""
        total = cls()
        for part in parts:
            total.bad |= part.bad
            total.repeated += part.repeated
            if part.sums is not None:
                total.sums = total.sums or part.sums.blank()
                try:
                    total.sums.merge(part.sums)
                except InputError as error:
                    total.repeated += tuple(problem.dialogue or "" for problem in error.problems)
        return total


def score_shard(evaluator: Evaluator, sources: Sources, shard: str) -> MergedShards:
    """Return the sums of one shard, or all its errors. Raises `DataError` or `UsageError`.

    The shard is scored with these `sources`, even if other sources would fit its own turns.
    """
    scored, findings = IncrementalEvaluator(evaluator, sources=sources), Findings(shard)
    with no_garbage_collection():
        for batch in _batches(shard, findings):
            with findings.collecting():
                scored.update(batch, file=shard)
    return MergedShards(bad={shard: findings.errors}) if findings.errors else MergedShards(scored)


def evaluate_shards(
    evaluator: Evaluator,
    shards: Sequence[str],
    *,
    client: Any = None,
    skip_bad: bool = False,
    file: str | None = None,
    progress: bool = False,
) -> Report:
    """Return the report of all shards, which is the same as for a single file with all dialogues.

    A Dask `client` scores the shards on its cluster. With `skip_bad`, invalid shards are omitted
    and listed in the report's `meta` (`skipped_shards`). `file` names the input in warnings that do
    not concern a single shard. `progress` shows a progress line on standard error.

    Raises `InputError` with the problems of all invalid shards (with `skip_bad`, only if all are
    invalid), or if two shards have the same dialogue. Raises `UsageError` for confidence intervals
    (which need more than sums) or without a metric. Raises `DataError` without gold data, and
    `DependencyError` or `MwzevalError` if the cluster fails.
    """
    evaluator.incremental()  # errors in the options are raised before anything is read
    # The first readable batch determines the sources.
    first = (part for shard in shards for part in islice(_parts(evaluator, shard), 1))
    sources = next((part.sources for part in first), Sources(False, False))
    bad: dict[str, list[Problem]] = {}
    while True:
        good = [shard for shard in shards if shard not in bad]
        if client is None:
            followed_shards = followed(good, "shards", shown=progress)
            merged = MergedShards.of(score_shard(evaluator, sources, s) for s in followed_shards)
        else:
            merged = on_cluster(client, evaluator, sources, good, progress=progress)
        bad |= merged.bad
        if merged.sums is None or (bad and not skip_bad):
            raise InputError(problem for problems in bad.values() for problem in problems)
        if merged.repeated:
            raise InputError(_repeated_in(evaluator, good, merged.repeated))
        # Unlike the first batch, a later turn has no states or domains: score all shards again.
        tried = sources
        sources = Sources.of_census(merged.sums.census, evaluator.responses)
        if sources == tried:
            return merged.sums.compute(file=file).with_skipped(bad, shards)


def _parts(evaluator: Evaluator, shard: str) -> Iterator[ScoredPredictions]:
    """Yield the readable parts of a shard."""
    parts = (evaluator.part(batch, Findings(shard)) for batch in _batches(shard, Findings()))
    return (part for part in parts if part is not None)


def _repeated_in(
    evaluator: Evaluator, shards: Sequence[str], repeated: Iterable[str]
) -> list[Problem]:
    """Return an error for each repeated dialogue, with its shards, which are read again."""
    places: dict[str, list[str]] = {name: [] for name in repeated}
    for shard in shards:
        names = {name for part in _parts(evaluator, shard) for name in part.dialogues}
        for name in names & places.keys():
            places[name].append(shard)
    message = "the dialogue is in more than one shard: "
    return [
        Problem("repeated-dialogue", message + ", ".join(found), dialogue=name)
        for name, found in places.items()
    ]


def on_cluster(
    client: Any,
    evaluator: Evaluator,
    sources: Sources,
    shards: Sequence[str],
    *,
    progress: bool = False,
) -> MergedShards:
    """Return the merged sums of shards, scored by the workers of a Dask cluster.

    Each shard is a task, and each merge of eight consecutive shards is a task. If a worker dies,
    another worker repeats its tasks; a task only returns sums, so no dialogue is counted twice.
    """
    settings = pickle.dumps(evaluator.unloaded())
    run = uuid4().hex
    sums = []
    for first in range(0, len(shards), SHARDS_TOGETHER):
        parts = [
            client.submit(_scored, settings, sources, shard, key=f"mwzeval-shard-{run}-{number}")
            for number, shard in enumerate(shards[first : first + SHARDS_TOGETHER], start=first)
        ]
        # Merging has priority. Otherwise, the sums of single shards would fill the workers' memory.
        key = f"mwzeval-sum-{run}-{first}"
        sums.append(client.submit(MergedShards.of, parts, key=key, priority=1))
    del parts
    sums.reverse()
    with counting(len(shards), "shards", shown=progress) as update:

        def results() -> Iterator[MergedShards]:
            for first in range(0, len(shards), SHARDS_TOGETHER):
                try:
                    yield sums.pop().result()
                except MwzevalError:
                    raise
                except Exception as error:
                    kind = type(error).__name__
                    message = f"scoring failed on the cluster ({kind}: {error})"
                    if kind == "KilledWorker":
                        shard = shards[int(str(error.args[0]).rpartition("-")[2])]
                        message = (
                            f"{shard}: every worker that read this file died, perhaps for lack "
                            "of memory: write one dialogue per line (.jsonl), or smaller shards"
                        )
                    raise MwzevalError(message) from error
                update(len(shards[first : first + SHARDS_TOGETHER]))

        return MergedShards.of(results())


def _scored(settings: bytes, sources: Sources, shard: str) -> MergedShards:
    try:
        return score_shard(_loaded(settings), sources, shard)
    except ImportError as error:
        message = f"{shard}: the workers lack a module or file of this process: {error}"
        raise DependencyError(message) from error


@lru_cache(maxsize=4)
def _loaded(settings: bytes) -> Evaluator:
    """Return the evaluator of this process, which reads its gold data only once."""
    evaluator = pickle.loads(settings)
    assert isinstance(evaluator, Evaluator)
    return evaluator


def _batches(shard: str, findings: Findings) -> Iterator[Any]:
    """Yield the predictions of a shard in batches; errors of reading are added to `findings`.

    Files with one dialogue per line are read in parts; any other file is a single batch.
    """
    with findings.collecting():
        if not (called_lines(shard) or is_line(first_line(shard).decode(errors="replace"))):
            yield parse_json(read_text(shard), shard)
            return
        numbered = iter(lines(shard))
        while texts := list(islice(numbered, BATCH)):
            batch = []
            for number, text in texts:
                with findings.collecting():
                    batch.append((number, parse_json(text, shard, first_line=number)))
            with findings.collecting():
                if batch:
                    yield predictions_of_lines(batch, shard)
            if len(findings.errors) >= PROBLEMS_OF_A_SHARD:
                return
