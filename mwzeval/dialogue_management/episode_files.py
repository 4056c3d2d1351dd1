"""Episodes in files, one a line: those of a benchmark run, of a person who played, or of others.

A line has `dialogue`, `success`, `exchanges` and `reward`; `task`, `seed`, `policy` and `legacy`
may stand in each line, in a first line `{"_meta": {…}}`, or be said by the place in a run's folder
(TASK/POLICY/seed-N/test-M.jsonl). `goal` and `turns` let an episode be explained.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.dialogue_management.episodes import Episode
from mwzeval.dialogue_management.tasks import TASKS, Task
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files import parse_json_lines, read_json, read_text, write_atomically

META = "_meta"
PLACE = re.compile(r"([^/]+)/([^/]+)/seed-(\d+)/test-(\d+)\.jsonl(?:\.gz|\.zst)?")
TESTS = "seed-*/test-*.jsonl"
PACKED = (".gz", ".zst")
SETTINGS = "run.json"
"""A run notes its settings there."""


@dataclass(frozen=True, slots=True)
class Record:
    """An episode as a file has it; `legacy` is None where nothing says it.

    `constraints` are (slot, "=" or "!=", value) and `requests` the slots asked for with what was
    told, both None where the goal is not in the file; `turns` are exchanges as plain values.
    """

    episode: Episode
    policy: str | None = None
    legacy: bool | None = None
    out_of_time: bool = False
    constraints: tuple[tuple[str, str, str], ...] | None = None
    requests: Mapping[str, str | None] | None = None
    turns: tuple[Mapping[str, Any], ...] = ()

    @property
    def task(self) -> Task:
        """The task that was played."""
        return TASKS[self.episode.task]


@dataclass(slots=True)
class Findings:
    """Problems of files; strict, a doubt is an error. Warnings that say the same are counted."""

    strict: bool = False
    errors: list[Problem] = field(default_factory=list)
    _doubts: dict[tuple[str, str], list[Problem]] = field(default_factory=dict)

    def error(self, kind: str, message: str, **place: Any) -> None:
        """Note what prevents scoring."""
        self.errors.append(Problem(kind, message, "error", **place))

    def doubt(self, kind: str, message: str, **place: Any) -> None:
        """Note what is scored, but perhaps not as meant."""
        if self.strict:
            self.error(kind, message, **place)
        else:
            found = Problem(kind, message, "warning", **place)
            self._doubts.setdefault((kind, message), []).append(found)

    def warning(self, kind: str, message: str) -> None:
        """Note what is to be known, and no fault."""
        self._doubts.setdefault((kind, message), []).append(Problem(kind, message, "warning"))

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Every warning once, with its count and first place."""
        return tuple(
            Problem(p.kind, p.message, p.severity, p.file, p.dialogue, key=p.key, count=len(same))
            for same in self._doubts.values()
            for p in same[:1]
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which tests of a run are meant, where a folder has several; `task` as `--benchmark` says."""

    policy: str | None = None
    dialogues: int | None = None
    task: str | None = None


def files_of(path: str, chosen: Chosen) -> tuple[Path, ...]:
    """Return the file itself, or the tests in a folder of a run, all of one policy.

    Without `chosen.dialogues` they are those after most training dialogues. Raises `UsageError`
    where the folder has no tests, or those of several policies.
    """
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return (folder,)
    places = {file: _place(file) for file in sorted(folder.rglob("test-*.jsonl"))}
    found = [(file, place) for file, place in places.items() if place is not None]
    if chosen.task is not None:
        tasks = dict.fromkeys(place[0] for _, place in found)
        if tasks and chosen.task not in tasks:
            held = ", ".join(tasks)
            raise UsageError(f"{shorten(path, 300)} has no tests of {chosen.task} (but of {held})")
        found = [(file, place) for file, place in found if place[0] == chosen.task]
    if not found:
        raise UsageError(f"{shorten(path, 300)} has no tests of a run (TASK/POLICY/{TESTS})")
    policies = tuple(dict.fromkeys(place[1] for _, place in found))
    policy = chosen.policy or (policies[0] if len(policies) == 1 else None)
    if policy not in policies:
        say = "name one with --policy" if policy is None else f'no policy "{shorten(policy)}"'
        hint = "" if policy is None else did_you_mean(policy, policies)
        raise UsageError(f"{shorten(path, 300)}: {say}{hint} ({', '.join(policies)})")
    found = [(file, place) for file, place in found if place[1] == policy]
    after = sorted({place[3] for _, place in found})
    dialogues = after[-1] if chosen.dialogues is None else chosen.dialogues
    if dialogues not in after and after != [0]:  # a policy that does not learn has one test
        known = ", ".join(map(str, after))
        raise UsageError(f"{shorten(path, 300)}: no test after {dialogues} dialogues ({known})")
    return tuple(file for file, place in found if place[3] in (dialogues, 0))


def _place(file: Path) -> tuple[str, str, int, int] | None:
    """Return task, policy, seed and number of training dialogues, as the place of a file says."""
    match = PLACE.fullmatch("/".join(file.absolute().parts[-4:]))
    if match is None or match[1] not in TASKS:
        return None
    return match[1], match[2], int(match[3]), int(match[4])


def read_records(path: str, chosen: Chosen, findings: Findings) -> tuple[tuple[Record, ...], str]:
    """Return the episodes of a file or folder by seed, task and number, and a checksum of it all.

    Raises `InputError` for what is no JSON Lines; all other problems go to `findings`.
    """
    records: list[Record] = []
    digest = sha256()
    for file in files_of(path, chosen):
        text = read_text(str(file))
        digest.update(text.encode())
        records += _Reader(file, chosen, findings).read(text)
    seen: set[str] = set()
    for record in records:
        unit = record.episode.unit
        if unit in seen:
            findings.error("repeated", "the episode was given before", file=path, dialogue=unit)
        seen.add(unit)
    if not records and not findings.errors:
        findings.error("no-episodes", "there is no episode in it", file=path)
    order = {name: number for number, name in enumerate(TASKS)}
    records.sort(key=lambda r: (r.episode.seed, order[r.episode.task], r.episode.index))
    return tuple(records), digest.hexdigest()[:12]


class _Reader:
    """Reads one file, with what is said of all its lines."""

    def __init__(self, file: Path, chosen: Chosen, findings: Findings) -> None:
        self._file, self._chosen, self._findings = file, chosen, findings
        self._said: dict[str, Any] = {}
        place = _place(file)
        if place is not None:
            self._said = {"task": place[0], "policy": place[1], "seed": place[2]}
            settings = file.absolute().parents[3] / SETTINGS
            if settings.is_file():
                plain = read_json(settings)
                if isinstance(plain, Mapping) and isinstance(plain.get("legacy"), bool):
                    self._said["legacy"] = plain["legacy"]

    def read(self, text: str) -> list[Record]:
        records: list[Record] = []
        for number, line in parse_json_lines(text, str(self._file)):
            if isinstance(line, Mapping) and isinstance(line.get(META), Mapping) and not records:
                self._said |= line[META]
                continue
            if not isinstance(line, Mapping):
                self._wrong(number, "expected an object, an episode")
                continue
            record = self._record(number, {**self._said, **line})
            if record is not None:
                records.append(record)
        return records

    def _wrong(
        self, number: int, message: str, key: str | None = None, kind: str = "shape"
    ) -> None:
        self._findings.error(kind, f"line {number}: {message}", file=str(self._file), key=key)

    def _record(self, number: int, raw: Mapping[str, Any]) -> Record | None:
        before = len(self._findings.errors)
        task = self._task(number, raw)
        index, seed = raw.get("dialogue"), raw.get("seed", 0)
        success, exchanges = raw.get("success"), raw.get("exchanges")
        reward, legacy, policy = raw.get("reward"), raw.get("legacy"), raw.get("policy")
        for key, fine, expected in (
            ("dialogue", _is_whole(index, 0), "a number from 0"),
            ("seed", _is_whole(seed, 0), "a number from 0"),
            ("success", isinstance(success, bool), "true or false"),
            ("exchanges", _is_whole(exchanges, 1) and _is_number(exchanges), "a number from 1"),
            ("reward", _is_number(reward), "a number"),
            ("legacy", legacy is None or isinstance(legacy, bool), "true or false"),
            ("policy", policy is None or isinstance(policy, str), "a text"),
            ("out_of_time", isinstance(raw.get("out_of_time", False), bool), "true or false"),
        ):
            if not fine:
                given = f", got {shorten(repr(raw[key]))}" if key in raw else "; it is missing"
                self._wrong(number, f"expected {expected}{given}", key)
        goal = self._goal(number, raw.get("goal"))
        turns = raw.get("turns", [])
        if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
            self._wrong(number, "expected a list of exchanges", "turns")
        if task is None or len(self._findings.errors) > before:
            return None
        assert isinstance(index, int)
        assert isinstance(exchanges, int)
        assert reward is not None
        episode = Episode(task.name, seed, index, bool(success), exchanges, float(reward))
        self._check(episode, task)
        return Record(episode, policy, legacy, bool(raw.get("out_of_time")), *goal, tuple(turns))

    def _check(self, episode: Episode, task: Task) -> None:
        place = {"file": str(self._file), "dialogue": episode.unit}
        if episode.exchanges > task.max_exchanges:
            message = f"a dialogue of the benchmark ends after {task.max_exchanges} exchanges"
            self._findings.doubt("too-long", message, **place)
        due = task.success_reward * episode.success + task.exchange_reward * episode.exchanges
        if abs(episode.reward - due) > 1e-6:
            message = "the reward is not that of the benchmark (20 for success, -1 an exchange)"
            self._findings.doubt("other-reward", message, **place)

    def _task(self, number: int, raw: Mapping[str, Any]) -> Task | None:
        named = self._chosen.task
        name = raw.get("task", named)
        if name is None:
            self._wrong(
                number, "of which task? Say it in the line, or --benchmark pydial-CR-1", "task"
            )
        elif not isinstance(name, str) or name not in TASKS:
            hint = did_you_mean(str(name), TASKS)
            self._wrong(number, f'unknown task "{shorten(str(name))}"{hint}', "task")
        elif named is not None and name != named:
            self._wrong(number, f"an episode of {name}, not of {named}", "task", "other-task")
        else:
            return TASKS[name]
        return None

    def _goal(self, number: int, raw: Any) -> tuple[Any, Any]:
        if raw is None:
            return None, None
        constraints, requests = (
            (raw.get("constraints"), raw.get("requests")) if isinstance(raw, Mapping) else (0, 0)
        )
        if (
            not isinstance(constraints, list)
            or not all(_is_constraint(each) for each in constraints)
            or not isinstance(requests, Mapping)
            or not all(value is None or isinstance(value, str) for value in requests.values())
        ):
            shape = '{"constraints": [["area", "=", "north"]], "requests": {"name": null}}'
            self._wrong(number, f"expected a goal such as {shape}", "goal")
            return None, None
        return tuple((slot, sign, value) for slot, sign, value in constraints), dict(requests)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max  # JSON has whole numbers of any length


def _is_constraint(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(v, str) for v in value)


def episodes_in(path: str | Path) -> tuple[Episode, ...]:
    """Return the episodes of a file to which others are to be added; perhaps it is not there yet.

    Raises `InputError` for a file of something else, `UsageError` where none can be.
    """
    file = Path(path)
    if str(path) == "-" or file.suffix in PACKED or file.is_dir() or not file.parent.is_dir():
        raise UsageError(
            f"episodes cannot be added to {shorten(str(path), 300)}: name a file that is not "
            "compressed, in a folder that there is"
        )
    if not file.exists() or not file.stat().st_size:
        return ()
    findings = Findings()
    records, _ = read_records(str(path), Chosen(), findings)
    if findings.errors:
        raise InputError(findings.errors)
    return tuple(record.episode for record in records)


def added_to(path: str | Path, line: Mapping[str, Any]) -> None:
    """Add an episode to a file, which is as before if that fails. Raises `MwzevalError`."""
    file = Path(path)
    before = read_text(path) if file.exists() and file.stat().st_size else ""
    end = "" if not before or before.endswith("\n") else "\n"
    write_atomically(path, f"{before}{end}{json.dumps(line, ensure_ascii=False)}\n")
