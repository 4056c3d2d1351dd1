"""The benchmark run: policies trained and tested in tasks, over seeds, processes and machines.

Source: Casanueva et al. (2017), section 4: 10 seeds, 500 test dialogues after 1,000, 4,000 and
10,000 of training. Results are files below one folder, and a run that was stopped goes on from them
to the same result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from mwzeval.cluster import processors
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.arguments import MOST_SEEDS
from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
from mwzeval.pydial.policies.presets import IN_ANY_DOMAIN, PRESETS, RANDOM, preset_named
from mwzeval.pydial.runs.episodes import check_seeds
from mwzeval.pydial.runs.job import Job, check_datasets
from mwzeval.pydial.runs.run_folder import SETTINGS, RunSettings
from mwzeval.pydial.tasks import PUBLISHED_TASKS, goodbye_of, tasks_named, tasks_of
from mwzeval.pydial.training.entries import EVERY
from mwzeval.pydial.training.log import LogFile
from mwzeval.pydial.workers.followed import Followed, do_job
from mwzeval.pydial.workers.on_cluster import on_cluster
from mwzeval.pydial.workers.processes import in_processes
from mwzeval.pydial.workers.progress import Progress

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
    dataset: str | Path | None = None,
    processes: int | None = None,
    client: Any = None,
    log: str | Path | None = None,
    log_every: int = EVERY,
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
    other. `dataset` is the folder of the dialogues that offline policies learn from, which "all"
    has only with it. `processes`: worker processes, by default one a core; 0: none but this one.
    With a Dask `client` the jobs run on its workers instead (which need the data and see `dataset`,
    but no common folder). How training goes is added to the CSV file `log`: means of `log_every`
    training dialogues, and tests, each once, however often the job was stopped.
    `progress` tells on standard error how much work it is, what is done and about how long the rest
    takes: a bar on a terminal, else lines now and then.

    Raises `UsageError` for unknown names and senseless numbers, and `InputError` where `output` is
    a run of other settings, or `log` has something else or other runs. What is wrong with the files
    of one job does not stop the others: it is raised with all of that kind in the end. Whatever
    else stops a job stops the run: `DataError` for the files of a domain, `DependencyError`,
    `MwzevalError` when it fails on the cluster or a file cannot be written.
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
        dataset=dataset,
    )
    check_datasets(jobs)
    if log_every < 1:
        raise UsageError(f"training is logged every 1 or more dialogues, not {log_every}")
    if processes is not None and processes < 0:
        raise UsageError(f"the number of processes is 0 or more, not {processes}")
    if client is None:
        # What is wrong with the data is told before there are any files.
        for domain in dict.fromkeys(task.domain for job in jobs for task in job.tasks):
            load_domain(domain, data, own=jobs[0].own)
    folder = Path(output)
    noted = {key: value for key, value in asdict(jobs[0].noted).items() if value is not None}
    log_file = None if log is None else LogFile(log)
    if log_file is not None:
        log_file.check_new(*(job.name for job in jobs if not job.folder(folder).exists()))
    _settle(folder, {"format": FORMAT, **noted})
    if client is not None:
        at_once = sum(client.nthreads().values())
    else:
        at_once = processors() if processes is None else processes
    with closing(Progress(jobs, folder, at_once, shown=progress)) as shown:
        followed = Followed(shown, log_file, log_every)
        if client is not None:
            on_cluster(client, jobs, folder, followed)
        elif processes == 0:
            for job in jobs:
                with followed.kept():
                    do_job(job, folder, followed.every, followed.take)
                followed.done(job)
        else:
            in_processes(jobs, folder, at_once, followed)
    if followed.problems:
        raise InputError(followed.problems)
    return jobs


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
    dataset: str | Path | None = None,
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
    known = [name for name, preset in PRESETS.items() if dataset is not None or not preset.offline]
    task_names, policy_names = _all(tasks, every_task), _all(policies, known)
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
    folder = None if dataset is None else str(dataset)
    who = goodbye_of(goodbye, legacy=legacy)
    return tuple(
        Job(task, policy, seed, checkpoints, tests, legacy, place, who, own, batch, folder)
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
            "in the legacy environment dialogues depend on those before them: leave out --batch"
        )
    presets = [preset_named(name) for name in policies]
    alone = [p.name for p in presets if p.view != "neural" or p.offline or p.name == RANDOM]
    if alone:
        raise UsageError(
            f"{', '.join(alone)}: dialogues are played one after the other: train "
            f"{'them' if len(alone) > 1 else 'it'} without --batch, in a folder of their own"
        )


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


def _noted(settings: Mapping[str, Any], key: str) -> str:
    return f"{key} {json.dumps(settings[key])}" if key in settings else f"no {key}"


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
            f"the folder holds a run with {_noted(found, key)}, this one has "
            f"{_noted(settings, key)}: use another folder",
            file=str(place),
        )
        for key in dict.fromkeys((*settings, *NOTED))
        if found.get(key) != settings.get(key)
    ]
    if problems:
        raise InputError(problems)
