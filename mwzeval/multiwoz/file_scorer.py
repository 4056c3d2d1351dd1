"""Predictions scored for the verbs, with the metrics that are asked for or allowed.

Shards of one input are read in batches and kept as sums, so that memory does not grow.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from mwzeval.errors import SHOWN_PROBLEMS, InputError, Problem, UsageError
from mwzeval.files.json_files import parse_json, read_text
from mwzeval.files.streams import first_line, lines
from mwzeval.metrics.measure import no_garbage_collection
from mwzeval.multiwoz.evaluator import Evaluator, IncrementalEvaluator
from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.reading import (
    Findings,
    called_lines,
    is_line,
    predictions_of_lines,
    predictions_of_text,
)
from mwzeval.multiwoz.predictions.wording import Wording
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.scores.report import Report

BATCH = 256
"""Dialogues in memory at a time, of files with one dialogue a line."""

PROBLEMS_OF_A_SHARD = 5 * SHOWN_PROBLEMS
"""After so many errors the rest of a shard is not looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionShards:
    """Scores shards under one choice of sources, whether their turns lead to it or not.

    Another process reads the gold data that the evaluator needs itself, and once, whatever the
    choice. Made by `shards_of`.
    """

    evaluator: Evaluator
    sources: Sources

    def part(self, shard: str) -> IncrementalEvaluator:
        """Return the sums of one shard. Raises `InputError` with all its problems, `DataError`."""
        scored = IncrementalEvaluator(self.evaluator, partial(_fixed, self.sources))
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
            raise InputError(problems)
        return scored

    def units(self, shard: str) -> Collection[str]:
        """Return the ids of the dialogues in a shard."""
        parts = (self.evaluator.part(batch, Findings(shard)) for batch in batches(shard, []))
        return {name for part in parts if part is not None for name in part.dialogues}

    def decided(self, part: IncrementalEvaluator) -> PredictionShards:
        """Return what scores all shards by the sources that their turns lead to.

        That some turns lack what the first ones have is known only in the end, and counts for all.
        """
        sources = Sources.of_census(part.census)
        return self if sources == self.sources else replace(self, sources=sources)

    def report(self, part: IncrementalEvaluator, file: str | None) -> Report:
        """Return the report of all shards; its table is one row of sums."""
        return part.compute(file=file)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (pickle.dumps(self.evaluator.unloaded()), self.sources)


def _received(evaluator: bytes, sources: Sources) -> PredictionShards:
    return PredictionShards(_loaded(evaluator), sources)


@lru_cache(maxsize=4)
def _loaded(settings: bytes) -> Evaluator:
    """Return the evaluator of this process, which reads its gold data once for all shards."""
    evaluator = pickle.loads(settings)
    assert isinstance(evaluator, Evaluator)
    return evaluator


def _fixed(sources: Sources, census: Census) -> tuple[Sources, ...]:
    return (sources,)


def shards_of(evaluator: Evaluator, shards: Sequence[str]) -> PredictionShards:
    """Return what scores shards, by the sources that the first readable batch leads to.

    Raises `UsageError` where sums do not do (intervals), and without any metric.
    """
    evaluator.incremental()  # refuses it before anything is read
    for shard in shards:
        batch = next(batches(shard, []), None)
        part = None if batch is None else evaluator.part(batch, Findings(shard))
        if part is not None:
            return PredictionShards(evaluator, Sources.of_census(part.census))
    return PredictionShards(evaluator, Sources(predicted_states=False, predicted_domains=False))


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


@dataclass(frozen=True, eq=False)
class PredictionsScorer:
    """Scores predictions; each evaluator is made once.

    `metrics` are those asked for; of those in `allowed` a file gets what it allows.
    """

    arguments: Mapping[str, Any]
    metrics: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    need_states: bool = False
    _evaluators: dict[tuple[str, ...], Evaluator] = field(default_factory=dict)

    def score(self, text: str, file: str, *, progress: bool = False) -> ScoredPredictions:
        """Return the text of a file scored. Raises `InputError`, `DataError`, `UsageError`."""
        with no_garbage_collection():
            predictions = predictions_of_text(text, file)
            evaluator = self._evaluator_for(predictions)
            scored = evaluator.score(predictions, file=file, progress=progress)
        if self.need_states and not scored.dialogues.sources.predicted_states:
            raise UsageError(
                f"state tracking needs a state in every turn; not so in {file}: leave it out, or "
                "leave out --dst"
            )
        return scored

    def validate(self, text: str, file: str) -> list[Problem]:
        """Return every problem of the text of a file."""
        predictions = predictions_of_text(text, file)
        return self.evaluator(*self.metrics).validate(predictions, file=file)

    def of_shards(self, shards: Sequence[str]) -> PredictionShards:
        """Return what scores shards by the metrics that are asked for. Raises `UsageError`.

        By default by those of responses and states: what shards allow is known at their end.
        """
        asked = self.metrics or self.arguments["dst_rules"]
        metrics = self.metrics if asked else tuple(m for m in self.allowed if m != "grounded")
        return shards_of(self.evaluator(*metrics), shards)

    def evaluator(self, *metrics: str) -> Evaluator:
        """Return what scores predictions by these metrics."""
        if metrics not in self._evaluators:
            asked: dict[str, Any] = dict.fromkeys(metrics, True)
            self._evaluators[metrics] = Evaluator(**asked, **self.arguments)
        return self._evaluators[metrics]

    def _evaluator_for(self, predictions: Any) -> Evaluator:
        if not self.allowed:
            return self.evaluator(*self.metrics)
        adapted = adapt(
            predictions, self.arguments["input_format"], Findings(), self.arguments["tools"]
        )
        return self.evaluator(*(m for m in _possible(adapted) if m in self.allowed))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the evaluators behind: another process reads the gold data itself."""
        return {**self.__dict__, "_evaluators": {}}


def _possible(predictions: Any) -> tuple[str, ...]:
    """Return the metrics that predictions allow: of responses, states, responses in words.

    Those of responses when there is neither, whose absence is an error then.
    """
    keys: set[str] = set()
    said: list[str] = []
    for turn in _turns(predictions):
        keys.update(turn)
        said.append(str(turn.get("response", "")))
    wording = Wording.of(said)
    responses = ("bleu", "success", "richness")
    states = ("dst",) if "state" in keys else ()
    words = ("grounded",) if "response" in keys and wording.lexicalized else ()
    return (*(responses if "response" in keys or not states else ()), *states, *words)


def _turns(predictions: Any) -> Iterator[Mapping[str, Any]]:
    for turns in predictions.values() if isinstance(predictions, Mapping) else ():
        if isinstance(turns, list):
            yield from (turn for turn in turns if isinstance(turn, Mapping))
