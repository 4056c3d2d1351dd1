"""Trajectories: a file with one dialogue per line, as JSON, after a header line.

Trajectories can be scored, explained and compared without the agent. Unknown keys are ignored. A
file contains no timestamps, and its order is fixed. A run therefore always produces the same bytes,
regardless of how many dialogues run in parallel. In files of other programs, the header may be
missing, and a line only needs the dialogue name and its messages or acts. Each problem of a
trajectory file is reported with its location.

A `Record` collects the turns of a running dialogue, and a `TrajectoryLog` collects the dialogues of
a run.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeGuard

from mwzeval.conversation.messages import (
    MEANT,
    ChatMessage,
    Message,
    as_meant,
    check_message,
    read_messages,
)
from mwzeval.conversation.protocols import (
    ENDS,
    INFRASTRUCTURE,
    LIMIT,
    USER_ERROR,
    USER_STOP,
    AnswerError,
    End,
    Ending,
)
from mwzeval.errors import InputError, UsageError, shorten
from mwzeval.files.reading import (
    SENSIBLE_LINE,
    RepeatedKeys,
    check_size,
    decoded,
    parse_json,
)
from mwzeval.files.writing import named_where_unwritable, written_atomically
from mwzeval.scores.findings import LIST, Findings, Place, found, repeated
from mwzeval.statistics.trials import item_and_trial, trial_name
from mwzeval.text import json_value

fcntl: Any
try:
    import fcntl
except ImportError:  # without locks, two runs that write to one file are not detected
    fcntl = None

FORMAT = "mwzeval_live"
"""The key that identifies a header; its value is the version of the format."""
FORMAT_VERSION = 1
DIALOGUE, GOAL, MESSAGES, ACTS, END = "dialogue", "goal", "messages", "acts", "end"
EXPECTED = f'expected {{"{DIALOGUE}": id, "{GOAL}": …, "{MESSAGES}": […]}}'
_KNOWN = (DIALOGUE, "trial", GOAL, MESSAGES, ACTS, END, "problem", "turns")
MOST = 1_000_000
"""The upper limit for the number of turns and for trial numbers."""


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_messages(value: Any) -> bool:
    return isinstance(value, LIST) and all(isinstance(item, Mapping) for item in value)


_SHAPES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("trial", lambda value: _is_count(value) and value > 0, f"a whole number from 1 to {MOST:,}"),
    (END, lambda value: value in ENDS, f"one of {', '.join(ENDS)}"),
    ("turns", _is_count, f"a whole number up to {MOST:,}"),
    ("problem", lambda value: isinstance(value, str | None), "text"),
    (ACTS, lambda value: isinstance(value, LIST), "a list of turns"),
    (MESSAGES, _is_messages, "a list of objects"),
)
"""A row for each checked key: the key, the function that checks its value, and the expected value
for error messages."""


@dataclass(frozen=True)
class Trajectory:
    """One dialogue: its goal, messages and calls, and ending.

    `item` is the name of the goal; several trials (numbers `trial`, from 1) may have the same goal.
    `messages` has the original messages of a text-level dialogue, and `talk` has the parsed
    messages. `acts` has the turns of an act-level dialogue as `[user acts, agent acts]`. `turns` is
    the number of user turns. `more` has the other keys of the line.
    """

    item: str
    goal: Any
    messages: tuple[Message, ...] = ()
    acts: tuple[Any, ...] = ()
    end: End = USER_STOP
    problem: str | None = None
    turns: int = 0
    trial: int = 1
    is_numbered: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the dialogue: the item and, if there are several trials, the trial number."""
        return trial_name(self.item, self.trial if self.is_numbered else None)

    @cached_property
    def talk(self) -> tuple[ChatMessage, ...]:
        """The parsed messages, with the user's intended text if the agent read another text."""
        return read_messages(as_meant(self.messages))

    @property
    def report(self) -> Mapping[str, Any]:
        """The report of the user at the end; empty if there is none."""
        report = self.more.get("user")
        return report if isinstance(report, Mapping) else {}

    def to_json(self) -> dict[str, Any]:
        """Return the dialogue's line as a JSON object."""
        return {
            DIALOGUE: self.name,
            "trial": self.trial,
            GOAL: self.goal,
            **({ACTS: self.acts} if self.acts else {}),
            **({MESSAGES: self.messages} if self.messages or not self.acts else {}),
            END: self.end,
            **({} if self.problem is None else {"problem": self.problem}),
            "turns": self.turns,
            **self.more,
        }

    def line(self) -> str:
        """Return the dialogue as a line of a trajectory file, including the newline."""
        return json_line(self.to_json())


def json_line(plain: Mapping[str, Any]) -> str:
    """Return a JSON object as a line of a file, including the newline."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def is_header(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a JSON value is the header of a trajectory file."""
    return isinstance(raw, Mapping) and FORMAT in raw


def header(benchmark: str, version: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a file; `about` has all settings that determine the dialogues."""
    return {FORMAT: FORMAT_VERSION, "benchmark": benchmark, "version": version, **about}


def is_dialogue(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a JSON value has the form of a dialogue line."""
    return (
        isinstance(raw, Mapping)
        and isinstance(raw.get(DIALOGUE), str)
        and (MESSAGES in raw or ACTS in raw)
    )


def trajectory_of(raw: Mapping[str, Any]) -> Trajectory:
    """Return the dialogue in a line of a trajectory file for which `is_dialogue` is true.

    If another program wrote the line, only the dialogue name and the messages or acts are required.
    Raises `ValueError` if a value is invalid.
    """
    for key, is_right, expected in _SHAPES:
        if key in raw and not is_right(raw[key]):
            raise ValueError(f"{key} is {expected}, not {shorten(repr(raw[key]))}")
    item, number = item_and_trial(raw[DIALOGUE])
    messages, acts = tuple(raw.get(MESSAGES, ())), tuple(raw.get(ACTS, ()))
    turns = raw.get("turns") or sum(message.get("role") == "user" for message in messages)
    return Trajectory(
        item,
        raw.get(GOAL),
        messages,
        acts,
        raw.get(END, USER_STOP),
        raw.get("problem"),
        turns or len(acts),
        raw.get("trial", number or 1),
        number is not None,
        {key: value for key, value in raw.items() if key not in _KNOWN},
    )


@dataclass(frozen=True, slots=True)
class LiveFile:
    """The header of a file (empty if there is none), and the dialogues in file order.

    `dialogues` maps names to dialogues; `sng0073#2` is the second trial of `sng0073`.
    """

    header: Mapping[str, Any] = field(default_factory=dict)
    dialogues: Mapping[str, Trajectory] = field(default_factory=dict)


def live_text(raw: bytes, name: str) -> str:
    """Return the text of a trajectory file; the last line may be cut off within a character.

    Raises `InputError` if the file is empty or not UTF-8.
    """
    end = raw.rfind(b"\n") + 1
    if not end:
        return decoded(raw, name)
    return decoded(raw[:end], name) + raw[end:].decode(errors="replace")


def is_live(raw: bytes) -> bool:
    """Return whether the content or the first line of a file has the form of a trajectory file.

    The first line must be a header, an act-level dialogue, or a text-level dialogue with a goal or
    an ending. Predictions in the form of messages have neither a goal nor an ending.
    """
    first = raw[:SENSIBLE_LINE].removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0]
    if f'"{FORMAT}"'.encode() not in first and f'"{DIALOGUE}"'.encode() not in first:
        return False
    try:
        line = parse_json(first.decode(), "")
    except (InputError, UnicodeDecodeError):
        return False
    return is_header(line) or (is_dialogue(line) and not line.keys().isdisjoint((ACTS, GOAL, END)))


def check_live(text: str, findings: Findings) -> LiveFile:
    """Return the trajectories of a text; problems are added to `findings`.

    An incomplete last line is skipped with a warning, because the dialogue of this line is repeated
    when the run is resumed.
    """
    first: Mapping[str, Any] = {}
    dialogues: dict[str, Trajectory] = {}
    without_end: list[str] = []
    lines = text.split("\n")  # not `splitlines`, which also breaks within JSON strings
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            raw = parse_json(line, findings.file or "", first_line=number)
        except InputError as error:
            if number < len(lines) or error.problems[0].kind != "not-json":
                findings.extend(error.problems)
            else:
                findings.warning(
                    "cut-off",
                    f"line {number} is incomplete and left out: the run was interrupted there "
                    "and can be resumed",
                )
            continue
        if is_header(raw):
            if raw[FORMAT] != FORMAT_VERSION:
                findings.error(
                    "version",
                    f"line {number}: version {shorten(str(raw[FORMAT]))} of the format is not "
                    f"known (known: {FORMAT_VERSION})",
                    key=FORMAT,
                )
            if not (first or dialogues):
                first = raw
            elif raw != first:
                message = (
                    f"line {number}: the file has a second header, but two runs cannot be "
                    "scored together"
                )
                findings.error("other-header", message, key=FORMAT)
        elif is_dialogue(raw):
            dialogue = _checked(number, raw, findings)
            if dialogue is not None and dialogue.name in dialogues:
                message = f"line {number}: the dialogue occurs twice"
                findings.error("repeated-dialogue", message, dialogue=dialogue.name)
            elif dialogue is not None:
                dialogues[dialogue.name] = dialogue
                if END not in raw:
                    without_end.append(dialogue.name)
        else:
            lacking = f'found neither "{MESSAGES}" nor "{ACTS}"'
            if not isinstance(raw, Mapping):
                lacking = found(raw)
            elif not isinstance(raw.get(DIALOGUE), str):
                lacking = f'"{DIALOGUE}" is missing or not a string'
            findings.error("shape", f"line {number}: {EXPECTED}, {lacking}")
    if not dialogues and not findings.errors:
        findings.error("empty", "the file has no dialogue")
    for name in without_end:
        message = f'"{END}" is missing, so it is assumed that the user ended the dialogue'
        findings.warning("no-end", message, dialogue=name)
    return LiveFile(first, dialogues)


def _checked(number: int, raw: Mapping[str, Any], findings: Findings) -> Trajectory | None:
    """Return the dialogue of a line, or None if it is invalid; problems are added to `findings`."""
    name = raw[DIALOGUE]

    def error(kind: str, message: str, key: str | None = None) -> None:
        findings.error(kind, f"line {number}: {message}", dialogue=name, key=key)

    if isinstance(raw, RepeatedKeys):
        error("repeated-key", repeated(raw))
    try:
        dialogue = trajectory_of(raw)
    except ValueError as problem:
        error("shape", str(problem))
        return None
    named = item_and_trial(name)[1]
    if named not in (None, dialogue.trial):
        error(
            "shape",
            f"the trial is {dialogue.trial}, but according to the name it is {named}",
            "trial",
        )
    dialogue = replace(dialogue, is_numbered=named is not None or dialogue.trial > 1)
    name = dialogue.name
    if not dialogue.messages and not dialogue.acts and dialogue.end in (USER_STOP, LIMIT):
        error("empty", "the dialogue has no messages")
    for position, message in enumerate(dialogue.messages):
        check_message(message, Place(findings, name, position), f"{MESSAGES}[{position}]")
    for position, turn in enumerate(dialogue.acts):
        if not (isinstance(turn, LIST) and len(turn) == 2):
            expected = f"a turn must be [acts of the user, acts of the agent], {found(turn)}"
            error("shape", expected, f"{ACTS}[{position}]")
    return dialogue


class Planned(NamedTuple):
    """A dialogue that will be run: its goal, its trial, and the seed of the run.

    `is_numbered` is true if the name of the dialogue includes the trial number, which starts at 1.
    """

    item: str
    goal: Any
    trial: int = 1
    is_numbered: bool = False
    seed: int = 0

    @property
    def name(self) -> str:
        """The name of the dialogue in the file."""
        return trial_name(self.item, self.trial if self.is_numbered else None)

    @property
    def key(self) -> str:
        """The text from which all random choices in the dialogue are seeded."""
        return f"{self.seed}/{self.item}/{self.trial}"

    @property
    def number(self) -> int:
        """A seed of 31 bits, the range that many generators and servers require."""
        return _number(self.key)

    def number_of(self, side: str) -> int:
        """Return the seed of the random choices of a side; each side has its own seed."""
        return _number(f"{self.key}/{side}")


def _number(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


MOST_MESSAGES = 10_000
"""The maximum number of messages in a dialogue; more are an error of the agent."""
MOST_CHARACTERS = 10_000_000
"""The maximum number of characters in all messages of a dialogue."""
_TALK = frozenset(("role", "content", "tool_call_id", MEANT))
Event = tuple[str, Any]
"""A change of a `Record`: the name of the method, and its argument."""


class Record:
    """A dialogue in progress: messages or act-level turns, other keys, and the expected ending.

    `on_event` is called immediately with each change; another process can repeat the change with
    `Record.add(event)`.
    """

    def __init__(self, on_event: Callable[[Event], object] | None = None) -> None:
        self.messages: list[Message] = []
        self.acts: list[Any] = []
        self.more: dict[str, Any] = {}
        self.ending = Ending(USER_ERROR, 0)
        self.user: Any = None
        """The user of the dialogue, in the process that runs it."""
        self._characters = 0
        self._on_event = on_event

    @property
    def is_watched(self) -> bool:
        """Whether another process receives all changes, and may stop the dialogue at any time."""
        return self._on_event is not None

    def message(self, message: Message) -> None:
        """Record a message.

        Raises `AnswerError` if the dialogue has too many messages or characters.
        """
        is_talk = _TALK.issuperset(message)
        self._characters += len(message.get("content") or "" if is_talk else json.dumps(message))
        if len(self.messages) >= MOST_MESSAGES or self._characters > MOST_CHARACTERS:
            raise AnswerError(
                f"more than {MOST_MESSAGES:,} messages or {MOST_CHARACTERS:,} characters in a "
                "dialogue"
            )
        self.messages.append(message)
        self._notify("message", message)

    def said(self, acts: Any) -> None:
        """Record the acts of a user turn, which begins a new turn."""
        self.exchange([acts, []])

    def heard(self, acts: Any) -> None:
        """Record the acts of the agent's answer to the last user turn."""
        self.acts[-1][1] = acts
        self._notify("heard", acts)

    def exchange(self, exchange: Any) -> None:
        """Record a turn of user and agent, in the format of the benchmark."""
        self.acts.append(exchange)
        self._notify("exchange", exchange)

    def note(self, ending: Ending) -> None:
        """Record the ending that applies if the next call never returns."""
        self.ending = ending
        self._notify("note", ending)

    def keep(self, more: Mapping[str, Any]) -> None:
        """Record other keys of the dialogue's line; a new value replaces the previous value."""
        self.more.update(more)
        self._notify("keep", more)

    def add(self, event: Event) -> None:
        """Apply a change that the record of another process has reported."""
        method, value = event
        getattr(self, method)(value)

    def trajectory(self, planned: Planned, ending: Ending) -> Trajectory:
        """Return the dialogue with this ending."""
        item, goal, trial, is_numbered, _ = planned
        messages, acts, more = tuple(self.messages), tuple(self.acts), dict(self.more)
        end, turns, problem = ending
        return Trajectory(item, goal, messages, acts, end, problem, turns, trial, is_numbered, more)

    def broken_off(self, planned: Planned, ending: Ending) -> Trajectory:
        """Return the dialogue with this ending, or as complete if the user has finished."""
        is_over = self.ending.end == USER_STOP
        return self.trajectory(planned, self.ending if is_over else ending)

    def _notify(self, method: str, value: Any) -> None:
        if self._on_event is not None:
            self._on_event((method, value))


ENDING = ".jsonl"
NOT_COMPARED = frozenset({"comment"})
"""Keys of a header that people add by hand; these keys do not affect the dialogues."""


class TrajectoryLog:
    """The output file of a run, to which each dialogue is appended when it ends; a context manager.

    Each line is passed to the operating system as soon as its dialogue has ended. At the end of the
    run, the lines are sorted and the file is replaced atomically. The file of an interrupted run
    can be resumed, even if it ends within a line; the result equals that of an uninterrupted run.

    `header` and `names` are the header and the ordered dialogue names of the run; `ends` maps the
    names of dialogues in the file to their endings. If the file exists, the run is resumed; the
    header of the file must be equal to `header`. Dialogues that ended with an infrastructure error
    are repeated. Nothing is written before `begin`.

    Raises `UsageError` if the file has other content or another run is writing to the file. Raises
    `MwzevalError` if the file cannot be written. Raises `InputError` if the file is too large.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any], names: Sequence[str]) -> None:
        self._name = shorten(str(path), 300)
        self._path = Path(os.path.realpath(path))
        self._header = header
        self._first_line = json_line(header).encode()
        self._order = {name: number for number, name in enumerate(names)}
        self._stream: BinaryIO | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0
        self.ends: dict[str, End] = {}
        if self._path.is_dir():
            raise UsageError(f"{self._name} is a directory: name a file, such as run{ENDING}")
        if self._path.suffix != ENDING:
            raise UsageError(f"{self._name}: the name of a file of dialogues must end in {ENDING}")
        if self._path.exists():
            if not stat.S_ISREG(self._path.stat().st_mode):
                raise UsageError(f"{self._name} is not a regular file: name another file")
            self._open()

    def begin(self) -> None:
        """Write the header if the file has none."""
        if self._stream is None:
            with named_where_unwritable(self._name):
                try:
                    self._path.open("xb").close()
                except FileExistsError:
                    raise UsageError(self._is_written) from None
            self._open()
        if not self._size:
            self._append(self._first_line)

    def add(self, trajectory: Trajectory) -> None:
        """Append a dialogue and pass its line to the operating system before returning."""
        # UTF-8 cannot encode lone surrogates; they are written as JSON escapes.
        line = trajectory.line().encode("utf-8", "backslashreplace")
        self._places[trajectory.name] = self._size, len(line)
        self.ends[trajectory.name] = trajectory.end
        self._append(line)

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the dialogues in the file."""
        for name in list(self._places):
            yield trajectory_of(json.loads(self._line(name)))

    def put_in_order(self) -> None:
        """Sort the dialogues by the order of the run."""
        names = sorted(self._places, key=self._order.__getitem__)
        if names != list(self._places):
            self._replace(names)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            with named_where_unwritable(self._name):
                self._stream.close()

    def __enter__(self) -> TrajectoryLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _open(self) -> None:
        check_size(str(self._path))
        stream = self._lock_anew()
        with named_where_unwritable(self._name):
            self._size = self._read(stream)
            # Remove the incomplete line of an interrupted run.
            stream.seek(self._size)
            stream.truncate()
        kept = [name for name in self._places if name in self.ends]
        size = len(self._first_line) + sum(self._places[name][1] for name in kept)
        if self._size not in (0, size):  # dialogues to repeat, duplicate lines, empty lines
            self._replace(kept)

    def _lock_anew(self) -> BinaryIO:
        """Open and lock the file. Raises `UsageError` if another run has locked it."""
        with named_where_unwritable(self._name):
            stream = self._path.open("r+b")
        # Child processes do not inherit locks of this kind. A process loses the lock when it closes
        # any stream to the file, so this is the only stream.
        if fcntl is not None:
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = os.path.samestat(os.fstat(stream.fileno()), self._path.stat())
            except OSError:
                is_ours = False
            if not is_ours:
                raise UsageError(self._is_written)
        self.close()
        self._stream = stream
        return stream

    def _read(self, stream: BinaryIO) -> int:
        """Read the dialogues; return the number of bytes in complete lines."""
        first = stream.readline()
        is_line = first.endswith(b"\n")
        if not is_line and self._first_line.startswith(first):
            return 0
        self._check_header(json_value(first) if is_line else None)
        self._first_line = first
        place = len(first)
        for number, line in enumerate(stream, 2):
            if not line.endswith(b"\n"):
                break
            if line.strip():
                dialogue = self._dialogue(json_value(line), number)
                self._places[dialogue.name] = place, len(line)
                self.ends[dialogue.name] = dialogue.end
            place += len(line)
        self.ends = {name: end for name, end in self.ends.items() if end != INFRASTRUCTURE}
        return place

    def _check_header(self, raw: Any) -> None:
        if not is_header(raw):
            raise UsageError(
                f"{self._name} does not begin with the header of a run: name another file"
            )
        now = json.loads(json_line(self._header))
        different = [
            f"  {key}: {there} in the file, {here} now"
            for key, there, here in differences(raw, now)
            if key.split(".")[0] not in NOT_COMPARED
        ]
        if different:
            raise UsageError(
                f"{self._name} belongs to another run: name another file, or use the options of "
                "that run",
                *different,
            )

    def _dialogue(self, raw: Any, number: int) -> Trajectory:
        with suppress(ValueError):
            if is_dialogue(raw) and (dialogue := trajectory_of(raw)).name in self._order:
                return dialogue
        raise UsageError(
            f"{self._name}: line {number} is not a dialogue of this run: remove the line to run "
            "its dialogue again, or name another file"
        )

    @property
    def _is_written(self) -> str:
        return f"{self._name} is being written by another run: wait for it, or name another file"

    def _append(self, line: bytes) -> None:
        assert self._stream is not None
        with named_where_unwritable(self._name):
            self._stream.seek(self._size)
            self._stream.truncate()  # removes the line of an interrupted write
            self._stream.write(line)
            self._stream.flush()
        self._size += len(line)

    def _line(self, name: str) -> bytes:
        assert self._stream is not None
        place, length = self._places[name]
        self._stream.seek(place)
        return self._stream.read(length)

    def _replace(self, names: Iterable[str]) -> None:
        """Atomically replace the file by the lines of these dialogues, in this order."""
        places = {}
        size = len(self._first_line)
        with written_atomically(self._path) as new:
            new.write(self._first_line)
            for name in names:
                line = self._line(name)
                new.write(line)
                places[name] = size, len(line)
                size += len(line)
        self._lock_anew()
        self._places, self._size = places, size


def differences(there: Any, now: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield differences as (dotted key, JSON text in `there`, JSON text in `now`)."""
    if isinstance(there, Mapping) and isinstance(now, Mapping):
        for name in {**there, **now}:
            inner = f"{key}.{name}" if key else str(name)
            yield from differences(there.get(name), now.get(name), inner)
    elif there != now:
        yield key, shorten(json.dumps(there)), shorten(json.dumps(now))
