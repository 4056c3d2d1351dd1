"""Training that has been told of before is told of again, from the files of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mwzeval.pydial.training.entries import Outcome, Watch

Read = Callable[[Path], Sequence[Outcome]]


def retell(
    watch: Watch | None,
    training: Path | Sequence[Outcome] | None,
    tests: Iterable[tuple[int, Path]],
    read: Read,
) -> None:
    """Tell of training dialogues and of the tests that are there, in the order of training.

    `training` are the dialogues, or the file that has them, and None where they are those of a data
    set, of which nothing is told; `tests` are numbers of training dialogues and files, and `read`
    returns what is in a file. Raises what that raises.
    """
    if watch is None:
        return
    if training is None:
        for at, test in tests:
            watch.dialogues = at
            watch.tested(read(test))
        return
    if isinstance(training, Path):
        training = read(training) if training.exists() else []
    for at, test in tests:
        watch.trained(training[watch.dialogues : at])
        if watch.dialogues == at and test.exists():
            watch.tested(read(test))
    watch.trained(training[watch.dialogues :])
