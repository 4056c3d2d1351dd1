"""The benchmark run: policies trained and tested in tasks, over seeds, processes and machines.

Source: Casanueva et al. (2017), section 4: 10 seeds, 500 test dialogues after 1,000, 4,000 and
10,000 of training. Results are files below one folder, and a run that was stopped goes on from them
to the same result.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from mwzeval.cluster.processes import pool, processors
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.files.json_files import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.arguments import MOST_SEEDS
from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
from mwzeval.pydial.policies.presets import IN_ANY_DOMAIN, PRESETS, RANDOM, preset_named
from mwzeval.pydial.runs.episodes import check_seeds
from mwzeval.pydial.runs.job import Job, run_job
from mwzeval.pydial.runs.run_folder import SETTINGS, RunSettings
from mwzeval.pydial.tasks import PUBLISHED_TASKS, goodbye_of, tasks_named, tasks_of

DIALOGUES = (1000, 4000, 10_000)
TESTS = 500
FORMAT = 3
"""Of what is below the folder; raised when the same call would play other dialogues."""
NOTED = tuple(field.name for field in fields(RunSettings))
ALL = "all"


def run(
    tasks: Sequence[str],
    policies: Sequence[str],
    output: str | Path,
    *,
    dialogues: Sequence[int] = DIALOGUES,
    seeds: int | Sequence[int] = 10,
    tests: int = TESTS,
    legacy: bool = False,
    goodbye: str | None = None,
    data: str | Path | None = None,
    ontology: str | Path | None = None,
    entities: str | Path | None = None,
    batch: int = 1,
    processes: int | None = None,
    client: Any = None,
    progress: bool = False,
) -> tuple[Job, ...]:
    """Train and test every policy in every task with every seed; return all that was done.

    `tasks` and `policies` are names, or "all" (the 18 published tasks; all policies). Names of
    tasks that are joined, "CR-3+SFR-3", are of one policy for both. `dialogues`
    are the numbers of training dialogues after which `tests` dialogues are played. `seeds` is a
    number of seeds, from 0 on, or the seeds. `legacy` has the quirks of the published program.
    `goodbye` tells who ends dialogues where no mask tells when (environments 2 and 4): "policy"
    (as the published program, default with `legacy`) or "user" (default without).
    `data` is the folder of the domains' files; `ontology` and `entities` are those of a domain of
    one's own, whose tasks are "Own-NAME-1" to "-6" (and "all", then). `batch` dialogues are played
    at once (extra `batched`), in rounds after which neural policies learn; with 1, one after the
    other. `processes`: worker processes, by default one a core; 0: none but this one. With a Dask
    `client` the jobs run on its workers instead (which need the data, but no common folder).
    `progress` shows a bar on standard error.

    Raises `UsageError` for unknown names and senseless numbers, and `InputError` where `output` is
    a run of other settings. What is wrong with the files of one job does not stop the others: it is
    raised with all of that kind in the end. Whatever else stops a job stops the run: `DataError`
    for the files of a domain, `DependencyError`, `MwzevalError` when it fails on the cluster or a
    file cannot be written.
    """
    jobs = planned(
        tasks,
        policies,
        dialogues=dialogues,
        seeds=seeds,
        tests=tests,
        legacy=legacy,
        goodbye=goodbye,
        data=data,
        ontology=ontology,
        entities=entities,
        batch=batch,
    )
    if processes is not None and processes < 0:
        raise UsageError(f"the number of processes is 0 or more, not {processes}")
    if client is None:
        # What is wrong with the data is told before there are any files.
        for domain in dict.fromkeys(task.domain for job in jobs for task in job.tasks):
            load_domain(domain, data, own=jobs[0].own)
    folder = Path(output)
    noted = {key: value for key, value in asdict(jobs[0].noted).items() if value is not None}
    _settle(folder, {"format": FORMAT, **noted})
    with tqdm(
        total=sum(job.work for job in jobs),
        unit="dialogue",
        unit_scale=True,
        smoothing=0.05,
        disable=None if progress else True,
    ) as bar:
        bad = _Bad()
        if client is not None:
            _on_cluster(client, jobs, folder, bar, bad)
        elif processes == 0:
            for job in jobs:
                with bad.kept():
                    run_job(job, folder, on_progress=bar.update)
        else:
            _in_processes(jobs, folder, processes or processors(), bar, bad)
    if bad.problems:
        raise InputError(bad.problems)
    return jobs


class _Bad:
    """What was wrong with the files of jobs, while the other jobs went on."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep problems that a job raises."""
        try:
            yield
        except InputError as error:
            self.problems += error.problems


def planned(
    tasks: Sequence[str],
    policies: Sequence[str],
    *,
    dialogues: Sequence[int] = DIALOGUES,
    seeds: int | Sequence[int] = 10,
    tests: int = TESTS,
    legacy: bool = False,
    goodbye: str | None = None,
    data: str | Path | None = None,
    ontology: str | Path | None = None,
    entities: str | Path | None = None,
    batch: int = 1,
) -> tuple[Job, ...]:
    """Return the jobs of a run, all of one seed before those of the next.

    Arguments are those of `run`. Raises `UsageError` for unknown names and senseless numbers.
    """
    if isinstance(seeds, int) and seeds > MOST_SEEDS:
        raise UsageError(
            f"the number of seeds is {MOST_SEEDS:,} at most, not {shorten(str(seeds))}"
        )
    checkpoints = tuple(sorted(set(dialogues)))
    chosen_seeds = tuple(range(seeds)) if isinstance(seeds, int) else tuple(dict.fromkeys(seeds))
    own = OwnFiles.given(ontology, entities)
    every_task = PUBLISHED_TASKS if own is None else tasks_of(own.code)
    task_names, policy_names = _all(tasks, every_task), _all(policies, PRESETS)
    _check_names(task_names, policy_names)
    if not checkpoints or checkpoints[0] < 1:
        given = f", not {checkpoints[0]}" if checkpoints else ""
        raise UsageError(f"the numbers of training dialogues are 1 or more{given}")
    if not chosen_seeds:
        raise UsageError("the number of seeds is 1 or more")
    check_seeds(*chosen_seeds)
    if tests < 1:
        raise UsageError(f"the number of test dialogues is 1 or more, not {tests}")
    _check_batch(batch, policy_names, legacy=legacy)
    place = None if data is None else str(data)
    who = goodbye_of(goodbye, legacy=legacy)
    return tuple(
        Job(task, policy, seed, checkpoints, tests, legacy, place, who, own, batch)
        for seed in chosen_seeds
        for task in task_names
        for policy in policy_names
    )


def _check_batch(batch: int, policies: Sequence[str], *, legacy: bool) -> None:
    """Raise `UsageError` where dialogues cannot be played so many at once."""
    if batch < 1:
        raise UsageError(f"the number of dialogues at once is 1 or more, not {batch}")
    if batch == 1:
        return
    if legacy:
        raise UsageError(
            "in the legacy environment dialogues depend on those before them: leave out the batch"
        )
    alone = [name for name in policies if preset_named(name).view != "neural" or name == RANDOM]
    if alone:
        raise UsageError(f"dialogues of {', '.join(alone)} are played one after the other")


def _check_names(tasks: Sequence[str], policies: Sequence[str]) -> None:
    """Raise `UsageError` with everything that is wrong with the names of a run."""
    problems = [
        *(problem for name in tasks for problem in _unknown(name, tasks_named)),
        *(problem for name in policies for problem in _unknown(name, preset_named)),
    ]
    if not tasks or not policies:
        problems.append("a run needs at least one task and one policy")
    if problems:
        raise UsageError(*problems)
    joint = [name for name in tasks if len(tasks_named(name)) > 1]
    alone = [name for name in policies if not preset_named(name).any_domain]
    if joint and alone:
        raise UsageError(
            f"{', '.join(alone)} cannot be trained in several tasks at once ({shorten(joint[0])}): "
            f"{', '.join(IN_ANY_DOMAIN)} can"
        )


def _unknown(name: str, find: Callable[[str], object]) -> list[str]:
    try:
        find(name)
    except UsageError as error:
        return [str(error)]
    return []


def _all(names: Sequence[str], known: Iterable[str]) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    return list(
        dict.fromkeys(each for name in given for each in (known if name == ALL else [name]))
    )


def _settle(folder: Path, settings: dict[str, Any]) -> None:
    """Note the settings of a run in its folder, or compare them with those noted."""
    place = folder / SETTINGS
    if not place.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MwzevalError(f"cannot make {folder}: {error.strerror}") from None
        write_atomically(place, json.dumps(settings, indent=1) + "\n")
        return
    found = read_json(place)
    if not isinstance(found, dict):
        found = {}
    problems = [
        Problem(
            "other-run",
            f"the folder holds a run with {key} {json.dumps(found.get(key))}, not "
            f"{json.dumps(settings.get(key))}: use another folder",
            file=str(place),
        )
        for key in dict.fromkeys((*settings, *NOTED))
        if found.get(key) != settings.get(key)
    ]
    if problems:
        raise InputError(problems)


def _in_processes(jobs: Sequence[Job], folder: Path, processes: int, bar: Any, bad: _Bad) -> None:
    played: Any = multiprocessing.get_context("spawn").SimpleQueue()
    with pool(min(processes, len(jobs)), initializer=_begin_worker, initargs=(played,)) as executor:
        waiting: set[Future[Job]] = {
            executor.submit(_do_in_worker, job, str(folder)) for job in jobs
        }
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                while not played.empty():
                    bar.update(played.get())
                for future in done:
                    with bad.kept():
                        future.result()
            while not played.empty():
                bar.update(played.get())
        except BaseException:
            # What runs goes on to its end otherwise; all that is done is in files.
            executor.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


class _Worker:
    played: Any = None


def _begin_worker(played: Any) -> None:
    _Worker.played = played


def _do_in_worker(job: Job, folder: str) -> Job:
    return run_job(job, folder, on_progress=_Worker.played.put)


def _on_cluster(client: Any, jobs: Sequence[Job], folder: Path, bar: Any, bad: _Bad) -> None:
    """Do jobs a checkpoint at a time on workers, which get files and give back files."""
    distributed: Any = import_module("distributed")

    def submit(job: Job) -> Any:
        part = None
        with bad.kept():
            part = next_part(job, folder)
        if part is None:
            bar.update(job.work - reported.get(job, 0))
            return None
        future = client.submit(_do_part, part, job_files(part, folder), pure=False)
        of_future[future.key] = job
        return future

    of_future: dict[str, Job] = {}
    reported: dict[Job, int] = {}
    # Without the loop it looks for a default client, which ours is only for `local`.
    waiting = distributed.as_completed(
        [future for job in jobs if (future := submit(job)) is not None], loop=client.loop
    )
    for future in waiting:
        job = of_future.pop(future.key)
        try:
            part, files = future.result()
        except InputError as error:
            # A worker has the files in a folder of its own.
            bad.problems += (replace(p, file=_here(p.file, job, folder)) for p in error.problems)
            continue
        except MwzevalError:
            raise
        except Exception as error:
            raise MwzevalError(
                f"{job.task}, {job.policy}, seed {job.seed} failed on the cluster ({error!r})"
            ) from error
        place = job.folder(folder)
        place.mkdir(parents=True, exist_ok=True)
        # The tests last: with them the part counts as done.
        for name in sorted(files):
            write_atomically(place / name, files[name])
        future.release()
        bar.update(part.work - reported.get(job, 0))
        reported[job] = part.work
        following = submit(job)
        if following is not None:
            waiting.add(following)


def _here(file: str | None, job: Job, folder: Path) -> str | None:
    """Return where a file of a job is that a worker has named."""
    return None if file is None else str(job.folder(folder) / Path(file).name)


def next_part(job: Job, folder: Path) -> Job | None:
    """Return a job up to the next test that is not there; None when all are.

    Raises `InputError` for a test that is there and is not whole.
    """
    for number, at in enumerate(job.tested_at, start=1):
        if not job.has_test(folder, at):
            return replace(job, checkpoints=job.checkpoints[:number])
    return None


def job_files(job: Job, folder: str | Path) -> dict[str, bytes]:
    """Return the files of a job by name, without the models, which are not needed to go on."""
    place = job.folder(folder)
    if not place.is_dir():
        return {}
    return {
        file.name: file.read_bytes()
        for file in sorted(place.iterdir())
        if file.is_file() and not file.name.startswith((".", "model-"))
    }


def _do_part(part: Job, files: dict[str, bytes]) -> tuple[Job, dict[str, bytes]]:
    """Do a part of a job in a folder of this worker; return all files that are new or other."""
    with TemporaryDirectory() as folder:
        place = part.folder(folder)
        place.mkdir(parents=True)
        for name, content in files.items():
            (place / name).write_bytes(content)
        run_job(part, folder)
        made = {file.name: file.read_bytes() for file in place.iterdir()}
    return part, {name: content for name, content in made.items() if files.get(name) != content}
