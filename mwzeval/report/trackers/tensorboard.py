"""TensorBoard: scalars, and settings and the report as texts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mwzeval.errors import MwzevalError, UsageError, shorten
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
    step = entries.step or 0
    writer = _writer(directory)
    writer.add_event(_event(entries.numbers, step, _texts(entries)))
    writer.close()


class Folder:
    """A folder in which each run has a folder. Raises `DependencyError` without tensorboard."""

    def __init__(self, place: str) -> None:
        _require()
        self._folder = Path(place).absolute()

    def has(self, known: str) -> bool:
        """Tell whether a folder has files of events."""
        return any(Path(known).glob("*tfevents*"))

    def series(self, name: str, known: str | None = None) -> Events:
        """Return the run with the id `known`, which is there, or a new one.

        Raises `MwzevalError` where it cannot be written.
        """
        if known is None:
            known, number = str(self._folder.joinpath(*name.split("/"))), 1
            while self.has(known):
                number += 1
                known = str(self._folder.joinpath(*f"{name}-{number}".split("/")))
        return Events(known)


class Events:
    """A file of events of one run; its id is the folder."""

    def __init__(self, folder: str) -> None:
        self.id = folder
        try:
            self._writer = _writer(folder)
        except OSError as error:
            place = shorten(folder, 300)
            raise MwzevalError(f"cannot write below {place}: {error.strerror}") from None

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Write numbers of a step in double precision."""
        self._writer.add_event(_event(numbers, step))
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def _require() -> None:
    required("tensorboard", None, "logging to TensorBoard needs tensorboard")


def _writer(directory: str | Path) -> Any:
    _require()
    files = import_module("tensorboard.summary.writer.event_file_writer")
    return files.EventFileWriter(str(directory))


def _event(numbers: Mapping[str, float], step: int, texts_of: Mapping[str, str] = {}) -> Any:
    """Return an event with scalars and texts."""
    events = import_module("tensorboard.compat.proto.event_pb2")
    summaries = import_module("tensorboard.compat.proto.summary_pb2")
    scalars = import_module("tensorboard.plugins.scalar.metadata")
    texts = import_module("tensorboard.plugins.text.metadata")
    tensors = import_module("tensorboard.util.tensor_util")
    summary = summaries.Summary()
    for name, number in numbers.items():
        summary.value.add(
            tag=name,
            tensor=tensors.make_tensor_proto(number, dtype="float64"),
            metadata=scalars.create_summary_metadata(display_name=None, description=None),
        )
    for name, text in texts_of.items():
        summary.value.add(
            tag=name,
            tensor=tensors.make_tensor_proto(text, dtype="string"),
            metadata=texts.create_summary_metadata(display_name=None, description=None),
        )
    return events.Event(wall_time=time.time(), step=step, summary=summary)


def _texts(entries: Entries) -> dict[str, str]:
    """Return Markdown, which is how TensorBoard shows texts."""
    rows = (f"| {name} | `{text}` |" for name, text in entries.settings.items())
    return {
        f"{entries.prefix}/settings": "\n".join(["| setting | value |", "|---|---|", *rows]),
        f"{entries.prefix}/report": f"```json\n{entries.json}```",
    }
