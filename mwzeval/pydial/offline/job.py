"""One policy that learns from a data set with one seed, tested like those that play to learn.

After N dialogues means: from the first N of the data set, each time anew. What is done is in files;
what was stopped in between is done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.json_files import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.offline.datasets import dataset_name, read_dataset, source_of

if TYPE_CHECKING:
    from mwzeval.pydial.runs.job import Job

DIVERGED = "Learning from it diverged: record it again, or more of it"
SOURCE = "dataset.json"
"""What the policies of a seed have learned from is noted there."""


def learn_from_dataset(job: Job, output: str | Path, report: Callable[[int], None]) -> None:
    """Do what is still to be done of a job, and call `report` with numbers of dialogues.

    Raises `UsageError` where there is no such data set, `InputError` where it is damaged, of
    something else, or another than the folder's tests come from, `DependencyError` without h5py
    or PyTorch, and `MwzevalError` where files cannot be written.
    """
    from mwzeval.pydial.runs.checkpoints import diverging
    from mwzeval.pydial.workers.threads import single_threaded

    source = check_source(job)
    folder = job.folder(output)
    _note(folder / SOURCE, source)
    if job.is_done(output):
        report(job.work)
        return
    place = Path(str(job.dataset), dataset_name(job.task))
    with single_threaded(job.preset), diverging(place, DIVERGED):
        _learn(job, output, report)


def _learn(job: Job, output: str | Path, report: Callable[[int], None]) -> None:
    from mwzeval.pydial.runs.checkpoints import Checkpoint, write_checkpoint
    from mwzeval.pydial.runs.episode_writing import write_episodes
    from mwzeval.pydial.runs.job import runner_of

    runner = runner_of(job)
    data = read_dataset(
        str(job.dataset), job.task, runner.size, runner.actions, job.checkpoints[-1]
    )
    before = 0
    for checkpoint in job.checkpoints:
        if not job.has_test(output, checkpoint):
            policy: Any = job.preset.learner(runner.size, runner.actions, seed=job.seed)
            for dialogue in data.dialogues[:checkpoint]:
                policy.begin()
                for exchange in dialogue:
                    policy.record(*exchange)
                policy.end()
            policy.fit()
            model = Checkpoint(job.origin, checkpoint, False, policy.memory(whole=False), {})
            write_checkpoint(job.model_file(output, checkpoint), model)
            testing = runner.for_tests()
            episodes = [testing.test(policy, job.seed, index) for index in range(job.tests)]
            write_episodes(job.test_file(output, checkpoint), episodes, about=job.about)
        report(checkpoint - before + job.tests)
        before = checkpoint


def check_datasets(jobs: Sequence[Job]) -> None:
    """Raise `UsageError` or `InputError` where there is nothing that offline policies learn from.

    Each needs a data set with as many dialogues as it is to learn from.
    """
    for job in {job.task: job for job in jobs if job.preset.offline}.values():
        if job.dataset is None:
            raise UsageError(
                f"{job.policy} learns from a data set: name its folder with --dataset (`mwzeval "
                "pydial record` makes one)"
            )
        check_source(job)


def check_source(job: Job) -> dict[str, Any]:
    """Return what the data set of a job is of.

    Raises `UsageError` where there is none, it has too few dialogues, or the job is not about such
    ones, and `InputError` for metadata that are damaged.
    """
    if job.legacy:
        raise UsageError("data sets are of the clean environment: leave out legacy")
    place, source, _ = source_of(str(job.dataset), job.task, job.checkpoints[-1])
    if source.get("goodbye") != job.goodbye:
        raise UsageError(
            f"{place}: there goodbye is said by the {source.get('goodbye')}, here by the "
            f"{job.goodbye}: say the same with --goodbye"
        )
    return source


def _note(file: Path, source: dict[str, Any]) -> None:
    """Note what is learned from, or compare it with what is noted."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(source, indent=1) + "\n")
    elif (found := read_json(file)) != source:
        message = (
            f"what is here has learned from {json.dumps(found)}, not {json.dumps(source)}: use "
            "another folder"
        )
        raise InputError([Problem("other-dataset", message, file=str(file))])
