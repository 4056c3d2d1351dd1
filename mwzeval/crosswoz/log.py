"""Reads logs of simulated dialogues for scoring.

A log is a file of trajectories (`mwzeval.conversation.trajectory`) whose exchanges have the form of
predictions files. Logs of other simulators have a header line with the settings. Their other lines
are in the format of predictions files, with the goal, the final goal and a flag for finished
dialogues.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.conversation.protocols import INFRASTRUCTURE, USER_STOP
from mwzeval.conversation.trajectory import ACTS, MESSAGES, is_header
from mwzeval.conversation.trajectory import DIALOGUE as LINE_DIALOGUE
from mwzeval.conversation.trajectory import is_dialogue as is_trajectory
from mwzeval.crosswoz import META
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import NOT_AN_ACT, mistakes_in
from mwzeval.crosswoz.goals import goal_type
from mwzeval.crosswoz.reading import DIALOGUE, TURNS, checked_user_state, header_value
from mwzeval.crosswoz.tracks import SYSTEM_ACTS, USER_ACTS, USER_STATE
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import parse_json_lines, plain_name, read_bytes
from mwzeval.scores.findings import Findings, Place, found

GOAL, FINAL_GOAL, GOAL_TYPE, SILENT = "goal", "final_goal", "goal_type", "silent"
HAS_FINISHED, N_TURNS = "finished", "n_turns"
PER_TYPE = "per_type"
SIDES = {USER_ACTS: "user", SYSTEM_ACTS: "system"}
OF_NO_SCORE = "these acts were used in the simulated dialogues, but do not count in scores"
NATURAL_MIX = 1000
"""The maximum number of dialogues in the natural mix, which are the first dialogues of a log."""


@dataclass(frozen=True, slots=True)
class LoggedDialogue:
    """A dialogue of a log; `final_goal` has the lines of the goal with the user's final values.

    `n_turns` is the number of user turns; `turns` are the exchanges as in the log.
    """

    name: str
    goal: Goal
    final_goal: Goal
    finished: bool
    n_turns: int
    turns: Sequence[Mapping[str, Any]]

    @property
    def goal_type(self) -> str:
        """The goal type: S, M, M+T, CM or CM+T, as in the paper."""
        return goal_type(self.goal)


@dataclass(frozen=True, slots=True)
class SimulationLog:
    """A log of simulated dialogues, and its header."""

    header: Mapping[str, Any]
    dialogues: Mapping[str, LoggedDialogue]


Lines = Sequence[tuple[int, Any]]
"""The content of a log: the number (from 1) and the value of each line."""


def natural_mix(names: Iterable[str]) -> int:
    """Return how many dialogues at the beginning of a log have goals with consecutive numbers.

    A missing number means that a goal was skipped because its type had enough goals, so the mix of
    types is no longer natural. If the name of a dialogue has no number, its position is not
    checked.
    """
    count = 0
    for index, name in enumerate(names):
        number = re.search(r"0*([0-9]+)$", name)
        if index >= NATURAL_MIX or (number is not None and number[1] != str(index)):
            break
        count += 1
    return count


def is_simulation(path: str | Path) -> bool:
    """Return whether a JSON Lines file has simulated dialogues. Raises `InputError`."""
    name = str(path)
    if not plain_name(name).endswith(".jsonl"):
        return False
    lines = chinese_text(read_bytes(path), name).split("\n", 2)[:2]
    first = filter(str.strip, lines)
    return any(
        isinstance(line, dict)
        and ((HAS_FINISHED in line and GOAL in line) or is_header(line) or is_trajectory(line))
        for _, line in parse_json_lines("\n".join(first), name)
    )


def revision_of(lines: Lines) -> str | None:
    """Return the corpus revision in the header of a log, or None if there is none."""
    headers = ({META: line} if is_header(line) else line for _, line in lines[:2])
    named = (header_value(line, "revision") for line in headers)
    return next((revision for revision in named if revision is not None), None)


def log_lines(path: str | Path) -> Lines:
    """Return the lines of a log of simulated dialogues.

    Raises `InputError` if the log cannot be read or is not JSON Lines.
    """
    name = str(path)
    return tuple(parse_json_lines(chinese_text(read_bytes(path), name), name))


def check_log(lines: Lines, findings: Findings, *, allow_partial: bool = False) -> SimulationLog:
    """Check the lines of a log, add all problems to `findings`, and return the simulated dialogues.

    With `allow_partial`, an interrupted run is accepted.
    """
    header: Mapping[str, Any] = {}
    dialogues: dict[str, LoggedDialogue] = {}
    kinds: Counter[str] = Counter()
    for number, line in lines:
        if isinstance(line, dict) and isinstance(line.get(META), dict) and len(line) == 1:
            header = line[META]
            continue
        if is_header(line):
            header = line
            continue
        if is_trajectory(line):
            if line.get("end") == INFRASTRUCTURE:
                message = "the dialogue failed with an infrastructure error and is not scored"
                findings.warning("infrastructure", message, dialogue=line[LINE_DIALOGUE])
                kinds[str(line.get(GOAL_TYPE))] += 1
                continue
            line = _as_predictions(line)
        identity = line.get(DIALOGUE) if isinstance(line, dict) else None
        if not isinstance(identity, str):
            message = f'line {number}: expected a simulated dialogue with "{DIALOGUE}"'
            findings.error("shape", message)
        elif identity in dialogues:
            message = f"line {number}: the dialogue occurs twice"
            findings.error("repeated-key", message, dialogue=identity)
        elif (dialogue := _dialogue(identity, line, findings)) is not None:
            dialogues[identity] = dialogue
    if not dialogues and not findings.errors:
        findings.error("empty", "the file has no dialogue")
    kinds.update(dialogue.goal_type for dialogue in dialogues.values())
    wanted = header.get(PER_TYPE)
    if allow_partial or findings.errors or not isinstance(wanted, int):
        return SimulationLog(header, dialogues)
    if any(kinds[kind] < wanted for kind in GOAL_TYPES):
        has = ", ".join(f"{kind} {kinds[kind]}" for kind in GOAL_TYPES)
        findings.error(
            "incomplete",
            f"the simulation was interrupted: it should have {wanted} dialogues of "
            f"each goal type, but has {has}; complete it with `mwzeval crosswoz simulate "
            "--resume`, or use --allow-partial to score a part",
        )
    return SimulationLog(header, dialogues)


def _as_predictions(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of a trajectory in the form of a predictions file."""
    plain = {key: value for key, value in line.items() if key not in (LINE_DIALOGUE, ACTS)}
    plain[DIALOGUE] = line[LINE_DIALOGUE]
    plain[HAS_FINISHED] = line.get("end") == USER_STOP
    plain[N_TURNS] = line.get("turns")
    # A dialogue without messages may also lack acts.
    plain[TURNS] = line.get(ACTS) if line.get(MESSAGES) else line.get(ACTS, [])
    return plain


def _dialogue(name: str, raw: Mapping[str, Any], findings: Findings) -> LoggedDialogue | None:
    before = len(findings.errors)

    def wrong(key: str, expected: str) -> None:
        what = found(raw[key]) if key in raw else "it is missing"
        findings.error("shape", f"{key}: expected {expected}, {what}", dialogue=name, key=key)

    turns = raw.get(TURNS)
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        wrong(TURNS, "a list of entries")
        return None
    if not isinstance(raw.get(HAS_FINISHED), bool):
        wrong(HAS_FINISHED, "true or false")
    if type(raw.get(N_TURNS)) is not int:
        wrong(N_TURNS, "a number")
    goal = checked_user_state(raw.get(GOAL), Place(findings, name, 0, GOAL))
    # The user's last state has the accepted values.
    states = [turn[USER_STATE] for turn in turns if turn.get(USER_STATE) is not None]
    last = raw.get(FINAL_GOAL, states[-1] if states else None)
    if last is None:
        wrong(FINAL_GOAL, f"the goal's lines with their last values (or a {USER_STATE})")
        return None
    final = checked_user_state(last, Place(findings, name, max(len(turns) - 1, 0), FINAL_GOAL))
    if not goal and len(findings.errors) == before:
        wrong(GOAL, "a goal with lines")
    elif [line[:3] for line in goal] != [line[:3] for line in final]:
        wrong(FINAL_GOAL, "the lines of the goal, in the same order")
    if len(findings.errors) > before:
        return None
    # Acts that do not exist cause a warning, because no score shows such acts.
    for number, turn in enumerate(turns):
        for key, side in SIDES.items():
            place = Place(findings, name, number, key)
            for kind, message in mistakes_in(side, turn.get(key) or ()):
                if kind == NOT_AN_ACT:
                    place.error(kind, message)
                else:
                    place.doubt(kind, message, then=OF_NO_SCORE)
    kind, named = goal_type(goal), str(raw.get(GOAL_TYPE, goal_type(goal)))
    if named != kind:
        known = f"{did_you_mean(named, GOAL_TYPES)} (known: {', '.join(GOAL_TYPES)})"
        message = (
            f'the type is "{shorten(named)}", but the goal has type {kind}'
            if named in GOAL_TYPES
            else f'unknown goal type "{shorten(named)}"{known}'
        )
        findings.error("other-goal-type", message, dialogue=name, key=GOAL_TYPE)
        return None
    return LoggedDialogue(name, goal, final, raw[HAS_FINISHED], raw[N_TURNS], turns)
