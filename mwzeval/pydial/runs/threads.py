"""One thread for each job."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from mwzeval.libraries import required
from mwzeval.pydial.policies.presets import Preset


@contextmanager
def single_threaded(preset: Preset | None) -> Iterator[None]:
    """Let a policy compute in one thread: sums over several differ in their last bits.

    Raises `DependencyError` for a neural policy without PyTorch.
    """
    if preset is not None and preset.learns and preset.view != "kernel":
        # Now, since PyTorch that comes later would compute in as many as it likes.
        required("torch")
    torch: Any = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    with threadpool_limits(limits=1):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)
