"""A benchmark run: policies, tasks and seeds, in several processes or on several machines.

Source: Casanueva et al. (2017), section 4: 10 seeds and 500 test dialogues after each of 1,000,
4,000 and 10,000 training dialogues. A run is a folder of files. An interrupted run continues with
the unfinished jobs; the result is the same.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from mwzeval.cluster import pool, processors
from mwzeval.errors import (
    InputError,
    MwzevalError,
    Problem,
    UsageError,
    shorten,
)
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.output import counting, notify
from mwzeval.pydial.domain import OwnFiles, load_domain
from mwzeval.pydial.episode_files import REMEDY, SETTINGS, RunSettings, location_of
from mwzeval.pydial.episodes import check_seeds
from mwzeval.pydial.job import METRICS, Files, Job, files_of, runner_of, write_files
from mwzeval.pydial.log import EVERY, LogFile, read_rows
from mwzeval.pydial.policies.presets import ADVICE, PRESETS, preset_named
from mwzeval.pydial.tasks import (
    MOST_SEEDS,
    PUBLISHED_TASKS,
    goodbye_of,
    task_named,
    tasks_of,
)
from mwzeval.scores.findings import Findings

DIALOGUES = (1000, 4000, 10_000)
TESTS = 500
FORMAT = 4
"""Version of the files in the folder, increased when the same call would play other dialogues."""
NOTED = tuple(field.name for field in fields(RunSettings))
ALL = "all"
OnProgress = Callable[[int], object]


def run(
    tasks: Sequence[str],
    policies: Sequence[str],
    output: str | Path,
    *,
    processes: int | None = None,
    client: Any = None,
    log: str | Path | None = None,
    log_every: int = EVERY,
    progress: bool = False,
    **plan: Any,
) -> tuple[Job, ...]:
    """Train and test every policy in every task with every seed; return all jobs.

    `tasks`, `policies` and `plan` are passed to `planned`. Jobs run in `processes` processes
    (default: one per core; 0: the current process) or on the workers of a Dask `client`. Dask
    workers need the data but no shared folder. When a job is done, the metrics of its training
    (means of `log_every` dialogues) and of its tests are appended to the CSV file `log`. `progress`
    shows a progress bar if standard error is a terminal.

    Raises `UsageError` for unknown names and invalid numbers, and `InputError` if `output` contains
    a run with other settings, or if `log` is another file or a log of other runs. Errors in the
    files of a job do not stop other jobs; all such errors are raised together at the end. Three
    errors stop the run: `DataError` if the files of a domain are missing, `DependencyError` if a
    library is missing, and `MwzevalError` if a job fails on the cluster or a file cannot be
    written.
    """
    jobs = planned(tasks, policies, **plan)
    if log_every < 1:
        raise UsageError(f"the logging interval must be 1 or more dialogues, not {log_every}")
    if processes is not None and processes < 0:
        raise UsageError(f"the number of processes must be 0 or more, not {processes}")
    if client is None:
        # Errors in the data are raised before any file is written.
        for domain in dict.fromkeys(task_named(job.task).domain for job in jobs):
            load_domain(domain, jobs[0].data, own=jobs[0].own)
    folder = Path(output)
    if log is not None and folder.absolute() in Path(log).absolute().parents:
        _make(folder)
    log_file = None if log is None else LogFile(log)
    noted = {key: value for key, value in asdict(jobs[0].settings).items() if value is not None}
    findings = Findings()
    done: list[Job] = []
    pending: list[Job] = []
    settings = {"format": FORMAT, **noted}
    _check_settings(folder, settings)
    for job in jobs:
        if job.is_done(folder):
            done.append(job)
        else:
            for problem in job.damage(folder):
                cause = str(problem).removesuffix(REMEDY).removesuffix(ADVICE)
                notify(f"{cause}. {job.name} is trained and tested again")
            pending.append(_with_tests_there(job, folder))
    if client is None:
        _compile(pending)
    if log_file is not None:
        log_file.check_new(*(job.name for job in pending if not job.folder(folder).exists()))
    if not (folder / SETTINGS).exists():
        _make(folder)
        write_atomically(folder / SETTINGS, json.dumps(settings, indent=1) + "\n")
    if progress:
        notify(_plan_text(done, pending, folder))
    with counting(sum(job.work for job in pending), "dialogues", shown=progress) as on_progress:
        for job in done:
            metrics = job.folder(folder) / METRICS
            if log_file is not None and metrics.exists():
                log_file.add(read_rows(metrics.read_bytes(), metrics))
        for job, files in _files(pending, processes, client, log_every, on_progress, findings):
            write_files(job, folder, files)
            if log_file is not None:
                log_file.add(read_rows(str(files[METRICS]).encode(), METRICS))
    findings.check()
    return jobs


def _compile(jobs: Sequence[Job]) -> None:
    """Compile the simulation once per domain, so that workers find it in numba's cache."""
    compiled = {task_named(job.task).domain: job for job in jobs if job.is_compiled}
    for job in compiled.values():
        runner_of(job)


def _with_tests_there(job: Job, folder: Path) -> Job:
    """Return a job whose checkpoints include complete tests, so that all tests are rewritten."""
    tests = job.folder(folder).glob("test-*.jsonl")
    places = (location_of(file) for file in tests if not job.problems_in(file))
    there = {place.dialogues for place in places if place is not None} - {0}
    return replace(job, checkpoints=tuple(sorted({*job.checkpoints, *there})))


def _files(
    jobs: Sequence[Job],
    processes: int | None,
    client: Any,
    log_every: int,
    on_progress: OnProgress,
    findings: Findings,
) -> Iterator[tuple[Job, Files]]:
    """Yield each finished job and its files. Errors in input files are added to `findings`."""
    if client is None and processes == 0:
        for job in jobs:
            with findings.collecting():
                yield job, files_of(job, on_progress, log_every)
        return
    at_once = min(processes or processors(), max(len(jobs), 1))
    with _executor(client, at_once, on_progress) as (executor, report):
        job_of: dict[Future[Files], Job] = {
            executor.submit(_files_in_worker, job, log_every): job for job in jobs
        }
        waiting = set(job_of)
        while waiting:
            ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            report(sum(job_of[future].work for future in ended))
            for future in ended:
                job = job_of[future]
                try:
                    yield job, future.result()
                except InputError as error:
                    findings.extend(error.problems)
                except MwzevalError:
                    raise
                except Exception as error:
                    raise MwzevalError(f"{job.name} failed in a worker ({error!r})") from error


@contextmanager
def _executor(
    client: Any, processes: int, on_progress: OnProgress
) -> Iterator[tuple[Executor, OnProgress]]:
    """Yield an executor and a progress function, which is called with numbers of dialogues."""
    if client is not None:
        with client.get_executor(pure=False) as executor:
            yield executor, on_progress
        return
    played = multiprocessing.get_context("spawn").Value("q", 0)
    reported = 0

    def report(ended: int) -> None:
        nonlocal reported
        now = played.value
        on_progress(now - reported)
        reported = now

    with pool(processes, initializer=_begin_worker, initargs=(played,)) as executor:
        try:
            yield executor, report
        except BaseException:
            # Without this call, the remaining jobs would continue to run.
            executor.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


class _Worker:
    """The counter of played dialogues, which worker processes share, or None on a cluster."""

    played: Any = None


def _begin_worker(played: Any) -> None:
    _Worker.played = played


def _files_in_worker(job: Job, log_every: int) -> Files:
    def count(dialogues: int) -> None:
        if _Worker.played is not None:
            with _Worker.played.get_lock():
                _Worker.played.value += dialogues

    return files_of(job, count, log_every)


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
    compiled: bool = False,
) -> tuple[Job, ...]:
    """Return the jobs of a run, ordered by seed.

    `tasks` and `policies` are names, or "all" (the 18 published tasks; all policies). A test of
    `tests` dialogues is played after each number of training dialogues in `dialogues`. `seeds` is a
    sequence of seeds, or the number of seeds, which then start at 0. `legacy` reproduces the errors
    of the published program. `goodbye` selects who ends dialogues in environments 2 and 4, which
    have no masks. The default is "policy" with `legacy`, as in the published program, and "user"
    without `legacy`. `data` is the folder of the domains' files. `ontology` and `entities` are the
    files of a custom domain, whose tasks (also selected by "all") are "Own-NAME-1" to "Own-NAME-6".
    With `compiled`, numba compiles the simulation for neural policies, which is faster and gives
    the same results.

    Raises `UsageError` for unknown names and invalid numbers.
    """
    if isinstance(seeds, int) and seeds > MOST_SEEDS:
        raise UsageError(
            f"the number of seeds must be at most {MOST_SEEDS:,}, not {shorten(str(seeds))}"
        )
    checkpoints = tuple(sorted(set(dialogues)))
    chosen_seeds = tuple(range(seeds)) if isinstance(seeds, int) else tuple(dict.fromkeys(seeds))
    own = OwnFiles.given(ontology, entities)
    task_names = _all(tasks, PUBLISHED_TASKS if own is None else tasks_of(own.code))
    policy_names = _all(policies, PRESETS)
    problems = [
        *(problem for name in task_names for problem in _unknown(name, task_named)),
        *(problem for name in policy_names for problem in _unknown(name, preset_named)),
    ]
    if not task_names or not policy_names:
        problems.append("a run needs at least one task and one policy")
    if problems:
        raise UsageError(*problems)
    if not checkpoints or checkpoints[0] < 1:
        given = f", not {checkpoints[0]}" if checkpoints else ""
        raise UsageError(f"each number of training dialogues must be 1 or more{given}")
    if not chosen_seeds:
        raise UsageError("the number of seeds must be 1 or more")
    check_seeds(*chosen_seeds)
    if tests < 1:
        raise UsageError(f"the number of test dialogues must be 1 or more, not {tests}")
    place = None if data is None else str(data)
    who = goodbye_of(goodbye, legacy=legacy)
    return tuple(
        Job(task, policy, seed, checkpoints, tests, legacy, place, who, own, compiled)
        for seed in chosen_seeds
        for task in task_names
        for policy in policy_names
    )


def _plan_text(done: Sequence[Job], pending: Sequence[Job], folder: Path) -> str:
    """Return the number of jobs in a run, of finished jobs, and of dialogues in unfinished jobs."""
    jobs = [*done, *pending]
    sizes = (len({getattr(job, key) for job in jobs}) for key in ("task", "policy", "seed"))
    text = f"{len(jobs):,} job{'s' * (len(jobs) != 1)} "
    text += f"(tasks × policies × seeds: {' × '.join(map(str, sizes))}), "
    text += f"{len(done):,} already done in {folder}, " * bool(done)
    return text + f"{sum(job.work for job in pending):,} dialogues" + " to play" * bool(done)


def _unknown(name: str, find: Callable[[str], object]) -> list[str]:
    try:
        find(name)
    except UsageError as error:
        return [str(error)]
    return []


def _all(names: Sequence[str], known: Iterable[str]) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    return list(
        dict.fromkeys(item for name in given for item in (known if name == ALL else [name]))
    )


def _noted(settings: Mapping[str, Any], key: str) -> str:
    return f"{key} {json.dumps(settings[key])}" if key in settings else f"no {key}"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MwzevalError(f"cannot make {folder}: {error.strerror}") from None


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Raise `InputError` if the folder contains a run with other or unknown settings."""
    place = folder / SETTINGS
    if not place.exists():
        tests = map(location_of, folder.glob("*/*/seed-*/test-*.jsonl"))
        if any(test is not None and test.policy in PRESETS for test in tests):
            message = f"the folder has tests, but no {SETTINGS}: restore it, or use another folder"
            raise InputError([Problem("other-run", message, file=str(folder))])
        return
    found = read_json(place)
    if not isinstance(found, dict):
        found = {}
    problems = [
        Problem(
            "other-run",
            f"the folder contains a run with {_noted(found, key)}, but this run has "
            f"{_noted(settings, key)}: use another folder",
            file=str(place),
        )
        for key in dict.fromkeys((*settings, *NOTED))
        if found.get(key) != settings.get(key)
    ]
    if problems:
        raise InputError(problems)
