"""The tasks of the benchmark, which are six environments in three domains, and their parameters.

Source: Casanueva et al. (2017), Tables 1 to 3, and the benchmark's configuration files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from mwzeval.errors import UsageError, did_you_mean, shorten, unknown

PUBLISHED_DOMAINS: Mapping[str, str] = {
    "CR": "CamRestaurants",
    "SFR": "SFRestaurants",
    "LAP": "Laptops11",
}
"""Maps the code of a domain in task names to the name of its files."""
DEMO = "Demo-"
"""Prefix of the tasks in the embedded domains, which resemble the published domains."""
DOMAIN_FILES: Mapping[str, str] = {
    **PUBLISHED_DOMAINS,
    f"{DEMO}CR": "DemoGardens",
    f"{DEMO}SFR": "DemoLibraries",
    f"{DEMO}LAP": "DemoBicycles",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task: a domain, the noise of its channel, the patience of its user and the action masks.

    `name` is "CR-1", or "Demo-CR-1" in an embedded domain; `domain` is the code before the number.
    `error_rate` is the probability that the best hypothesis is wrong. `error_set` names the
    parameters of the error model, or is None if the channel makes no errors. `masked` enables the
    action masks. `inform_count_accepted` is the number of accepted slots from which "inform" is
    allowed. Rewards are given per turn and for success at the end.
    """

    name: str
    domain: str
    environment: int
    error_rate: float
    masked: bool
    user_model: str
    error_set: str | None
    max_exchanges: int = 25
    inform_count_accepted: int = 4
    max_informed_slots: int = 5
    exchange_reward: float = -1.0
    success_reward: float = 20.0

    @property
    def base(self) -> str:
        """The name of the published task: this task, or the task that it varies (see `varied`)."""
        return self.name.partition(VARIED)[0]


ENVIRONMENTS: Mapping[int, tuple[float, bool, str, str | None]] = {
    1: (0.0, True, "standard", None),
    2: (0.0, False, "standard", None),
    3: (0.15, True, "standard", "set1"),
    4: (0.15, False, "standard", "set1"),
    5: (0.15, True, "unfriendly", "set1"),
    6: (0.3, True, "standard", "set3"),
}
"""Error rate, masks, kind of users, and error parameters of each environment."""
USERS = ("standard", "unfriendly", "impatient", "talkative", "fickle")
"""Kinds of users. The kinds "standard" and "unfriendly" belong to the benchmark."""
OWN_USER = "own-"
"""Prefix of user names whose parameters come from a file."""
DEFAULT_ERROR_SET = "set1"
"""The error model of errors that `varied` adds to a task without errors."""


def _task(number: int, domain: str) -> Task:
    return Task(f"{domain}-{number}", domain, number, *ENVIRONMENTS[number])


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (_task(number, domain) for domain in DOMAIN_FILES for number in ENVIRONMENTS)
}
"""The 18 tasks of the paper and the same 18 tasks in the embedded domains, by name."""
PUBLISHED_TASKS = tuple(name for name in TASKS if not name.startswith(DEMO))


Goodbye = Literal["policy", "user"]
GOODBYES: tuple[Goodbye, ...] = ("policy", "user")
"""The sides that may end dialogues in environments 2 and 4, which have no masks."""
MOST_SEEDS = 10_000
"""Maximum number of seeds in a run or a range. A larger number is probably a mistake."""


def goodbye_of(said: str | None, *, legacy: bool) -> Goodbye:
    """Return whether the user or the policy ends dialogues in environments without masks; None
    selects the default.

    The side that ends dialogues is by default the policy if `legacy` is true, as in the program of
    2018, and otherwise the user. Raises `UsageError` for any other value, and if `legacy` is not a
    bool.
    """
    if not isinstance(legacy, bool):
        raise UsageError(f"legacy must be True or False, not {shorten(repr(legacy))}")
    if said is None:
        return "policy" if legacy else "user"
    for known in GOODBYES:
        if said == known:
            return known
    raise UsageError(f'goodbye: "{shorten(str(said))}" is not one of {", ".join(GOODBYES)}')


OWN = "Own-"
"""Prefix of the tasks in a custom domain, `Own-museums-1` to `Own-museums-6`."""
_OWN_TASK = re.compile(rf"({OWN}[\w.+-]+)-([{min(ENVIRONMENTS)}-{max(ENVIRONMENTS)}])")
VARIED = "@"
"""Separates the name of a task from changed parameters: `CR-3@errors=40@user=fickle`."""
_VARIATION = re.compile(
    rf"([^{VARIED}]+)(?:{VARIED}errors=(\d{{1,3}}(?:\.\d{{1,2}})?))?(?:{VARIED}user=([\w.+-]+))?"
)


def name_part(text: str) -> str:
    """Return a text with hyphens for characters that names of tasks and files cannot have."""
    return re.sub(r"[^\w.+-]+", "-", text)


def own_code(domain: str) -> str:
    """Return the code of a custom domain in task names, given the name of the domain."""
    return OWN + name_part(domain)


def tasks_of(code: str) -> tuple[str, ...]:
    """Return the names of the tasks in a domain, given its code."""
    return tuple(f"{code}-{number}" for number in ENVIRONMENTS)


def find_task(name: str) -> Task | None:
    """Return the task with the given name, or None if the name is unknown.

    The name may also refer to a task in a custom domain, or to a task with changed errors or users
    (see `varied`).
    """
    match = _VARIATION.fullmatch(name)
    if match is None:
        return None
    own = _OWN_TASK.fullmatch(match[1])
    task = TASKS.get(match[1]) if own is None else _task(int(own[2]), own[1])
    if task is None or name == task.name:
        return task
    try:
        other = varied(
            task, errors=None if match[2] is None else float(match[2]) / 100, user=match[3]
        )
    except UsageError:
        return None
    return other if other.name == name else None


def varied(task: Task, *, errors: float | None = None, user: str | None = None) -> Task:
    """Return a task with another error rate (from 0 to 1, for the best hypothesis) or other users.

    `user` is one of `USERS` or begins with `OWN_USER`. The new name contains the changes, with
    errors in percent: "CR-3@errors=40@user=fickle". The confidences and lengths of N-best lists
    remain unchanged; a task without errors gets the values of the tasks with 15 % errors. Raises
    `UsageError` for an invalid rate or unknown users.
    """
    base = task_named(task.base)
    rate = task.error_rate if errors is None else round(errors, 4)
    who = task.user_model if user is None else user
    if not 0 <= rate <= 1:
        raise UsageError(f"the error rate must be from 0 to 100 %, not {100 * rate:g} %")
    if who not in USERS and not who.startswith(OWN_USER):
        raise UsageError(unknown("users", who, USERS, f", or {OWN_USER}…"))
    name = base.name
    if rate != base.error_rate:
        name += f"{VARIED}errors={100 * rate:g}"
    if who != base.user_model:
        name += f"{VARIED}user={who}"
    if base.error_set is None and rate:
        base = replace(base, error_set=DEFAULT_ERROR_SET)
    return replace(base, name=name, error_rate=rate, user_model=who)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return unique task names in the order of the paper, followed by tasks in custom domains.

    A task with changed errors or users comes after the published task that it varies.
    """
    order = {name: number for number, name in enumerate(TASKS)}

    def place(name: str) -> tuple[int, str, bool, str, float]:
        base = name.partition(VARIED)[0]
        task = find_task(name)
        user, rate = ("", 0.0) if task is None else (task.user_model, task.error_rate)
        return order.get(base, len(order)), base, name != base, user, rate

    return tuple(sorted(set(names), key=lambda name: (place(name), name)))


def task_named(name: str) -> Task:
    """Return the task with the given name. Raises `UsageError` for an unknown name."""
    task = find_task(name)
    if task is None:
        first, *_, last = ENVIRONMENTS
        known = ", ".join(f"{domain}-{first} to -{last}" for domain in DOMAIN_FILES)
        raise UsageError(f'unknown task "{shorten(name)}"{did_you_mean(name, TASKS)} ({known})')
    return task
