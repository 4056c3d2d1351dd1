"""Logs of simulated dialogues, read to be scored: goal, what came of it, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import NOT_AN_ACT, mistakes_in
from mwzeval.crosswoz.findings import Findings, Place, found
from mwzeval.crosswoz.predictions.fields import checked_user_state
from mwzeval.crosswoz.predictions.reading import DIALOGUE, META, TURNS
from mwzeval.crosswoz.predictions.tracks import SYSTEM_ACTS, USER_ACTS, USER_STATE
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.json_files import parse_json_lines
from mwzeval.files.reading import read_bytes

GOAL, FINAL_GOAL, GOAL_TYPE = "goal", "final_goal", "goal_type"
FINISHED, N_TURNS = "finished", "n_turns"
PER_TYPE = "per_type"
SIDES = {USER_ACTS: "user", SYSTEM_ACTS: "system"}
OF_NO_SCORE = "acts are in no score of a simulation, but were in its talk"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated dialogue: `outcome` has the lines of the goal with the user's last values.

    `n_turns` counts the user's turns, `turns` are the exchanges as they were logged.
    """

    name: str
    goal: Goal
    outcome: Goal
    finished: bool
    n_turns: int
    turns: Sequence[Mapping[str, Any]]

    @property
    def goal_type(self) -> str:
        """The paper's code of the type of the goal."""
        return goal_type(self.goal)


@dataclass(frozen=True, slots=True)
class Log:
    """A log of simulated dialogues, and what it says of itself."""

    header: Mapping[str, Any]
    dialogues: Mapping[str, Simulated]


def is_simulation(path: str | Path) -> bool:
    """Tell whether a JSON Lines file holds simulated dialogues. Raises `InputError`."""
    return any(FINISHED in line and GOAL in line for line in _first_lines(path))


def revision_of(path: str | Path) -> str | None:
    """Return the revision that a log says it is about, None when it does not."""
    headers = (line[META] for line in _first_lines(path) if isinstance(line.get(META), dict))
    said = (header.get("revision") for header in headers)
    return next((revision for revision in said if isinstance(revision, str)), None)


def _first_lines(path: str | Path) -> Iterator[Mapping[str, Any]]:
    name = str(path)
    if name.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl"):
        text = chinese_text(read_bytes(path), name)
        lines = [line for line in text.split("\n", 2)[:2] if line.strip()]
        for _, line in parse_json_lines("\n".join(lines), name):
            if isinstance(line, dict):
                yield line


def read_simulation(path: str | Path, findings: Findings, *, allow_partial: bool = False) -> Log:
    """Return a log of simulated dialogues; problems go to `findings`.

    With `allow_partial` its run may have been cut short. Raises `InputError` when the file cannot
    be read or is not JSON Lines.
    """
    name = str(path)
    header: Mapping[str, Any] = {}
    dialogues: dict[str, Simulated] = {}
    for number, line in parse_json_lines(chinese_text(read_bytes(path), name), name):
        if isinstance(line, dict) and isinstance(line.get(META), dict) and len(line) == 1:
            header = line[META]
            continue
        identity = line.get(DIALOGUE) if isinstance(line, dict) else None
        if not isinstance(identity, str):
            message = f'line {number}: expected a simulated dialogue with "{DIALOGUE}"'
            findings.error("shape", message)
        elif identity in dialogues:
            message = f"line {number}: the dialogue was given before"
            findings.error("repeated-key", message, dialogue=identity)
        else:
            simulated = _simulated(identity, line, findings)
            if simulated is not None:
                dialogues[identity] = simulated
    if not dialogues and not findings.errors:
        findings.error("empty", "there is no dialogue in it")
    if not allow_partial:
        _check_is_whole(header.get(PER_TYPE), dialogues.values(), findings)
    return Log(header, dialogues)


def _check_is_whole(wanted: object, dialogues: Iterable[Simulated], findings: Findings) -> None:
    """Note a log that has fewer dialogues than its header says: its run was cut short."""
    if not isinstance(wanted, int) or findings.errors:
        return
    counts = Counter(dialogue.goal_type for dialogue in dialogues)
    if any(counts[kind] < wanted for kind in GOAL_TYPES):
        has = ", ".join(f"{kind} {counts[kind]}" for kind in GOAL_TYPES)
        findings.error(
            "incomplete",
            f"its simulation was to have {wanted} dialogues of each goal type, and was cut short "
            f"({has}): `mwzeval crosswoz simulate --resume` ends it; a part is scored with "
            "--allow-partial",
        )


def _note_acts(name: str, turns: Sequence[Mapping[str, Any]], findings: Findings) -> None:
    """Note acts that do not exist: nobody has understood them, and a score cannot tell."""
    for turn, exchange in enumerate(turns):
        for key, side in SIDES.items():
            for kind, message in mistakes_in(side, exchange.get(key) or ()):
                place = {"dialogue": name, "turn": turn, "key": key}
                if kind == NOT_AN_ACT:
                    findings.error(kind, message, **place)
                else:
                    findings.wrong_answer(kind, message, then=OF_NO_SCORE, **place)


def _simulated(name: str, raw: Mapping[str, Any], findings: Findings) -> Simulated | None:
    before = len(findings.errors)

    def wrong(key: str, expected: str) -> None:
        what = found(raw[key]) if key in raw else "it is missing"
        findings.error("shape", f"{key}: expected {expected}, {what}", dialogue=name, key=key)

    turns = raw.get(TURNS)
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        wrong(TURNS, "a list of exchanges")
        return None
    if not isinstance(raw.get(FINISHED), bool):
        wrong(FINISHED, "true or false")
    if not isinstance(raw.get(N_TURNS), int) or isinstance(raw[N_TURNS], bool):
        wrong(N_TURNS, "a number")
    goal = checked_user_state(raw.get(GOAL), Place(findings, name, 0, GOAL))
    # The user's own state after the last turn says what was accepted.
    states = [turn[USER_STATE] for turn in turns if turn.get(USER_STATE) is not None]
    last = raw.get(FINAL_GOAL, states[-1] if states else None)
    if last is None:
        wrong(FINAL_GOAL, f"the goal's lines with their last values (or a {USER_STATE})")
        return None
    outcome = checked_user_state(last, Place(findings, name, max(len(turns) - 1, 0), FINAL_GOAL))
    if not goal and len(findings.errors) == before:
        wrong(GOAL, "a goal with lines")
    elif [line[:3] for line in goal] != [line[:3] for line in outcome]:
        wrong(FINAL_GOAL, "the lines of the goal, in its order")
    if len(findings.errors) > before:
        return None
    _note_acts(name, turns, findings)
    said = raw.get(GOAL_TYPE, goal_type(goal))
    if said != goal_type(goal):
        known = f"{did_you_mean(str(said), GOAL_TYPES)} (known: {', '.join(GOAL_TYPES)})"
        message = (
            f'it says "{shorten(str(said))}", but the goal is of type {goal_type(goal)}'
            if str(said) in GOAL_TYPES
            else f'unknown goal type "{shorten(str(said))}"{known}'
        )
        findings.error("other-goal-type", message, dialogue=name, key=GOAL_TYPE)
        return None
    return Simulated(name, goal, outcome, raw[FINISHED], raw[N_TURNS], turns)
