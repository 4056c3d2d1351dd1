"""Score MultiWOZ files (predictions or live dialogues) for the commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import FileScorer
from mwzeval.conversation.trajectory import is_live, live_text
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.reading import decoded, first_line, read_bytes
from mwzeval.libraries import no_garbage_collection
from mwzeval.multiwoz import AUTO, HEADLINE, LIVE, WITHOUT_FAULTS
from mwzeval.multiwoz.census import Wording
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.formats import adapt
from mwzeval.multiwoz.predictions import predictions_of_text
from mwzeval.multiwoz.reasons import kinds
from mwzeval.scores.findings import Findings

if TYPE_CHECKING:
    from mwzeval.benchmark import ScoredFile
    from mwzeval.multiwoz.live.report import LiveScorer
    from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

OF_LIVE = ("corpus", "fold", "rules", "data", "tools")
"""Arguments of an `Evaluator` that also apply to live dialogues."""


@dataclass(frozen=True, eq=False)
class MultiWozScorer(FileScorer):
    """Scores a file in the format `input_format`, or in the format that its content shows.

    `arguments` are passed to the constructor of `Evaluator`. Predictions are scored by the
    requested `metrics`; by default, these are all metrics in `allowed` for which the predictions
    have the data. `live_options` are options of a `LiveScorer`.
    """

    arguments: Mapping[str, Any]
    metrics: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    need_states: bool = False
    live_options: Mapping[str, Any] = field(default_factory=dict)
    _evaluators: dict[tuple[str, ...], Evaluator] = field(default_factory=dict)

    @cached_property
    def live(self) -> LiveScorer:
        """The scorer of live dialogues; importing its modules takes 0.1 seconds."""
        from mwzeval.multiwoz.live.report import LiveScorer

        settings = {name: self.arguments[name] for name in OF_LIVE if name in self.arguments}
        return LiveScorer(**settings, **self.live_options)

    @property
    def compared(self) -> tuple[Collection[str], Sequence[str]]:
        """The scope to compare, if any (dialogues without user faults), and the headline scores."""
        from mwzeval.multiwoz.live.report import HEADLINE as LIVE_HEADLINE

        scopes = (WITHOUT_FAULTS,) if self.live_options.get("exclude_user_faults") else ()
        is_chosen = self.metrics or self.arguments["dst_rules"]
        return scopes, () if is_chosen else (*HEADLINE, *LIVE_HEADLINE)

    @property
    def reasons(self) -> Mapping[str, str]:
        """The meaning of each failure reason in explanations."""
        return {name: kind.meaning for name, kind in kinds().items()}

    def document(self, report: Report) -> Document | None:
        """Return the short tables of a live run, or None for predictions."""
        if report.meta["fold"] != LIVE:
            return None
        from mwzeval.multiwoz.live.report import live_document

        return live_document(report, details="grounded" in self.metrics)

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return the scores of a file. Raises `InputError`, `DataError` or `UsageError`."""
        raw = read_bytes(file)
        if self.is_live(raw):
            return self.live.score(live_text(raw, file), file, progress=progress)
        for name in ("prices", "exclude_user_faults"):
            if self.live_options.get(name):
                option = name.replace("_", "-")
                raise UsageError(
                    f"--{option} only applies to live dialogues, but {file} contains predictions"
                )
        return self._score_predictions(decoded(raw, file), file, progress=progress)

    def score_shards(
        self,
        files: Sequence[str],
        *,
        name: str,
        client: Any = None,
        skip_bad: bool = False,
        progress: bool = False,
    ) -> Report:
        """Return the report of predictions that are divided among files.

        Raises the errors of `evaluate_shards`, and `UsageError` for live dialogues.
        """
        from mwzeval.multiwoz.shards import evaluate_shards

        with suppress(InputError):  # `evaluate_shards` lists the errors of a bad file
            if self.is_live(first_line(files[0])):
                raise UsageError(
                    f"{files[0]} contains live dialogues, but shards must contain predictions: "
                    "join the files of a run (`cat part-*.jsonl > run.jsonl`), and evaluate that "
                    "file"
                )
        # The data that a metric needs may be missing in the last turns of the last file.
        metrics = self.metrics or tuple(name for name in self.allowed if name != "grounded")
        return evaluate_shards(
            self.evaluator(*metrics),
            files,
            client=client,
            skip_bad=skip_bad,
            file=name,
            progress=progress,
        )

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file. Raises `InputError` if the file cannot be read."""
        raw = read_bytes(file)
        if self.is_live(raw):
            return self.live.validate(live_text(raw, file), file)
        predictions = predictions_of_text(decoded(raw, file), file)
        return self.evaluator(*self.metrics).validate(predictions, file=file)

    def evaluator(self, *metrics: str) -> Evaluator:
        """Return an evaluator for these metrics."""
        if metrics not in self._evaluators:
            asked: dict[str, Any] = dict.fromkeys(metrics, True)
            self._evaluators[metrics] = Evaluator(**asked, **self.arguments)
        return self._evaluators[metrics]

    def _score_predictions(self, text: str, file: str, *, progress: bool) -> ScoredPredictions:
        metrics = self.metrics
        with no_garbage_collection():
            predictions = predictions_of_text(text, file)
            if self.allowed:
                tools, input_format = self.arguments["tools"], self.arguments["input_format"]
                adapted = adapt(predictions, input_format, Findings(), tools)
                metrics = tuple(m for m in _possible_metrics(adapted) if m in self.allowed)
            scored = self.evaluator(*metrics).score(predictions, file=file, progress=progress)
        if self.need_states and not scored.rows.sources.predicted_states:
            raise UsageError(
                f"state tracking needs a state in every turn, but {file} lacks some: leave out "
                "this file or --dst"
            )
        return scored

    def is_live(self, raw: bytes) -> bool:
        """Return whether a file with this content, or first line, is read as live dialogues."""
        input_format = self.arguments.get("input_format", AUTO)
        return input_format == LIVE or (input_format == AUTO and is_live(raw))

    def __getstate__(self) -> dict[str, Any]:
        """Omit the evaluators, because another process reads the gold data itself."""
        return {**self.__dict__, "_evaluators": {}}


def _possible_metrics(predictions: Any) -> tuple[str, ...]:
    """Return the metrics that the content of predictions allows.

    Without responses and states, the metrics of responses are returned; scoring them then raises
    the error.
    """
    dialogues = predictions.values() if isinstance(predictions, Mapping) else ()
    lists = (turns for turns in dialogues if isinstance(turns, list))
    turns = [turn for listed in lists for turn in listed if isinstance(turn, Mapping)]
    keys = {key for turn in turns for key in turn}
    responses = [str(turn.get("response", "")) for turn in turns]
    metrics: tuple[str, ...] = ("dst",) if "state" in keys else ()
    if "response" in keys or not metrics:
        metrics = ("bleu", "success", "richness", *metrics)
    if "response" in keys and Wording.of(responses).lexicalized:
        metrics += ("grounded",)
    return metrics
