"""TensorBoard: scalars, and settings and the report as texts."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries


def write(entries: Entries, run: Any) -> None:
    """Log with a `SummaryWriter` (of torch, tensorboardX or `tensorboard.summary`).

    Writers keep single precision. One without `add_text` gets no texts. Raises `UsageError` where
    there is no writer: TensorBoard knows no active run.
    """
    if run is None:
        raise UsageError(
            "tensorboard has no active run: give run=, a SummaryWriter, or directory=, a folder "
            "for a file of its own"
        )
    step = entries.step or 0
    for name, number in entries.numbers.items():
        run.add_scalar(name, number, step)
    if hasattr(run, "add_text"):
        for name, text in _texts(entries).items():
            run.add_text(name, text, step)
    run.flush()


def write_file(entries: Entries, directory: str | Path) -> None:
    """Log to a new file of events in a folder, in double precision."""
    required("tensorboard", None, "logging to TensorBoard needs tensorboard")
    files = import_module("tensorboard.summary.writer.event_file_writer")
    events = import_module("tensorboard.compat.proto.event_pb2")
    summaries = import_module("tensorboard.compat.proto.summary_pb2")
    scalars = import_module("tensorboard.plugins.scalar.metadata")
    texts = import_module("tensorboard.plugins.text.metadata")
    tensors = import_module("tensorboard.util.tensor_util")
    summary = summaries.Summary()
    for name, number in entries.numbers.items():
        summary.value.add(
            tag=name,
            tensor=tensors.make_tensor_proto(number, dtype="float64"),
            metadata=scalars.create_summary_metadata(display_name=None, description=None),
        )
    for name, text in _texts(entries).items():
        summary.value.add(
            tag=name,
            tensor=tensors.make_tensor_proto(text, dtype="string"),
            metadata=texts.create_summary_metadata(display_name=None, description=None),
        )
    writer = files.EventFileWriter(str(directory))
    writer.add_event(events.Event(wall_time=time.time(), step=entries.step or 0, summary=summary))
    writer.close()


def _texts(entries: Entries) -> dict[str, str]:
    """Return Markdown, which is how TensorBoard shows texts."""
    rows = (f"| {name} | `{text}` |" for name, text in entries.settings.items())
    return {
        f"{entries.prefix}/settings": "\n".join(["| setting | value |", "|---|---|", *rows]),
        f"{entries.prefix}/report": f"```json\n{entries.json}```",
    }
