"""How many dialogues a job has played, told from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable

REPORT_SECONDS = 0.5

OnProgress = Callable[[int], None]


class ProgressReport:
    """Adds up dialogues before they are reported, so that little is sent between processes."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress, self._waiting, self._last = on_progress, 0, time.monotonic()

    def __call__(self, dialogues: int) -> None:
        """Add dialogues that were played."""
        self._waiting += dialogues
        if time.monotonic() - self._last > REPORT_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Report what was added."""
        if self._on_progress is not None and self._waiting:
            self._on_progress(self._waiting)
        self._waiting, self._last = 0, time.monotonic()
