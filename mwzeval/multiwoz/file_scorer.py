"""Predictions files scored for the verbs, with the metrics that are asked for or allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import Problem, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.predictions.reading import Findings, read_predictions
from mwzeval.multiwoz.predictions.wording import Wording
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
from mwzeval.multiwoz.shards import PredictionShards, shards_of


@dataclass(frozen=True, eq=False)
class PredictionsScorer:
    """Scores predictions files; each evaluator is made once.

    `metrics` are those asked for; of those in `allowed` a file gets what it allows.
    """

    arguments: Mapping[str, Any]
    metrics: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    need_states: bool = False
    _evaluators: dict[tuple[str, ...], Evaluator] = field(default_factory=dict)

    def score(self, file: str, *, progress: bool = False) -> ScoredPredictions:
        """Return predictions scored. Raises `InputError`, `DataError`, `UsageError`."""
        predictions = read_predictions(file)
        evaluator = self._evaluator_for(predictions)
        scored = evaluator.score(predictions, file=file, progress=progress)
        if self.need_states and not scored.dialogues.sources.predicted_states:
            raise UsageError(
                f"state tracking needs a state in every turn; not so in {file}: leave it out, or "
                "leave out --dst"
            )
        return scored

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of predictions."""
        return self.evaluator(*self.metrics).validate(read_predictions(file), file=file)

    def of_shards(self, shards: Sequence[str]) -> PredictionShards:
        """Return what scores shards by the metrics that are asked for. Raises `UsageError`."""
        return shards_of(self.evaluator(*self.metrics), shards)

    def evaluator(self, *metrics: str) -> Evaluator:
        """Return what scores predictions by these metrics."""
        if metrics not in self._evaluators:
            asked: dict[str, Any] = dict.fromkeys(metrics, True)
            self._evaluators[metrics] = Evaluator(**asked, **self.arguments)
        return self._evaluators[metrics]

    def _evaluator_for(self, predictions: Any) -> Evaluator:
        if not self.allowed:
            return self.evaluator(*self.metrics)
        adapted = adapt(predictions, self.arguments["input_format"], Findings())
        return self.evaluator(*(m for m in _possible(adapted) if m in self.allowed))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the evaluators behind: another process reads the gold data itself."""
        return {**self.__dict__, "_evaluators": {}}


def _possible(predictions: Any) -> tuple[str, ...]:
    """Return the metrics that predictions allow: of responses, states, responses in words.

    Those of responses when there is neither, whose absence is an error then.
    """
    keys: set[str] = set()
    wording = Wording()
    for turn in _turns(predictions):
        keys.update(turn)
        wording.add(str(turn.get("response", "")))
    responses = ("bleu", "success", "richness")
    states = ("dst",) if "state" in keys else ()
    words = ("grounded",) if "response" in keys and wording.lexicalized else ()
    return (*(responses if "response" in keys or not states else ()), *states, *words)


def _turns(predictions: Any) -> Iterator[Mapping[str, Any]]:
    for turns in predictions.values() if isinstance(predictions, Mapping) else ():
        if isinstance(turns, list):
            yield from (turn for turn in turns if isinstance(turn, Mapping))
