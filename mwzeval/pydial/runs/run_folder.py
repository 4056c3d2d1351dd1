"""The folder of a run: where its tests are, and what their places and its settings say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import read_json
from mwzeval.pydial.tasks import GOODBYES, Goodbye, find_task

PLACE = re.compile(r"([^/]+)/([^/]+)/seed-(\d+)/test-(\d+)\.jsonl(?:\.gz|\.xz|\.zst)?")
TESTS = "seed-*/test-*.jsonl"
SETTINGS = "run.json"
"""A run notes its settings there."""


@dataclass(frozen=True, slots=True)
class TestLocation:
    """What the place of a test says of it; `dialogues` of training came before it."""

    task: str
    policy: str
    seed: int
    dialogues: int


def location_of(file: Path) -> TestLocation | None:
    """Return what TASK/POLICY/seed-N/test-M.jsonl says; None for a file that is elsewhere."""
    match = PLACE.fullmatch("/".join(file.absolute().parts[-4:]))
    if match is None or find_task(match[1]) is None:
        return None
    return TestLocation(match[1], match[2], int(match[3]), int(match[4]))


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run: dialogues in each of its tests, whether it is legacy, and who says
    goodbye where no mask allows it."""

    tests: int | None = None
    legacy: bool | None = None
    goodbye: Goodbye | None = None


def run_settings(run: Path) -> RunSettings:
    """Return what is noted in the folder of a run, perhaps nothing. Raises `InputError`."""
    file = run / SETTINGS
    plain = read_json(file) if file.is_file() else {}
    if not isinstance(plain, Mapping):
        raise InputError([Problem("settings", "expected an object", file=str(file))])
    tests, legacy, goodbye = (plain.get(key) for key in ("tests", "legacy", "goodbye"))
    problems = [
        Problem(
            "settings", f"expected {expected}, got {shorten(repr(value))}", key=key, file=str(file)
        )
        for key, value, fine, expected in (
            ("tests", tests, type(tests) is int and tests > 0, "a number from 1"),
            ("legacy", legacy, isinstance(legacy, bool), "true or false"),
            ("goodbye", goodbye, goodbye in GOODBYES, " or ".join(GOODBYES)),
        )
        if value is not None and not fine
    ]
    if problems:
        raise InputError(problems)
    return RunSettings(tests, legacy, goodbye)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tests of a run are meant, where a folder has several; `task` as `--benchmark` says."""

    policy: str | None = None
    dialogues: int | None = None
    task: str | None = None


def selected_files(path: str, chosen: Selection) -> tuple[Path, ...]:
    """Return the file itself, or the tests in a folder of a run, all of one policy.

    Without `chosen.dialogues` they are those after most training dialogues. Raises `UsageError`
    where the folder has no tests, or those of several policies.
    """
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return (folder,)
    places = {file: location_of(file) for file in sorted(folder.rglob("test-*.jsonl"))}
    found = [(file, place) for file, place in places.items() if place is not None]
    if chosen.task is not None:
        tasks = dict.fromkeys(place.task for _, place in found)
        if tasks and chosen.task not in tasks:
            held = ", ".join(tasks)
            raise UsageError(f"{shorten(path, 300)} has no tests of {chosen.task} (but of {held})")
        found = [(file, place) for file, place in found if place.task == chosen.task]
    if not found:
        raise UsageError(f"{shorten(path, 300)} has no tests of a run (TASK/POLICY/{TESTS})")
    policies = tuple(dict.fromkeys(place.policy for _, place in found))
    policy = chosen.policy or (policies[0] if len(policies) == 1 else None)
    if policy not in policies:
        say = "name one with --policy" if policy is None else f'no policy "{shorten(policy)}"'
        hint = "" if policy is None else did_you_mean(policy, policies)
        raise UsageError(f"{shorten(path, 300)}: {say}{hint} ({', '.join(policies)})")
    found = [(file, place) for file, place in found if place.policy == policy]
    after = sorted({place.dialogues for _, place in found})
    dialogues = after[-1] if chosen.dialogues is None else chosen.dialogues
    if dialogues not in after and after != [0]:  # a policy that does not learn has one test
        known = ", ".join(map(str, after))
        raise UsageError(f"{shorten(path, 300)}: no test after {dialogues} dialogues ({known})")
    return tuple(file for file, place in found if place.dialogues in (dialogues, 0))
