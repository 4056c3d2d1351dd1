"""CPU seconds of a job's training and tests, noted in its folder, without those of compiling.

They are in a file of their own, because all others are the same bytes whenever they are made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically

TIMES = "times.json"


@dataclass(frozen=True, slots=True)
class JobTimes:
    """CPU seconds by number of training dialogues.

    `training` holds those of all training up to there, `tests` those of the test there. `so_far`
    are those of the training that is saved, None where part of it was not timed.
    """

    training: Mapping[int, float] = field(default_factory=dict)
    tests: Mapping[int, float] = field(default_factory=dict)
    so_far: float | None = None


def read_times(folder: Path) -> JobTimes:
    """Return what is noted in the folder of a job, perhaps nothing. Raises `InputError`."""
    file = folder / TIMES
    if not file.is_file():
        return JobTimes()
    plain = read_json(file)
    try:
        so_far = None if plain["so_far"] is None else _seconds(plain["so_far"])
        return JobTimes(_by_dialogues(plain["training"]), _by_dialogues(plain["tests"]), so_far)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        message = "these are no CPU seconds of a job; it does without the file"
        raise InputError([Problem("times", message, file=str(file))]) from None


def _by_dialogues(plain: Any) -> dict[int, float]:
    return {int(dialogues): _seconds(value) for dialogues, value in plain.items()}


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not seconds >= 0:
        raise ValueError(value)
    return seconds


class JobClock:
    """Takes the CPU time of this thread between one note and the next, and writes it down."""

    def __init__(self, folder: Path, *, done: int = 0) -> None:
        """`done` is the number of training dialogues that an earlier process has saved.

        Raises `InputError` for a damaged file of times.
        """
        self._folder = folder
        noted = read_times(folder)
        self._training, self._tests = dict(noted.training), dict(noted.tests)
        self._so_far = noted.so_far if done else 0.0
        self._since = time.thread_time()

    def trained(self, dialogues: int, *, checkpoint: bool) -> None:
        """Note what came before as training, saved after `dialogues`; at a `checkpoint` it stays.

        Raises `MwzevalError` where the file cannot be written.
        """
        seconds = self._lap()
        if self._so_far is None:
            return
        self._so_far += seconds
        if checkpoint:
            self._training[dialogues] = self._so_far
        self._write()

    def tested(self, dialogues: int) -> None:
        """Note what came before as the test after `dialogues` of training.

        Raises `MwzevalError` where the file cannot be written.
        """
        self._tests[dialogues] = self._lap()
        self._write()

    def _lap(self) -> float:
        before, self._since = self._since, time.thread_time()
        return self._since - before

    def _write(self) -> None:
        plain = {
            "training": {str(at): round(s, 3) for at, s in sorted(self._training.items())},
            "tests": {str(at): round(s, 3) for at, s in sorted(self._tests.items())},
            "so_far": self._so_far,
        }
        write_atomically(self._folder / TIMES, json.dumps(plain) + "\n")
