"""Episodes in files, one a line: those of a benchmark run, of a person who played, or of others.

A line has `dialogue`, `success`, `exchanges` and `reward`; `task`, `seed`, `policy` and `legacy`
may stand in each line, in a first line `{"_meta": {…}}`, or be said by the place in a run's folder
(TASK/POLICY/seed-N/test-M.jsonl). `goal` and `turns` let an episode be explained.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.json_files import parse_json_lines, read_text
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.run_folder import Chosen, Settings, files_of, place_of, settings_of
from mwzeval.pydial.tasks import TASKS, Task

META = "_meta"
PACKED = (".gz", ".zst")
ENVIRONMENTS = {True: "legacy", False: "clean", None: "unsaid"}
LARGEST_REWARD = 1e6
"""Of a dialogue, in either direction; what is more would make a mean of nothing else."""


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


def read_records(path: str, chosen: Chosen, findings: Findings) -> tuple[tuple[Record, ...], str]:
    """Return the episodes of a file or folder by seed, task and number, and a checksum of it all.

    Raises `InputError` for what is no JSON Lines; all other problems go to `findings`.
    """
    records: list[Record] = []
    digest = sha256()
    seen: set[str] = set()
    for file in files_of(path, chosen):
        text = read_text(str(file))
        digest.update(text.encode())
        place = place_of(file)
        settings = Settings() if place is None else settings_of(file.absolute().parents[3])
        said: dict[str, Any] = {}
        if place is not None:
            said = {"task": place.task, "policy": place.policy, "seed": place.seed}
        reader = _Reader(file, findings, said, settings, seen, task=chosen.task)
        records += reader.read(text)
        if place is not None and place.policy in PRESETS:
            reader.check_numbers()
    if not records and not findings.errors:
        findings.error("no-episodes", "there is no episode in it", file=path)
    _tell_mixed(records, path, findings)
    order = {name: number for number, name in enumerate(TASKS)}
    records.sort(key=lambda r: (r.episode.seed, order[r.episode.task], r.episode.index))
    return tuple(records), digest.hexdigest()[:12]


def _tell_mixed(records: Iterable[Record], path: str, findings: Findings) -> None:
    """Note environments that are not the same task, and yet are scored as one."""
    played = Counter(record.legacy for record in records)
    if len(played) > 1:
        found = ", ".join(
            f"{played[kind]} {name}" for kind, name in ENVIRONMENTS.items() if kind in played
        )
        message = f"environments that differ are scored together ({found}): score each by itself"
        findings.doubt("several-environments", message, file=path)


def read_episodes(
    path: Path,
    task: str,
    seed: int,
    *,
    settings: Settings = Settings(),  # noqa: B008
    findings: Findings | None = None,
) -> tuple[Episode, ...]:
    """Return the dialogues that a run has written to a file, in their order.

    They are checked as those of `read_records`, and numbered from 0 on without a gap, all that
    `settings` say. Problems go to `findings`. Without, raises `InputError` if there are errors.
    """
    found = Findings() if findings is None else findings
    reader = _Reader(path, found, {"task": task, "seed": seed}, settings, set())
    try:
        records = reader.read(read_text(path))
    except InputError as error:
        found.errors += error.problems
        records = []
    else:
        reader.check_numbers()
        _tell_mixed(records, str(path), found)
    if findings is None and found.errors:
        raise InputError(found.errors)
    return tuple(record.episode for record in records)


class _Reader:
    """Reads one file, with what is `said` of all its lines; `seen` are the episodes before it.

    `task` is the one that the user has named.
    """

    def __init__(
        self,
        file: Path,
        findings: Findings,
        said: Mapping[str, Any],
        settings: Settings,
        seen: set[str],
        *,
        task: str | None = None,
    ) -> None:
        self._file, self._findings, self._seen, self._named = file, findings, seen, task
        legacy = {} if settings.legacy is None else {"legacy": settings.legacy}
        self._place = {**said, **legacy}
        self._said = dict(self._place)
        self._tests = settings.tests
        self._numbers: list[int] = []
        self._errors_before = len(findings.errors)

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
            if record is None:
                continue
            unit = record.episode.unit
            if unit in self._seen:
                message = f"line {number}: the episode was given before"
                self._findings.error("repeated", message, file=str(self._file), dialogue=unit)
                continue
            self._seen.add(unit)
            self._numbers.append(record.episode.index)
            records.append(record)
        return records

    def check_numbers(self) -> None:
        """Note a file of a run that does not have dialogues 0, 1, 2 …, as many as its settings say.

        Where there are other errors, dialogues are missing because of them.
        """
        if len(self._findings.errors) > self._errors_before:
            return
        tests = self._tests
        due = len(self._numbers) if tests is None else tests
        if sorted(self._numbers) != list(range(due)):
            found = f"{len(self._numbers)} dialogues"
            expected = "numbered from 0 on" if tests is None else f"the {due} of the run's tests"
            message = (
                f"{found}, which are not {expected}: the file was cut or changed. Remove it, and "
                "let `mwzeval pydial` make it anew with the same call as before"
            )
            self._findings.error("incomplete", message, file=str(self._file))

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
            (
                "reward",
                _is_number(reward, LARGEST_REWARD),
                f"a number up to ±{LARGEST_REWARD:,.0f}",
            ),
            ("legacy", legacy is None or isinstance(legacy, bool), "true or false"),
            ("policy", policy is None or isinstance(policy, str), "a text"),
            ("out_of_time", isinstance(raw.get("out_of_time", False), bool), "true or false"),
        ):
            if not fine:
                given = f", got {shorten(repr(raw[key]))}" if key in raw else "; it is missing"
                self._wrong(number, f"expected {expected}{given}", key)
        for key, said in self._place.items():
            if raw.get(key) != said:
                given = shorten(json.dumps(raw[key]))
                message = f"the folder of the file says {json.dumps(said)}, the line {given}"
                self._wrong(number, message, key, "other-place")
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
        named = self._named
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


def _is_number(value: Any, most: float = sys.float_info.max) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= most  # JSON has whole numbers of any length


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
