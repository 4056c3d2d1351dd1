"""Files of trajectories: those that a run has written, and those of other programs.

Every problem is noted with its place, whichever program wrote the file. Lines of other programs may
lack the header, and all of a line but the name of the dialogue and its messages or acts.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mwzeval.conversation.messages import check_message
from mwzeval.conversation.protocols import LIMIT, USER_STOP
from mwzeval.conversation.trajectory import (
    ACTS,
    DIALOGUE,
    FORMAT,
    FORMAT_VERSION,
    GOAL,
    MESSAGES,
    Trajectory,
    is_dialogue,
    is_header,
    trajectory_of,
)
from mwzeval.errors import InputError, shorten
from mwzeval.files.json_files import RepeatedKeys, decoded, parse_json
from mwzeval.files.reading import SENSIBLE_LINE
from mwzeval.scores.findings import Findings, Place, found, repeated
from mwzeval.scores.trials import item_and_trial

END = "end"
EXPECTED = f'expected {{"{DIALOGUE}": id, "{GOAL}": …, "{MESSAGES}": […]}}'


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
    reader = _Reader(findings)
    lines = text.split("\n")  # not `splitlines`, which also breaks within JSON strings
    for number, line in enumerate(lines, start=1):
        if line.strip():
            reader.line(number, line, is_whole=number < len(lines))
    if not reader.dialogues and not findings.errors:
        findings.error("empty", "there is no dialogue in it")
    if reader.without_end:
        message = f'"{END}" is missing, and the user is taken to have ended the dialogue'
        for name in reader.without_end:
            findings.warning("no-end", message, dialogue=name)
    return LiveFile(reader.header, reader.dialogues)


class _Reader:
    """Reads the lines of a file one after the other."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.header: Mapping[str, Any] = {}
        self.dialogues: dict[str, Trajectory] = {}
        self.without_end: list[str] = []

    def line(self, number: int, text: str, *, is_whole: bool) -> None:
        """Take a line; one that is not whole may end too early."""
        try:
            raw = parse_json(text, self._findings.file or "", first_line=number)
        except InputError as error:
            if is_whole or error.problems[0].kind != "not-json":
                self._findings.extend(error.problems)
            else:
                message = f"line {number} ends too early and is left out: the run was cut off there"
                self._findings.warning("cut-off", f"{message}, and can be resumed")
            return
        if is_header(raw):
            self._header(number, raw)
        elif is_dialogue(raw):
            self._dialogue(number, raw)
        else:
            self._findings.error("shape", f"line {number}: {EXPECTED}, {_lacking(raw)}")

    def _header(self, number: int, raw: Mapping[str, Any]) -> None:
        version = raw[FORMAT]
        if version != FORMAT_VERSION:
            message = f"line {number}: version {shorten(str(version))} of the format is not known"
            self._findings.error("version", f"{message} (known: {FORMAT_VERSION})", key=FORMAT)
        if not self.header and not self.dialogues:
            self.header = raw
        elif raw != self.header:
            message = f"line {number}: another header stands in the file: dialogues of two runs"
            self._findings.error("other-header", f"{message} are not scored together", key=FORMAT)

    def _dialogue(self, number: int, raw: Mapping[str, Any]) -> None:
        written = raw[DIALOGUE]
        if isinstance(raw, RepeatedKeys):
            message = f"line {number}: {repeated(raw)}"
            self._findings.error("repeated-key", message, dialogue=written)
        try:
            trajectory = trajectory_of(raw)
        except ValueError as error:
            self._findings.error("shape", f"line {number}: {error}", dialogue=written)
            return
        said = item_and_trial(written)[1]
        if said not in (None, trajectory.trial):
            message = f"line {number}: trial is {trajectory.trial}, where the name says {said}"
            self._findings.error("shape", message, dialogue=written, key="trial")
        trajectory = replace(trajectory, is_numbered=said is not None or trajectory.trial > 1)
        if trajectory.name in self.dialogues:
            message = f"line {number}: the dialogue was given before"
            self._findings.error("repeated-dialogue", message, dialogue=trajectory.name)
            return
        self.dialogues[trajectory.name] = trajectory
        if END not in raw:
            self.without_end.append(trajectory.name)
        self._check(number, trajectory)

    def _check(self, number: int, trajectory: Trajectory) -> None:
        name = trajectory.name
        can_be_empty = trajectory.end not in (USER_STOP, LIMIT)
        if not trajectory.messages and not trajectory.acts and not can_be_empty:
            what = f"line {number}: nothing is said in the dialogue"
            self._findings.error("empty", what, dialogue=name)
        for position, message in enumerate(trajectory.messages):
            place = Place(self._findings, name, position)
            check_message(message, place, f"{MESSAGES}[{position}]")
        for position, exchange in enumerate(trajectory.acts):
            if not (isinstance(exchange, list | tuple) and len(exchange) == 2):
                what = f"an exchange is [acts of the user, acts of the agent], {found(exchange)}"
                self._findings.error("shape", what, dialogue=name, key=f"{ACTS}[{position}]")


def _lacking(raw: Any) -> str:
    if not isinstance(raw, Mapping):
        return found(raw)
    if not isinstance(raw.get(DIALOGUE), str):
        return f'found no "{DIALOGUE}" that is text'
    return f'found neither "{MESSAGES}" nor "{ACTS}"'
