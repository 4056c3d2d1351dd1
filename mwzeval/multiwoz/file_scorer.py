"""Predictions scored for the verbs, with the metrics that are asked for or allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import Problem, UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.predictions.reading import Findings, predictions_of_text
from mwzeval.multiwoz.predictions.wording import Wording
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions


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

    def evaluator_of_shards(self) -> Evaluator:
        """Return the evaluator of shards, by default with the metrics of responses and states.

        Which metrics the shards allow would only be known at their end.
        """
        asked = self.metrics or self.arguments["dst_rules"]
        metrics = self.metrics if asked else tuple(m for m in self.allowed if m != "grounded")
        return self.evaluator(*metrics)

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
