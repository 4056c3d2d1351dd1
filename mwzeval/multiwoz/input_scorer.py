"""Files of MultiWOZ scored for the verbs: predictions, or dialogues that were held live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import recognised
from mwzeval.conversation.files import is_live, live_text
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.json_files import beginning_value, decoded
from mwzeval.files.reading import expand, first_line, read_bytes
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.choices import AUTO, LIVE
from mwzeval.multiwoz.file_scorer import PredictionsScorer

if TYPE_CHECKING:
    from mwzeval.benchmark import ScoredFile
    from mwzeval.multiwoz.live.scored.file_scorer import LiveScorer
    from mwzeval.scores.report import Report


@dataclass(frozen=True)
class InputScorer:
    """Scores a file as what it is, or as what `input_format` says that it is.

    `settings` are those of `live.scored.reading.Settings` by name, `of_live` what else the
    `LiveScorer` is told.
    """

    predictions: PredictionsScorer
    settings: Mapping[str, Any]
    of_live: Mapping[str, Any]
    input_format: str

    @cached_property
    def live(self) -> LiveScorer:
        """What scores live dialogues; its modules take a tenth of a second to import."""
        from mwzeval.multiwoz.live.scored.file_scorer import LiveScorer
        from mwzeval.multiwoz.live.scored.reading import Settings

        return LiveScorer(Settings.of(**self.settings), **self.of_live)

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a file scored. Raises `InputError`, `DataError`, `UsageError`."""
        raw = read_bytes(file)
        if self._is_live(raw):
            return self.live.score(live_text(raw, file), file, progress=progress)
        if option := self._option_of_live:
            raise UsageError(f"{option} is about live dialogues, and {file} is of predictions")
        return self.predictions.score(decoded(raw, file), file, progress=progress)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file. Raises `InputError` for one that cannot be read."""
        raw = read_bytes(file)
        if self._is_live(raw):
            return self.live.validate(live_text(raw, file), file)
        return self.predictions.validate(decoded(raw, file), file)

    def score_shards(
        self,
        files: Sequence[str],
        *,
        dask: str | None = None,
        workers: int | None = None,
        skip_bad: bool = False,
        progress: bool = False,
    ) -> Report:
        """Return the report of predictions in many files, patterns among them, as one input.

        `dask` is the address of a Dask scheduler, or `local` for a cluster of `workers` processes.
        Raises as `evaluate_shards` and `cluster`, and `UsageError` for live dialogues
        and files of other benchmarks.
        """
        from mwzeval.multiwoz.shards import evaluate_shards

        shards = expand(files)
        with suppress(InputError):  # of a bad shard, which is listed later
            if self._is_live(first_line(shards[0])):
                raise UsageError(
                    f"{shards[0]} is of live dialogues, and shards are for predictions: join the "
                    "files of a run (`cat part-*.jsonl > run.jsonl`), and evaluate that file"
                )
            if other := recognised(beginning_value(shards[0]), but=NAME):
                raise UsageError(
                    f"{shards[0]} is of {other.title}, and shards are for predictions of {TITLE}: "
                    "put the dialogues or examples into one file, and evaluate that file"
                )
        evaluate = partial(
            evaluate_shards,
            *(self.predictions.evaluator_of_shards(), shards),
            skip_bad=skip_bad,
            file=" ".join(PurePath(file).name for file in files),
            progress=progress,
        )
        if dask is None:
            return evaluate()
        from mwzeval.cluster import cluster

        with cluster(dask, workers) as client:
            return evaluate(client=client)

    @property
    def _option_of_live(self) -> str | None:
        """An option that was given and is about live dialogues alone; None without one."""
        if self.of_live.get("prices") is not None:
            return "--prices"
        return "--exclude-user-faults" if self.of_live.get("exclude_user_faults") else None

    def _is_live(self, raw: bytes) -> bool:
        return self.input_format == LIVE or (self.input_format == AUTO and is_live(raw))
