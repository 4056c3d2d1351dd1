"""Entries of trainings in trackers, each once.

A training that was stopped and goes on tells again what it had told. What is in a tracker is noted
in the folder of the training, before it is written there, so that nothing is written twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.files.json_files import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.output import tell
from mwzeval.pydial.training.entries import TEST, TRAIN, Entry
from mwzeval.report.trackers.series import Place, Series, place_named

ID = "id"
NOTES = "logged.json"
"""Place → the id of the run there, and the last step of each phase."""
Notes = dict[str, dict[str, Any]]


class Recorder:
    """Writes entries of any number of trainings to places (`KIND:PLACE`, see `place_named`).

    A place that fails is left, and told of with `on_failure`, so that training goes on; what it
    lacks is written when the training is called again.

    Raises `UsageError`, `DependencyError`, `InputError` and `MwzevalError` for places that cannot
    be had.
    """

    def __init__(self, places: Sequence[str], on_failure: Callable[[str], None] = tell) -> None:
        self._places: dict[str, Place] = {text: place_named(text) for text in dict.fromkeys(places)}
        self._on_failure = on_failure
        self._trainings: dict[str, _Training] = {}

    def write(self, name: str, folder: Path | None, entry: Entry) -> None:
        """Write an entry of a training; what was written is noted in `folder`, if there is one.

        Raises `InputError` for notes that cannot be read.
        """
        if name not in self._trainings:
            self._trainings[name] = _Training(name, folder)
        training = self._trainings[name]
        for text in list(self._places):
            with self._left(text, "training goes on, and the same call writes what is missing"):
                training.write(text, self._places[text], entry)

    @contextmanager
    def _left(self, text: str, advice: str) -> Iterator[None]:
        """Leave a place that fails: a disk that is full, a server that is away, whatever it is."""
        try:
            yield
        except Exception as error:
            self._places.pop(text, None)
            reason = shorten(str(error), 300) or type(error).__name__
            self._on_failure(f"{text} is not written any more ({reason}); {advice}")

    def finish(self, name: str) -> None:
        """End the runs of a training, of which nothing more comes for now."""
        training = self._trainings.pop(name, None)
        for text, series in () if training is None else training.series.items():
            with self._left(text, "what was written before is there"):
                series.close()

    def close(self) -> None:
        """End all runs."""
        for name in list(self._trainings):
            self.finish(name)


class _Training:
    """One training, and its runs in the places."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name = name
        self._file = None if folder is None else folder / NOTES
        self._notes = {} if self._file is None else _notes_in(self._file)
        self._looked_up: set[str] = set()
        self.series: dict[str, Series] = {}

    def write(self, text: str, place: Place, entry: Entry) -> None:
        """Write an entry to a place unless it is there."""
        note = self._note_of(text, place)
        if entry.step <= note.get(entry.phase, -1):
            return
        if text not in self.series:
            self.series[text] = place.series(self._name, note.get(ID))
        series = self.series[text]
        self._keep(text, {**note, ID: series.id, entry.phase: entry.step})
        try:
            series.log(entry.numbers, entry.step)
        except Exception:
            self._keep(text, note)
            raise

    def _note_of(self, text: str, place: Place) -> dict[str, Any]:
        """Return what is noted of a place; nothing if the run is not there any more."""
        note = self._notes.get(text, {})
        if text not in self._looked_up:
            self._looked_up.add(text)
            if note and not place.has(note[ID]):
                note = self._notes[text] = {}
        return note

    def _keep(self, text: str, note: dict[str, Any]) -> None:
        self._notes[text] = note
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps(self._notes, indent=1) + "\n")


def _notes_in(file: Path) -> Notes:
    """Return what is noted in a file, perhaps nothing. Raises `InputError`."""
    plain = read_json(file) if file.is_file() else {}
    if not isinstance(plain, Mapping) or not all(map(_is_note, plain.values())):
        message = "expected what was written to trackers: remove the file, and all is written again"
        raise InputError([Problem("notes", message, file=str(file))])
    return {text: dict(note) for text, note in plain.items()}


def _is_note(note: Any) -> bool:
    if not isinstance(note, Mapping):
        return False
    return not note or (
        isinstance(note.get(ID), str)
        and all(type(note.get(phase, 0)) is int for phase in (TRAIN, TEST))
    )
