"""Files of MultiWOZ scored for the verbs: predictions, or dialogues that were held live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mwzeval.conversation.files import is_live, live_text
from mwzeval.errors import Problem, UsageError
from mwzeval.files.json_files import decoded
from mwzeval.files.reading import read_bytes
from mwzeval.files.streams import first_line
from mwzeval.multiwoz.choices import AUTO, LIVE
from mwzeval.multiwoz.file_scorer import PredictionsScorer

if TYPE_CHECKING:
    from mwzeval.benchmark import ScoredFile
    from mwzeval.cluster.shards import ShardScorer
    from mwzeval.multiwoz.live.scored.file_scorer import LiveScorer


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

    def of_shards(self, shards: Sequence[str]) -> ShardScorer:
        """Return what scores files that are parts of one, as what the first of them is."""
        if self._is_live(first_line(shards[0])):
            return self.live.of_shards()
        return self.predictions.of_shards(shards)

    @property
    def _option_of_live(self) -> str | None:
        """An option that was given and is about live dialogues alone; None without one."""
        if self.of_live.get("prices") is not None:
            return "--prices"
        return "--exclude-user-faults" if self.of_live.get("exclude_user_faults") else None

    def _is_live(self, raw: bytes) -> bool:
        return self.input_format == LIVE or (self.input_format == AUTO and is_live(raw))
