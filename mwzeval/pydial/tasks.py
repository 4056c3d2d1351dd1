"""The tasks of the benchmark: six environments in three domains, as plain figures.

Source: Casanueva et al. (2017), Tables 1 to 3, and the benchmark's configuration files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from mwzeval.errors import UsageError, did_you_mean, shorten

PUBLISHED_DOMAINS: Mapping[str, str] = {
    "CR": "CamRestaurants",
    "SFR": "SFRestaurants",
    "LAP": "Laptops11",
}
"""Code of a domain in the names of tasks → name of its files."""
DEMO = "Demo-"
"""Prefix of the tasks in the embedded domains of the same shape."""
DOMAIN_FILES: Mapping[str, str] = {
    **PUBLISHED_DOMAINS,
    f"{DEMO}CR": "DemoGardens",
    f"{DEMO}SFR": "DemoLibraries",
    f"{DEMO}LAP": "DemoBicycles",
}


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a domain, how noisy its channel is, how patient its user, what is masked.

    `name` is "CR-1", or "Demo-CR-1" in an embedded domain; `domain` the code before the number.
    `error_rate` is the probability that the best hypothesis is wrong, `error_set` names the
    parameters of the error model (None: the channel is perfect). `masks` tells which of the
    switches "inform", "request" and "bye" forbid actions. `inform_count_accepted` is how many
    accepted slots unmask "inform". Rewards are those of an exchange and of success at the end.
    """

    name: str
    domain: str
    environment: int
    error_rate: float
    error_set: str | None
    user_model: str
    masks: frozenset[str]
    max_hypotheses: int
    max_exchanges: int = 25
    inform_count_accepted: int = 4
    max_informed_slots: int = 5
    exchange_reward: float = -1.0
    success_reward: float = 20.0


@dataclass(frozen=True, slots=True)
class _Environment:
    error_rate: float
    masked: bool
    user_model: str
    error_set: str | None


ENVIRONMENTS: Mapping[int, _Environment] = {
    1: _Environment(0.0, True, "standard", None),
    2: _Environment(0.0, False, "standard", None),
    3: _Environment(0.15, True, "standard", "set1"),
    4: _Environment(0.15, False, "standard", "set1"),
    5: _Environment(0.15, True, "unfriendly", "set1"),
    6: _Environment(0.3, True, "standard", "set3"),
}
ALL_MASKS = frozenset({"inform", "request", "bye"})
NOISY_HYPOTHESES = 5


def _task(number: int, domain: str) -> Task:
    environment = ENVIRONMENTS[number]
    return Task(
        name=f"{domain}-{number}",
        domain=domain,
        environment=number,
        error_rate=environment.error_rate,
        error_set=environment.error_set,
        user_model=environment.user_model,
        masks=ALL_MASKS if environment.masked else frozenset(),
        max_hypotheses=NOISY_HYPOTHESES if environment.error_set else 1,
    )


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (_task(number, domain) for domain in DOMAIN_FILES for number in ENVIRONMENTS)
}
"""The 18 tasks of the paper and the same 18 in the embedded domains, by name."""
PUBLISHED_TASKS = tuple(name for name in TASKS if not name.startswith(DEMO))


Goodbye = Literal["policy", "user"]
GOODBYES: tuple[Goodbye, ...] = ("policy", "user")
"""Who ends dialogues in environments 2 and 4, where no mask tells when."""


def goodbye_of(said: str | None, *, legacy: bool) -> Goodbye:
    """Return who says goodbye where no mask tells when; None is what the benchmark does.

    That is the policy in `legacy`, as in the program of 2018, and otherwise the user. Raises
    `UsageError` for anything else.
    """
    if said is None:
        return "policy" if legacy else "user"
    for known in GOODBYES:
        if said == known:
            return known
    raise UsageError(
        f'who says goodbye? "{shorten(str(said))}" is not one of {", ".join(GOODBYES)}'
    )


OWN = "Own-"
"""Prefix of the tasks in a domain of one's own, `Own-museums-1` to `-6`."""
_OWN_TASK = re.compile(rf"({OWN}[\w.+-]+)-([{min(ENVIRONMENTS)}-{max(ENVIRONMENTS)}])")
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


def own_code(domain: str) -> str:
    """Return the code of a domain of one's own, given its name, in the names of its tasks."""
    return OWN + _NOT_IN_NAMES.sub("-", domain)


def tasks_of(code: str) -> tuple[str, ...]:
    """Return the names of the tasks in a domain, given its code."""
    return tuple(f"{code}-{number}" for number in ENVIRONMENTS)


def find_task(name: str) -> Task | None:
    """Return a task by its name, one in a domain of one's own too; None for an unknown one."""
    own = _OWN_TASK.fullmatch(name)
    return TASKS.get(name) if own is None else _task(int(own[2]), own[1])


JOINED = "+"
"""Between the names of tasks that a policy is trained in at once, "CR-3+SFR-3"."""


def find_tasks(name: str) -> tuple[Task, ...]:
    """Return the tasks of a name, several where it joins them; none for an unknown one."""
    found = [find_task(part) for part in name.split(JOINED)]
    tasks = tuple(dict.fromkeys(task for task in found if task is not None))
    if len(tasks) == len(found):
        return tasks
    task = find_task(name)  # domains of one's own may have the sign in their names
    return () if task is None else (task,)


def tasks_named(name: str) -> tuple[Task, ...]:
    """Return the tasks of a name, several where it joins them, "CR-3+SFR-3".

    Raises `UsageError` for an unknown one, and for one that is said twice.
    """
    tasks = find_tasks(name)
    if not tasks:
        parts = [task_named(part).name for part in name.split(JOINED)]
        raise UsageError(f"{shorten(name)} says a task twice ({', '.join(dict.fromkeys(parts))})")
    return tasks


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of tasks, each once, in the order of the paper, and those of one's own last."""
    order = {name: number for number, name in enumerate(TASKS)}
    return tuple(sorted(set(names), key=lambda name: (order.get(name, len(order)), name)))


def task_named(name: str) -> Task:
    """Return a task by its name. Raises `UsageError` for an unknown one."""
    task = find_task(name)
    if task is None:
        first, *_, last = ENVIRONMENTS
        known = ", ".join(f"{domain}-{first} to -{last}" for domain in DOMAIN_FILES)
        raise UsageError(f'unknown task "{shorten(name)}"{did_you_mean(name, TASKS)} ({known})')
    return task
