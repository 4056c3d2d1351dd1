"""Episode files with one episode per line, from benchmark runs, human users or other programs.

Each line has the keys `dialogue`, `success`, `exchanges` and `reward`. The values of `task`,
`seed`, `policy` and `legacy` are in each line, or in a first line `{"_meta": {…}}` as in files of
runs, or in the path of a file in a run folder (TASK/POLICY/seed-N/test-M.jsonl). A first line
`{"_meta": {…}}` also has the number of episodes. Explanations need the keys `goal` and `turns`.
Live dialogues are in trajectory files.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from operator import ne
from pathlib import Path
from typing import Any, Literal

from mwzeval.conversation.protocols import AGENT_ERROR, INFRASTRUCTURE, LIMIT, USER_ERROR, End
from mwzeval.conversation.trajectory import Trajectory, check_live, is_live, live_text
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import (
    COMPRESSED,
    SENSIBLE_LINE,
    decoded,
    is_url,
    parse_json_lines,
    read_bytes,
    read_json,
    read_text,
)
from mwzeval.files.writing import write_atomically
from mwzeval.pydial import NAME, TITLE
from mwzeval.pydial.episodes import (
    EXCHANGES,
    FINAL_GOAL,
    REWARD,
    SUCCESS,
    Episode,
    turns_of,
)
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.tasks import (
    GOODBYES,
    TASKS,
    USERS,
    Goodbye,
    Task,
    find_task,
    in_order,
    task_named,
)
from mwzeval.scores.findings import Findings

PLACES = {
    kind: re.compile(rf"([^/]+)/([^/]+)/seed-(\d+)/{kind}-(\d+)\.{ending}")
    for kind, ending in (("test", r"jsonl(?:\.gz|\.xz|\.zst)?"), ("model", "safetensors"))
}
TESTS = "seed-*/test-*.jsonl"
SETTINGS = "run.json"
"""The file with the settings of a run."""


@dataclass(frozen=True, slots=True)
class FileLocation:
    """The parts of the path of a test or model; `dialogues` is the number of training dialogues."""

    task: str
    policy: str
    seed: int
    dialogues: int


def location_of(file: Path, kind: Literal["test", "model"] = "test") -> FileLocation | None:
    """Parse a path such as TASK/POLICY/seed-N/test-M.jsonl; return None for any other path."""
    match = PLACES[kind].fullmatch("/".join(file.absolute().parts[-4:]))
    if match is None or find_task(match[1]) is None:
        return None
    return FileLocation(match[1], match[2], int(match[3]), int(match[4]))


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run: the number of dialogues per test, whether the run uses `legacy`, and
    who ends dialogues in environments without masks.
    """

    tests: int | None = None
    legacy: bool | None = None
    goodbye: Goodbye | None = None


def run_settings(run: Path) -> RunSettings:
    """Return the settings in a run folder, or empty settings if the folder has no settings file.

    Raises `InputError` if the settings are damaged.
    """
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
    """Selects the tests to read from a folder. The option `--benchmark` selects `task`."""

    policy: str | None = None
    dialogues: int | None = None
    task: str | None = None


def selected_files(path: str, chosen: Selection) -> tuple[Path, ...]:
    """Return the given file itself or, for a run folder, the test files of one policy.

    If `chosen.dialogues` is None, the tests after the largest number of training dialogues are
    selected. Raises `UsageError` if the folder has no tests, or if it has tests of several
    policies.
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
            raise UsageError(f"{shorten(path, 300)} has no tests of {chosen.task} (only of {held})")
        found = [(file, place) for file, place in found if place.task == chosen.task]
    if not found:
        raise UsageError(f"{shorten(path, 300)} has no tests of a run (TASK/POLICY/{TESTS})")
    policies = tuple(dict.fromkeys(place.policy for _, place in found))
    policy = chosen.policy or (policies[0] if len(policies) == 1 else None)
    if policy not in policies:
        say = "choose one with --policy" if policy is None else f'no policy "{shorten(policy)}"'
        hint = "" if policy is None else did_you_mean(policy, policies)
        raise UsageError(f"{shorten(path, 300)}: {say}{hint} ({', '.join(policies)})")
    found = [(file, place) for file, place in found if place.policy == policy]
    after = sorted({place.dialogues for _, place in found})
    dialogues = after[-1] if chosen.dialogues is None else chosen.dialogues
    if dialogues not in after and after != [0]:  # a policy that does not learn is tested only once
        known = ", ".join(map(str, after))
        raise UsageError(f"{shorten(path, 300)}: no test after {dialogues} dialogues ({known})")
    return tuple(file for file, place in found if place.dialogues in (dialogues, 0))


META = "_meta"
FORMAT = 2  # the format of episode files; files of format 1 do not contain the number of episodes
ENVIRONMENTS = {True: "legacy", False: "clean", None: "unsaid"}
FAILED_ENDS = (AGENT_ERROR, USER_ERROR)
LARGEST_REWARD = 1e6
"""The largest absolute reward of a dialogue. A larger reward would dominate any mean."""
TURN = '{"system": "hello()", "user": "bye()", "heard": [["bye()", 0.9]]}'
SURROGATE = "\\ud"
"""The first characters of an escaped surrogate in JSON."""
ITEM = re.compile(r"(?P<task>[^/]+)/(?P<seed>\d{1,18})/(?P<dialogue>\d{1,18})")
REMEDY = ". Remove it, and repeat the `mwzeval pydial` command that wrote it"
FACTS = (SUCCESS, EXCHANGES, REWARD, "policy", "legacy")


@dataclass(frozen=True, slots=True)
class Record:
    """An episode that was read from a file. `legacy` is None if the file does not specify it.

    `constraints` are triples of a slot, an operator ("=" or "!=") and a value. `requests` maps
    requested slots to the values that the system gave. If the file has no goal, `constraints` and
    `requests` are None. `turns` has the turns of the episode in plain form. `failed` is
    `agent_error` or `user_error` if one side failed in a live dialogue, and `problem` describes the
    failure. `user` names the user that replaced the simulated user, if any.
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
        """The task in which the episode was played."""
        return task_named(self.episode.task)


def read_records(
    path: str, chosen: Selection, findings: Findings
) -> tuple[tuple[Record, ...], str]:
    """Return the episodes in a file or URL, or in the selected tests of a run folder, and a
    checksum of the content.

    The episodes are sorted by seed, task and number. Raises `InputError` if a file is unreadable
    or is not valid JSON Lines, and `UsageError` if a folder has no such tests. Other problems are
    added to `findings`.
    """
    files = [path] if is_url(path) else map(str, selected_files(path, chosen))
    contents = {file: read_bytes(file) for file in files}
    records: list[Record] = []
    digest = sha256()
    seen: set[str] = set()
    for name, raw in contents.items():
        text = live_text(raw, name) if is_live(raw) else decoded(raw, name)
        digest.update(text.encode())
        file = Path(name)
        place = location_of(file)
        settings = RunSettings() if place is None else run_settings(file.absolute().parents[3])
        said: dict[str, Any] = {} if place is None else asdict(place)
        said.pop("dialogues", None)
        reader = _Reader(name, findings, said, settings, seen, task=chosen.task)
        records += reader.read(text, of_run=place is not None and place.policy in PRESETS)
    if not records and not findings.errors:
        findings.of_file(path).error("no-episodes", "the file has no episode")
    _check_environments(records, findings.of_file(path))
    order = {name: number for number, name in enumerate(in_order(r.episode.task for r in records))}

    def rank(record: Record) -> tuple[int, ...]:
        episode = record.episode
        return episode.seed, order[episode.task], episode.index, episode.trial or 0

    return tuple(sorted(records, key=rank)), digest.hexdigest()[:12]


def _check_environments(records: Iterable[Record], findings: Findings) -> None:
    """Add a warning if episodes come from different environments but are scored together."""
    played = Counter(record.legacy for record in records)
    if len(played) > 1:
        found = ", ".join(
            f"{played[kind]} {name}" for kind, name in ENVIRONMENTS.items() if kind in played
        )
        message = f"the file mixes different environments ({found}): score each separately"
        findings.warning("several-environments", message)


def read_episodes(
    path: Path,
    task: str,
    seed: int,
    *,
    settings: RunSettings = RunSettings(),
    findings: Findings | None = None,
) -> tuple[Episode, ...]:
    """Return the dialogues in a test file of a run, in their order.

    The checks of `read_records` are included. The dialogues in the file must be numbered from 0
    without gaps, and their number must agree with `settings`. Problems are added to `findings`; if
    `findings` is None, errors raise `InputError`.
    """
    found = Findings() if findings is None else findings
    records: list[Record] = []
    reader = _Reader(str(path), found, {"task": task, "seed": seed}, settings, set())
    with found.collecting():
        records = reader.read(read_text(path), of_run=True)
        _check_environments(records, found.of_file(str(path)))
    if findings is None:
        found.check()
    return tuple(record.episode for record in records)


def _live_episodes(text: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """Convert a trajectory file and yield the lines of the equivalent episode file.

    Infrastructure failures are omitted with a warning. Problems are added to `findings`.
    """
    live = check_live(text, findings)
    said = live.header.get("benchmark", NAME)
    if said != NAME:
        message = f'the header says that the benchmark is "{shorten(str(said))}", not {TITLE}'
        findings.error("other-benchmark", f"{message}: leave out --benchmark", key="benchmark")
        return
    of_all: dict[str, Any] = {"legacy": live.header.get("legacy")}
    agent = live.header.get("agent")
    if isinstance(agent, Mapping):
        of_all["policy"] = agent.get("spec")
    user = live.header.get("user")
    if isinstance(user, Mapping) and user.get("spec") not in USERS:
        of_all["user"] = str(user.get("spec"))
    for name, trajectory in live.dialogues.items():
        if trajectory.end == INFRASTRUCTURE:
            message = "the dialogue failed with an infrastructure error and is not scored"
            findings.warning("infrastructure", message, dialogue=name)
        elif (match := ITEM.fullmatch(trajectory.item)) is None:
            message = 'the name of a dialogue must be TASK/SEED/NUMBER, such as "CR-1/0/000003"'
            findings.error("shape", message, dialogue=name)
        else:
            more = trajectory.more
            yield {
                **of_all,
                "task": match["task"],
                "seed": int(match["seed"]),
                "dialogue": int(match["dialogue"]),
                **{key: more[key] for key in FACTS if key in more},
                "trial": trajectory.trial if trajectory.is_numbered else None,
                "out_of_time": trajectory.end == LIMIT,
                "end": trajectory.end,
                "problem": trajectory.problem,
                "goal": more.get(FINAL_GOAL, trajectory.goal),
                "turns": turns_of(trajectory.acts),
            }


class _Reader:
    """Reads a file. `said` applies to all its lines; `seen` has the episodes of other files.

    `task` is the task that the command names.
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

    def read(self, text: str, *, of_run: bool) -> list[Record]:
        """Return the episodes of a text; the test of a run (`of_run`) must be complete."""
        records: list[Record] = []
        self._has_escapes = SURROGATE in text.lower()
        try:
            for place, line in self._lines(text):
                record = self._line(place, line, is_first=not records)
                if record is not None:
                    records.append(record)
        finally:
            for (kind, message, *key), (where, count) in self._alike.items():
                more = f" (and so in {count - 1:,} more)" if count > 1 else ""
                self._findings.error(kind, f"{where}: {message}{more}", count=count, **dict(key))
        # If there are other errors, they explain why dialogues are missing.
        if not self._errors:
            self._check_whole(of_run=of_run)
        return records

    def _line(self, place: str, line: Any, *, is_first: bool) -> Record | None:
        if not isinstance(line, Mapping):
            self._error(place, "expected an object, an episode")
            return None
        if self._has_escapes and not _is_unicode(line):
            self._error(place, "the text contains an unpaired surrogate: correct it")
            return None
        if isinstance(line.get(META), Mapping):
            if is_first:
                self._header(place, line[META])
            else:
                message = f"{META} must be in the first line: concatenated files cannot be read"
                self._error(place, message, key=META)
            return None
        record = self._record(place, {**self._said, **line})
        if record is None:
            return None
        unit = record.episode.unit
        if unit in self._seen:
            self._error(place, "the episode occurs twice", "repeated", dialogue=unit)
            return None
        self._seen.add(unit)
        self._numbers.setdefault(record.episode.task, []).append(record.episode.index)
        return record

    def _lines(self, text: str) -> Iterator[tuple[str, Any]]:
        """Yield the location and content of each line. Live dialogues are converted to episodes."""
        if is_live(text[:SENSIBLE_LINE].encode(errors="replace")):
            for line in _live_episodes(text, self._findings):
                yield f"{line['task']}/{line['seed']}/{line['dialogue']}", line
            return
        for number, line in parse_json_lines(text, self._file):
            yield f"line {number}", line

    def _header(self, where: str, raw: Mapping[str, Any]) -> None:
        """Read the first line, which applies to all episodes."""
        version, counted = raw.get("format", FORMAT), raw.get("episodes", 0)
        if not _is_whole(version, 1) or version > FORMAT:
            message = (
                f"unknown format {shorten(repr(version))} of episode files (known: 1 to {FORMAT})"
            )
            self._error(where, message, "version", key="format")
        elif not _is_whole(counted, 0):
            message = f"expected a number from 0, got {shorten(repr(counted))}"
            self._error(where, message, key="episodes")
        else:
            self._said |= raw
            self._counted = raw.get("episodes")

    def _check_whole(self, *, of_run: bool) -> None:
        """Add an error if the number of dialogues differs from the first line.

        The dialogues of a test of a run are numbered from 0; the run settings give their number.
        """
        lacks = []
        for numbers in self._numbers.values() if of_run else ():
            due = len(numbers) if self._tests is None else self._tests
            # Not `list(range(due))`: a damaged run may ask for any number of tests.
            if len(numbers) != due or any(map(ne, sorted(numbers), range(due))):
                expected = f"the {due} of the run's tests"
                expected = "numbered from 0 on" if self._tests is None else expected
                lacks.append(f"{len(numbers)} dialogues instead of {expected}")
        total = sum(map(len, self._numbers.values()))
        if self._counted not in (None, total) and not lacks:
            counted = f"the {self._counted} that the first line states"
            lacks.append(f"{total} dialogues instead of {counted}")
        for lack in lacks:
            message = f"{lack}: the file was cut or changed{REMEDY * of_run}"
            self._findings.error("incomplete", message)

    def _error(self, where: str, message: str, kind: str = "shape", **place: Any) -> None:
        """Add an error. If several lines have similar errors, only the first error is added."""
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
                message = (
                    f"the folder of the file says {json.dumps(said)}, but the line says {given}"
                )
                self._error(where, message, "other-place", key=key)
        goal = self._goal(where, raw.get("goal"))
        turns = raw.get("turns", [])
        if not isinstance(turns, list) or not all(map(_is_turn, turns)):
            self._error(where, f"expected a list of turns such as {TURN}", key="turns")
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
            message = f"a dialogue of the benchmark ends after {task.max_exchanges} turns"
            self._findings.warning("too-long", message, dialogue=episode.unit)
        due = task.success_reward * episode.success + task.exchange_reward * episode.exchanges
        if abs(episode.reward - due) > 1e-6:
            message = (
                "the reward does not follow the rule of the benchmark (20 for success, -1 per turn)"
            )
            self._findings.warning("other-reward", message, dialogue=episode.unit)

    def _task(self, where: str, raw: Mapping[str, Any]) -> Task | None:
        named = self._named
        name = raw.get("task", named)
        if name is None:
            message = "the task is unknown: add it to the line, or use --benchmark pydial-CR-1"
            self._error(where, message, key="task")
        elif not isinstance(name, str) or (task := find_task(name)) is None:
            hint = did_you_mean(str(name), TASKS)
            self._error(where, f'unknown task "{shorten(str(name))}"{hint}', key="task")
        elif named is not None and name != named:
            message = f"the episode is of {name}, not of {named}"
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
            or not all(_is_constraint(constraint) for constraint in constraints)
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
    return abs(value) <= most  # compared exactly, because JSON integers may have any length


def _is_turn(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    heard = value.get("heard")
    return all(isinstance(value.get(who), str | None) for who in ("system", "user")) and (
        heard is None or (isinstance(heard, list) and all(map(_is_hypothesis, heard)))
    )


def _is_hypothesis(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return isinstance(value[0], str) and _is_number(value[1])


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_constraint(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(v, str) for v in value)


def write_episodes(path: Path, episodes: Iterable[Episode], about: Mapping[str, Any]) -> None:
    """Write the content of `episodes_text` to a file. Raises `MwzevalError` on failure."""
    write_atomically(path, episodes_text(episodes, about))


def episodes_text(episodes: Iterable[Episode], about: Mapping[str, Any]) -> str:
    """Return the content of an episode file, which has a header and one line for each dialogue.

    A line has the utterances of the dialogue if they were recorded. The header has the number of
    dialogues and the properties `about` that all dialogues share, such as task and seed.
    """
    lines = [
        json.dumps(
            {
                "dialogue": episode.index,
                "success": episode.success,
                "exchanges": episode.exchanges,
                "reward": episode.reward,
                **episode.talk,
            }
        )
        for episode in episodes
    ]
    header = json.dumps({META: {"format": FORMAT, "episodes": len(lines), **about}})
    return "".join(f"{line}\n" for line in [header, *lines])


def episodes_in(path: str | Path) -> tuple[Episode, ...]:
    """Return the episodes of a file that will be extended, or () if the file does not exist.

    Raises `InputError` if the file has other content, and `UsageError` if the file cannot be
    extended.
    """
    file = Path(path)
    if str(path) == "-" or file.suffix in COMPRESSED or file.is_dir() or not file.parent.is_dir():
        raise UsageError(
            f"episodes cannot be added to {shorten(str(path), 300)}: name an uncompressed file "
            "in an existing folder"
        )
    if not file.exists() or not file.stat().st_size:
        return ()
    findings = Findings()
    records, _ = read_records(str(path), Selection(), findings)
    findings.check()
    if not is_live(read_bytes(path)):
        raise UsageError(
            f"{shorten(str(path), 300)} contains episodes without dialogue acts, so no episodes "
            "can be added: name another file"
        )
    return tuple(record.episode for record in records)


def added_to(path: str | Path, trajectory: Trajectory) -> None:
    """Append a dialogue to a trajectory file; on failure, the file does not change.

    Raises `InputError` if the file is unreadable, and `MwzevalError` if it is unwritable.
    """
    file = Path(path)
    before = read_text(path) if file.exists() and file.stat().st_size else ""
    end = "" if not before or before.endswith("\n") else "\n"
    write_atomically(path, f"{before}{end}{trajectory.line()}")
