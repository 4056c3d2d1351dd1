"""Episodes in files, one a line: those of a benchmark run, of a person who played, or of others.

A line has `dialogue`, `success`, `exchanges` and `reward`; `task`, `seed`, `policy` and `legacy`
may stand in each line, in a first line `{"_meta": {…}}` as in files of runs, or be said by the
place in a run's folder (TASK/POLICY/seed-N/test-M.jsonl). The first line also says how many
episodes there are. `goal` and `turns` let an episode be explained. Files of trajectories have the
episodes of live dialogues.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from operator import ne
from pathlib import Path
from typing import Any

from mwzeval.conversation.protocols import AGENT_ERROR, USER_ERROR, End
from mwzeval.conversation.trajectory import is_live, live_text
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import (
    SENSIBLE_LINE,
    decoded,
    is_url,
    parse_json_lines,
    read_bytes,
    read_text,
)
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.live_files import episodes_of_trajectories
from mwzeval.pydial.runs.run_folder import (
    RunSettings,
    Selection,
    location_of,
    run_settings,
    selected_files,
)
from mwzeval.pydial.tasks import TASKS, Task, find_task, in_order, task_named
from mwzeval.scores.findings import Findings

META = "_meta"
FORMAT = 2  # of files of episodes; in the first no line says how many there are
ENVIRONMENTS = {True: "legacy", False: "clean", None: "unsaid"}
FAILED_ENDS = (AGENT_ERROR, USER_ERROR)
LARGEST_REWARD = 1e6
"""Of a dialogue, in either direction; what is more would make a mean of nothing else."""


@dataclass(frozen=True, slots=True)
class Record:
    """An episode as a file has it; `legacy` is None where nothing says it.

    `constraints` are (slot, "=" or "!=", value) and `requests` the slots asked for with what was
    told, both None where the goal is not in the file; `turns` are exchanges as plain values.
    `failed` says which side failed in a live dialogue (`agent_error`, `user_error`), and `problem`
    how; `user` is who took the place of the simulated user, if somebody did.
    """

    episode: Episode
    policy: str | None = None
    legacy: bool | None = None
    out_of_time: bool = False
    constraints: tuple[tuple[str, str, str], ...] | None = None
    requests: Mapping[str, str | None] | None = None
    turns: tuple[Mapping[str, Any], ...] = ()
    failed: End | None = None
    problem: str | None = None
    user: str | None = None

    @property
    def task(self) -> Task:
        """The task that was played."""
        return task_named(self.episode.task)


Texts = Mapping[str, str]
"""The texts of files of episodes, by their names."""


def read_texts(path: str, chosen: Selection) -> Texts:
    """Return the texts of a file, a URL, or what is chosen in a folder of a run.

    Raises `InputError` when one cannot be read, `UsageError` where a folder has no such tests.
    """
    files = (path,) if is_url(path) else map(str, selected_files(path, chosen))
    return {file: _text(read_bytes(file), file) for file in files}


def _text(raw: bytes, file: str) -> str:
    return live_text(raw, file) if is_live(raw) else decoded(raw, file)


def holds_trajectories(text: str) -> bool:
    """Tell whether the text of a file is of live dialogues."""
    return is_live(text[:SENSIBLE_LINE].encode(errors="replace"))


def check_records(
    texts: Texts, path: str, chosen: Selection, findings: Findings
) -> tuple[tuple[Record, ...], str]:
    """Return the episodes of texts by seed, task and number, and a checksum of it all.

    `path` names all of them. Raises `InputError` for what is no JSON Lines; all other problems go
    to `findings`.
    """
    records: list[Record] = []
    digest = sha256()
    seen: set[str] = set()
    for name, text in texts.items():
        digest.update(text.encode())
        file = Path(name)
        place = location_of(file)
        settings = RunSettings() if place is None else run_settings(file.absolute().parents[3])
        said: dict[str, Any] = {} if place is None else asdict(place)
        said.pop("dialogues", None)
        reader = _Reader(name, findings, said, settings, seen, task=chosen.task)
        records += reader.read(text)
        reader.check_whole(of_run=place is not None and place.policy in PRESETS)
    if not records and not findings.errors:
        findings.of_file(path).error("no-episodes", "there is no episode in it")
    _check_environments(records, findings.of_file(path))
    order = {name: number for number, name in enumerate(in_order(r.episode.task for r in records))}
    records.sort(
        key=lambda r: (
            r.episode.seed,
            order[r.episode.task],
            r.episode.index,
            r.episode.trial or 0,
        )
    )
    return tuple(records), digest.hexdigest()[:12]


def _check_environments(records: Iterable[Record], findings: Findings) -> None:
    """Note environments that differ and are scored together."""
    played = Counter(record.legacy for record in records)
    if len(played) > 1:
        found = ", ".join(
            f"{played[kind]} {name}" for kind, name in ENVIRONMENTS.items() if kind in played
        )
        message = f"environments that differ are scored together ({found}): score each by itself"
        findings.warning("several-environments", message)


def read_episodes(
    path: Path,
    task: str,
    seed: int,
    *,
    settings: RunSettings = RunSettings(),  # noqa: B008
    findings: Findings | None = None,
) -> tuple[Episode, ...]:
    """Return the dialogues that a run has written to a file, in their order.

    They are checked as those of `check_records`, and numbered from 0 on without a gap, all that
    `settings` say. Problems go to `findings`. Without, raises `InputError` if there are errors.
    """
    found = Findings() if findings is None else findings
    reader = _Reader(str(path), found, {"task": task, "seed": seed}, settings, set())
    records: list[Record] = []
    with found.collecting():
        records = reader.read(read_text(path))
        reader.check_whole(of_run=True)
        _check_environments(records, found.of_file(str(path)))
    if findings is None:
        found.check()
    return tuple(record.episode for record in records)


class _Reader:
    """Reads one file, with what is `said` of all its lines; `seen` are the episodes before it.

    `task` is the one that the user has named.
    """

    def __init__(
        self,
        file: str,
        findings: Findings,
        said: Mapping[str, Any],
        settings: RunSettings,
        seen: set[str],
        *,
        task: str | None = None,
    ) -> None:
        self._file, self._seen, self._named = file, seen, task
        self._findings = findings.of_file(file)
        legacy = {} if settings.legacy is None else {"legacy": settings.legacy}
        self._place = {**said, **legacy}
        self._said = dict(self._place)
        self._tests = settings.tests
        self._numbers: dict[str, list[int]] = {}
        if said.get("task"):
            self._numbers[said["task"]] = []
        self._counted: int | None = None
        self._errors = 0
        self._alike: dict[tuple[Any, ...], tuple[str, int]] = {}

    def read(self, text: str) -> list[Record]:
        try:
            return self._read(text)
        finally:
            for (kind, message, *place), (where, count) in self._alike.items():
                more = f" (and so in {count - 1:,} more)" if count > 1 else ""
                self._findings.error(kind, f"{where}: {message}{more}", count=count, **dict(place))

    def _read(self, text: str) -> list[Record]:
        records: list[Record] = []
        for place, line in self._lines(text):
            if not isinstance(line, Mapping):
                self._error(place, "expected an object, an episode")
                continue
            if isinstance(line.get(META), Mapping):
                if records:
                    message = f"{META} belongs to the first line: several files in one are not read"
                    self._error(place, message, key=META)
                else:
                    self._header(place, line[META])
                continue
            record = self._record(place, {**self._said, **line})
            if record is None:
                continue
            unit = record.episode.unit
            if unit in self._seen:
                self._error(place, "the episode was given before", "repeated", dialogue=unit)
                continue
            self._seen.add(unit)
            self._numbers.setdefault(record.episode.task, []).append(record.episode.index)
            records.append(record)
        return records

    def _lines(self, text: str) -> Iterator[tuple[str, Any]]:
        """Yield where a line is, and what it says; of live dialogues what an episode's would."""
        if holds_trajectories(text):
            for line in episodes_of_trajectories(text, self._findings):
                yield f"{line['task']}/{line['seed']}/{line['dialogue']}", line
            return
        for number, line in parse_json_lines(text, self._file):
            yield f"line {number}", line

    def _header(self, where: str, raw: Mapping[str, Any]) -> None:
        """Take what the first line says of all."""
        version, counted = raw.get("format", FORMAT), raw.get("episodes", 0)
        if not _is_whole(version, 1) or version > FORMAT:
            message = f"format {shorten(repr(version))} of episode files is not known (to {FORMAT})"
            self._error(where, message, "version", key="format")
        elif not _is_whole(counted, 0):
            message = f"expected a number from 0, got {shorten(repr(counted))}"
            self._error(where, message, key="episodes")
        else:
            self._said |= raw
            self._counted = raw.get("episodes")

    def check_whole(self, *, of_run: bool) -> None:
        """Note a file that does not have as many dialogues as its first line says.

        One `of_run` has those numbered 0, 1, 2 …, as many as the settings of the run say. Where
        there are other errors, dialogues are missing because of them.
        """
        if self._errors:
            return
        remedy = ". Remove it, and let `mwzeval pydial` make it anew with the same call as before"
        for lack in self._lacks(of_run=of_run):
            message = f"{lack}: the file was cut or changed{remedy * of_run}"
            self._findings.error("incomplete", message)

    def _lacks(self, *, of_run: bool) -> Iterator[str]:
        tests, told = self._tests, False
        for numbers in self._numbers.values() if of_run else ():
            due = len(numbers) if tests is None else tests
            # Not `list(range(due))`: a damaged run may ask for any number of tests.
            if len(numbers) != due or any(map(ne, sorted(numbers), range(due))):
                found = f"{len(numbers)} dialogues"
                expected = (
                    "numbered from 0 on" if tests is None else f"the {due} of the run's tests"
                )
                yield f"{found}, which are not {expected}"
                told = True
        total = sum(map(len, self._numbers.values()))
        if self._counted not in (None, total) and not told:
            yield f"{total} dialogues, which are not the {self._counted} that its first line says"

    def _error(self, where: str, message: str, kind: str = "shape", **place: Any) -> None:
        """Note an error; of those that are alike in several lines the first stands for all."""
        self._errors += 1
        alike = kind, message, *place.items()
        first, count = self._alike.get(alike, (where, 0))
        self._alike[alike] = first, count + 1

    def _record(self, where: str, raw: Mapping[str, Any]) -> Record | None:
        before = self._errors
        task = self._task(where, raw)
        index, seed = raw.get("dialogue"), raw.get("seed", 0)
        success, exchanges, reward = (raw.get(key) for key in ("success", "exchanges", "reward"))
        legacy, policy, user = (raw.get(key) for key in ("legacy", "policy", "user"))
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
            ("user", user is None or isinstance(user, str), "a text"),
            ("out_of_time", isinstance(raw.get("out_of_time", False), bool), "true or false"),
        ):
            if not fine:
                given = f", got {shorten(repr(raw[key]))}" if key in raw else "; it is missing"
                self._error(where, f"expected {expected}{given}", key=key)
        for key, said in self._place.items():
            if raw.get(key) != said:
                given = shorten(json.dumps(raw[key]))
                message = f"the folder of the file says {json.dumps(said)}, the line {given}"
                self._error(where, message, "other-place", key=key)
        goal = self._goal(where, raw.get("goal"))
        turns = raw.get("turns", [])
        if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
            self._error(where, "expected a list of exchanges", key="turns")
        if task is None or self._errors > before:
            return None
        assert isinstance(index, int)
        assert isinstance(exchanges, int)
        assert reward is not None
        played = task.name, seed, index, bool(success), exchanges, float(reward)
        episode = Episode(*played, raw.get("trial"))
        self._check(episode, task)
        return Record(
            episode,
            policy,
            legacy,
            bool(raw.get("out_of_time")),
            *goal,
            tuple(turns),
            raw["end"] if raw.get("end") in FAILED_ENDS else None,
            raw.get("problem"),
            user,
        )

    def _check(self, episode: Episode, task: Task) -> None:
        if episode.exchanges > task.max_exchanges:
            message = f"a dialogue of the benchmark ends after {task.max_exchanges} exchanges"
            self._findings.warning("too-long", message, dialogue=episode.unit)
        due = task.success_reward * episode.success + task.exchange_reward * episode.exchanges
        if abs(episode.reward - due) > 1e-6:
            message = "the reward is not that of the benchmark (20 for success, -1 an exchange)"
            self._findings.warning("other-reward", message, dialogue=episode.unit)

    def _task(self, where: str, raw: Mapping[str, Any]) -> Task | None:
        named = self._named
        name = raw.get("task", named)
        if name is None:
            message = "of which task? Say it in the line, or --benchmark pydial-CR-1"
            self._error(where, message, key="task")
        elif not isinstance(name, str) or (task := find_task(name)) is None:
            hint = did_you_mean(str(name), TASKS)
            self._error(where, f'unknown task "{shorten(str(name))}"{hint}', key="task")
        elif named is not None and name != named:
            message = f"an episode of {name}, not of {named}"
            self._error(where, message, "other-task", key="task")
        else:
            return task
        return None

    def _goal(self, where: str, raw: Any) -> tuple[Any, Any]:
        if raw is None:
            return None, None
        given = raw if isinstance(raw, Mapping) else {}
        constraints, requests = given.get("constraints"), given.get("requests")
        if (
            not isinstance(constraints, list)
            or not all(_is_constraint(each) for each in constraints)
            or not isinstance(requests, Mapping)
            or not all(value is None or isinstance(value, str) for value in requests.values())
        ):
            shape = '{"constraints": [["area", "=", "north"]], "requests": {"name": null}}'
            self._error(where, f"expected a goal such as {shape}", key="goal")
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
