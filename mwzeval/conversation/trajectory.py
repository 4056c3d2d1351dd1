"""Trajectories: what happened in dialogues, a line of JSON each, with a header line before them.

Whoever scores, explains or compares dialogues reads these and needs no agent. Keys that nobody
knows are left alone. A file has no times and no order of its own: the same run has the same bytes,
however many dialogues were held beside each other. Lines of other programs may lack the header, and
all of a line but the name of the dialogue and its messages or acts; every problem is noted with its
place, whichever program wrote the file.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from mwzeval.conversation.messages import Message, check_message
from mwzeval.conversation.protocols import ENDS, LIMIT, USER_STOP, End
from mwzeval.errors import InputError, shorten
from mwzeval.files.reading import SENSIBLE_LINE, RepeatedKeys, decoded, parse_json
from mwzeval.scores.findings import Findings, Place, found, repeated
from mwzeval.statistics.trials import item_and_trial, trial_name

FORMAT = "mwzeval_live"
"""The key of a header that says that it is one, and the version of the format."""
FORMAT_VERSION = 1
DIALOGUE, GOAL, MESSAGES, ACTS, END = "dialogue", "goal", "messages", "acts", "end"
EXPECTED = f'expected {{"{DIALOGUE}": id, "{GOAL}": …, "{MESSAGES}": […]}}'
_KNOWN = ("dialogue", "trial", "goal", "messages", "acts", "end", "problem", "turns")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One dialogue: what it was about, what was said and called, and how it ended.

    `item` names the goal, which several `trial`s (from 1) may have in common; `messages` are those
    of dialogues in words, `acts` the exchanges of those in acts, `[user's, agent's]` each. `turns`
    counts the user's. `more` has the other keys of the line.
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
        """What the dialogue is called: its goal, with the number of the trial if there are more."""
        return trial_name(self.item, self.trial if self.is_numbered else None)

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object."""
        plain: dict[str, Any] = {DIALOGUE: self.name, "trial": self.trial, GOAL: self.goal}
        if self.acts:
            plain[ACTS] = self.acts
        if self.messages or not self.acts:
            plain[MESSAGES] = self.messages
        plain["end"] = self.end
        if self.problem is not None:
            plain["problem"] = self.problem
        return {**plain, "turns": self.turns, **self.more}

    def line(self) -> str:
        """Return the line, with its end."""
        return json_line(self.to_json())


def json_line(plain: Mapping[str, Any]) -> str:
    """Return a JSON object as a line of a file, with its end."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def is_header(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a JSON value is the header of a file of trajectories."""
    return isinstance(raw, Mapping) and FORMAT in raw


def header(benchmark: str, version: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a file: `about` is all that its dialogues depend on."""
    return {FORMAT: FORMAT_VERSION, "benchmark": benchmark, "version": version, **about}


def is_dialogue(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a JSON value looks like the line of a dialogue of such a file."""
    return (
        isinstance(raw, Mapping)
        and isinstance(raw.get(DIALOGUE), str)
        and (MESSAGES in raw or ACTS in raw)
    )


def trajectory_of(raw: Mapping[str, Any]) -> Trajectory:
    """Return the dialogue of a line that `is_dialogue`.

    A line of another program may lack all but its name and its messages or acts. Raises
    `ValueError` for values that no such line has.
    """
    item, number = item_and_trial(raw[DIALOGUE])
    trial = raw.get("trial", number or 1)
    end = raw.get("end", USER_STOP)
    turns = raw.get("turns", 0)
    problem = raw.get("problem")
    acts = raw.get(ACTS, ())
    messages = raw.get(MESSAGES, ())
    are_messages = isinstance(messages, list | tuple) and all(
        isinstance(message, Mapping) for message in messages
    )
    wrong = [
        (type(trial) is not int or trial < 1, f"trial is a whole number from 1 on, not {trial!r}"),
        (end not in ENDS, f"end is one of {', '.join(ENDS)}, not {end!r}"),
        (type(turns) is not int or turns < 0, f"turns is a whole number, not {turns!r}"),
        (not isinstance(problem, str | None), f"problem is text, not {problem!r}"),
        (not isinstance(acts, list | tuple), "acts is a list of exchanges"),
        (not are_messages, "messages is a list of objects"),
    ]
    for is_wrong, what in wrong:
        if is_wrong:
            raise ValueError(what)
    return Trajectory(
        item,
        raw.get(GOAL),
        tuple(messages),
        tuple(acts),
        end,
        problem,
        turns or sum(message.get("role") == "user" for message in messages) or len(acts),
        trial,
        number is not None,
        {key: value for key, value in raw.items() if key not in _KNOWN},
    )


@dataclass(frozen=True, slots=True)
class LiveFile:
    """The dialogues of a file, in its order, and the header: empty where there is none.

    `dialogues` has them by name: `sng0073#2` for the second trial of `sng0073`.
    """

    header: Mapping[str, Any] = field(default_factory=dict)
    dialogues: Mapping[str, Trajectory] = field(default_factory=dict)


def live_text(raw: bytes, name: str) -> str:
    """Return the text of a file, of which the last line may end within a character.

    Raises `InputError` when it is empty, or not UTF-8.
    """
    end = raw.rfind(b"\n") + 1
    if not end:
        return decoded(raw, name)
    return decoded(raw[:end], name) + raw[end:].decode(errors="replace")


def is_live(raw: bytes) -> bool:
    """Tell whether the content of a file, or its first line, is that of a file of trajectories.

    That is a header, or a dialogue in acts, or one in messages with a goal or an end, which
    predictions in messages do not have.
    """
    begin = raw[:SENSIBLE_LINE].removeprefix(BOM_UTF8).lstrip()
    first = begin.partition(b"\n")[0]
    if f'"{FORMAT}"'.encode() not in first and f'"{DIALOGUE}"'.encode() not in first:
        return False
    try:
        line = parse_json(first.decode(), "")
    except (InputError, UnicodeDecodeError):
        return False
    return is_header(line) or (is_dialogue(line) and not line.keys().isdisjoint((ACTS, GOAL, END)))


def check_live(text: str, findings: Findings) -> LiveFile:
    """Return the trajectories of a text; problems go to `findings`.

    A last line that ends too early is left out with a warning, because the run goes on from there.
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
                message = f"line {number} ends too early and is left out: the run was cut off there"
                findings.warning("cut-off", f"{message}, and can be resumed")
            continue
        if is_header(raw):
            if raw[FORMAT] != FORMAT_VERSION:
                version = shorten(str(raw[FORMAT]))
                message = f"line {number}: version {version} of the format is not known"
                findings.error("version", f"{message} (known: {FORMAT_VERSION})", key=FORMAT)
            if not first and not dialogues:
                first = raw
            elif raw != first:
                message = f"line {number}: another header stands in the file: dialogues of two runs"
                findings.error("other-header", f"{message} are not scored together", key=FORMAT)
        elif not is_dialogue(raw):
            findings.error("shape", f"line {number}: {EXPECTED}, {_lacking(raw)}")
        elif (dialogue := _dialogue(number, raw, findings)) is None:
            pass
        elif dialogue.name in dialogues:
            message = f"line {number}: the dialogue was given before"
            findings.error("repeated-dialogue", message, dialogue=dialogue.name)
        else:
            dialogues[dialogue.name] = dialogue
            if END not in raw:
                without_end.append(dialogue.name)
            _check(number, dialogue, findings)
    if not dialogues and not findings.errors:
        findings.error("empty", "there is no dialogue in it")
    for name in without_end:
        message = f'"{END}" is missing, and the user is taken to have ended the dialogue'
        findings.warning("no-end", message, dialogue=name)
    return LiveFile(first, dialogues)


def _dialogue(number: int, raw: Mapping[str, Any], findings: Findings) -> Trajectory | None:
    written = raw[DIALOGUE]
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", f"line {number}: {repeated(raw)}", dialogue=written)
    try:
        trajectory = trajectory_of(raw)
    except ValueError as error:
        findings.error("shape", f"line {number}: {error}", dialogue=written)
        return None
    named = item_and_trial(written)[1]
    if named not in (None, trajectory.trial):
        message = f"line {number}: trial is {trajectory.trial}, where the name says {named}"
        findings.error("shape", message, dialogue=written, key="trial")
    return replace(trajectory, is_numbered=named is not None or trajectory.trial > 1)


def _check(number: int, dialogue: Trajectory, findings: Findings) -> None:
    name = dialogue.name
    if not dialogue.messages and not dialogue.acts and dialogue.end in (USER_STOP, LIMIT):
        what = f"line {number}: nothing is said in the dialogue"
        findings.error("empty", what, dialogue=name)
    for position, message in enumerate(dialogue.messages):
        check_message(message, Place(findings, name, position), f"{MESSAGES}[{position}]")
    for position, turn in enumerate(dialogue.acts):
        if not (isinstance(turn, list | tuple) and len(turn) == 2):
            what = f"an exchange is [acts of the user, acts of the agent], {found(turn)}"
            findings.error("shape", what, dialogue=name, key=f"{ACTS}[{position}]")


def _lacking(raw: Any) -> str:
    if not isinstance(raw, Mapping):
        return found(raw)
    if not isinstance(raw.get(DIALOGUE), str):
        return f'found no "{DIALOGUE}" that is text'
    return f'found neither "{MESSAGES}" nor "{ACTS}"'
