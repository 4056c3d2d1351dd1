"""The log of simulated dialogues: what is written of each, and read again to be scored.

A log is a file of trajectories (`mwzeval.conversation.trajectory`): the exchanges of a dialogue are
those of a predictions file. Simulators of others may write lines of predictions files, with goal,
final goal and whether the dialogue was finished, below a line that says what they depend on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mwzeval.conversation.protocols import USER_STOP, End
from mwzeval.conversation.trajectory import ACTS, MESSAGES, Trajectory, is_header
from mwzeval.conversation.trajectory import DIALOGUE as LINE_DIALOGUE
from mwzeval.conversation.trajectory import is_dialogue as is_trajectory
from mwzeval.crosswoz import META
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_to_json
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import NOT_AN_ACT, mistakes_in
from mwzeval.crosswoz.predictions.fields import checked_user_state
from mwzeval.crosswoz.predictions.reading import DIALOGUE, TURNS, said_in_header
from mwzeval.crosswoz.predictions.tracks import SYSTEM_ACTS, USER_ACTS, USER_STATE
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.crosswoz.simulation.protocols import Selected, Slots
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import parse_json_lines, plain_name, read_bytes
from mwzeval.scores.findings import Findings, Place, found

Outcome = Literal["finished", "limit", "user failed", "system failed", "infrastructure"]
FINISHED: Outcome = "finished"
LIMIT: Outcome = "limit"
USER_FAILED: Outcome = "user failed"
SYSTEM_FAILED: Outcome = "system failed"
INFRASTRUCTURE: Outcome = "infrastructure"
OUTCOME_OF: Mapping[End, Outcome] = {
    "user_stop": FINISHED,
    "limit": LIMIT,
    "user_error": USER_FAILED,
    "agent_error": SYSTEM_FAILED,
    "infrastructure": INFRASTRUCTURE,
}
END_OF: Mapping[Outcome, End] = {outcome: end for end, outcome in OUTCOME_OF.items()}
OUTCOMES = tuple(END_OF)
NAME = "simulated-{number:06d}"
GOAL, FINAL_GOAL, GOAL_TYPE, SILENT = "goal", "final_goal", "goal_type", "silent"
HAS_FINISHED, N_TURNS = "finished", "n_turns"
PER_TYPE = "per_type"
SIDES = {USER_ACTS: "user", SYSTEM_ACTS: "system"}
OF_NO_SCORE = "acts are in no score of a simulation, but were in its talk"


@dataclass(frozen=True, slots=True)
class SimulatedExchange:
    """What the user says and what the system answers, as each side means it.

    Where they speak in words there are their utterances too, and `heard_acts`: what the user
    understood. `state` (without empty slots) and `selected` are the system's after its answer.
    """

    user_acts: Acts
    system_acts: Acts
    user_utterance: str | None = None
    system_utterance: str | None = None
    heard_acts: Acts | None = None
    state: Slots = field(default_factory=dict)
    selected: Selected = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimulatedDialogue:
    """A simulated dialogue and how it ended.

    `number` is that of its goal, from 0; `user_turns` counts what the user said; `silent` the
    answers in which the system said nothing; `problem` tells what failed.
    """

    number: int
    goal: Goal
    final_goal: Goal
    exchanges: tuple[SimulatedExchange, ...]
    outcome: Outcome
    user_turns: int
    silent: int = 0
    problem: str | None = None

    @property
    def goal_type(self) -> str:
        """The paper's code of the type of the goal."""
        return goal_type(self.goal)

    @property
    def finished(self) -> bool:
        """Whether the user terminated in time."""
        return self.outcome == FINISHED


def dialogue_name(number: int) -> str:
    """Return what the dialogue about the goal of a number is called."""
    return NAME.format(number=number)


def trajectory_of(dialogue: SimulatedDialogue) -> Trajectory:
    """Return a dialogue as its line in a log has it."""
    return Trajectory(
        dialogue_name(dialogue.number),
        goal_to_json(dialogue.goal),
        acts=tuple(map(exchange_to_json, dialogue.exchanges)),
        end=END_OF[dialogue.outcome],
        problem=dialogue.problem,
        turns=dialogue.user_turns,
        more=facts_of(dialogue),
    )


def facts_of(dialogue: SimulatedDialogue) -> dict[str, Any]:
    """Return what a line says of a dialogue beside its exchanges and its end."""
    return {
        GOAL_TYPE: dialogue.goal_type,
        SILENT: dialogue.silent,
        FINAL_GOAL: goal_to_json(dialogue.final_goal),
    }


def exchange_to_json(exchange: SimulatedExchange) -> dict[str, Any]:
    """Return an exchange as predictions files have it."""
    plain: dict[str, Any] = {"user_acts": exchange.user_acts}
    if exchange.user_utterance is not None:
        plain["user_response"] = exchange.user_utterance
    plain["state"] = exchange.state
    plain["selected"] = exchange.selected
    plain["system_acts"] = exchange.system_acts
    if exchange.heard_acts is not None:
        plain["system_acts_nlu"] = exchange.heard_acts
    if exchange.system_utterance is not None:
        plain["response"] = exchange.system_utterance
    return plain


@dataclass(frozen=True, slots=True)
class LoggedDialogue:
    """A dialogue of a log: `final_goal` has the lines of the goal with the user's last values.

    `n_turns` counts the user's turns, `turns` are the exchanges as they were logged.
    """

    name: str
    goal: Goal
    final_goal: Goal
    finished: bool
    n_turns: int
    turns: Sequence[Mapping[str, Any]]

    @property
    def goal_type(self) -> str:
        """The paper's code of the type of the goal."""
        return goal_type(self.goal)


@dataclass(frozen=True, slots=True)
class SimulationLog:
    """A log of simulated dialogues, and what it says of itself."""

    header: Mapping[str, Any]
    dialogues: Mapping[str, LoggedDialogue]


def is_simulation(path: str | Path) -> bool:
    """Tell whether a JSON Lines file holds simulated dialogues. Raises `InputError`."""
    return any(
        (HAS_FINISHED in line and GOAL in line) or is_header(line) or is_trajectory(line)
        for line in _first_lines(path)
    )


def _first_lines(path: str | Path) -> Iterator[Mapping[str, Any]]:
    name = str(path)
    if plain_name(name).endswith(".jsonl"):
        text = chinese_text(read_bytes(path), name)
        lines = [line for line in text.split("\n", 2)[:2] if line.strip()]
        for _, line in parse_json_lines("\n".join(lines), name):
            if isinstance(line, dict):
                yield line


def read_simulation(
    path: str | Path, findings: Findings, *, allow_partial: bool = False
) -> SimulationLog:
    """Return the log in a file as `check_log` does. Raises `InputError` as `log_lines` does."""
    return check_log(log_lines(path), findings, allow_partial=allow_partial)


Lines = Sequence[tuple[int, Any]]
"""What is in a log: numbers of lines from 1, and values."""


def revision_of(lines: Lines) -> str | None:
    """Return the revision that a log says it is about, None when it does not."""
    headers = ({META: line} if is_header(line) else line for _, line in lines[:2])
    said = (said_in_header(line, "revision") for line in headers)
    return next((revision for revision in said if revision is not None), None)


def log_lines(path: str | Path) -> Lines:
    """Return the lines of a log. Raises `InputError` when it cannot be read, or is not JSON."""
    name = str(path)
    return tuple(parse_json_lines(chinese_text(read_bytes(path), name), name))


def check_log(lines: Lines, findings: Findings, *, allow_partial: bool = False) -> SimulationLog:
    """Return a log of simulated dialogues; problems go to `findings`.

    With `allow_partial` its run may have been cut short.
    """
    header: Mapping[str, Any] = {}
    dialogues: dict[str, LoggedDialogue] = {}
    lost: list[str] = []
    for number, line in lines:
        if isinstance(line, dict) and isinstance(line.get(META), dict) and len(line) == 1:
            header = line[META]
            continue
        if is_header(line):
            header = line
            continue
        if is_trajectory(line):
            if line.get("end") == END_OF[INFRASTRUCTURE]:
                message = "it failed for infrastructure, which is nobody's fault: not scored"
                findings.warning("infrastructure", message, dialogue=line[LINE_DIALOGUE])
                lost.append(str(line.get(GOAL_TYPE)))
                continue
            line = _as_predictions(line)
        identity = line.get(DIALOGUE) if isinstance(line, dict) else None
        if not isinstance(identity, str):
            message = f'line {number}: expected a simulated dialogue with "{DIALOGUE}"'
            findings.error("shape", message)
        elif identity in dialogues:
            message = f"line {number}: the dialogue was given before"
            findings.error("repeated-key", message, dialogue=identity)
        else:
            dialogue = _dialogue(identity, line, findings)
            if dialogue is not None:
                dialogues[identity] = dialogue
    if not dialogues and not findings.errors:
        findings.error("empty", "there is no dialogue in it")
    if not allow_partial:
        kinds = Counter(dialogue.goal_type for dialogue in dialogues.values())
        _check_is_whole(header.get(PER_TYPE), kinds + Counter(lost), findings)
    return SimulationLog(header, dialogues)


def _as_predictions(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of a trajectory as one of a predictions file."""
    plain = {key: value for key, value in line.items() if key not in (LINE_DIALOGUE, ACTS)}
    plain[DIALOGUE] = line[LINE_DIALOGUE]
    plain[HAS_FINISHED] = line.get("end") == USER_STOP
    plain[N_TURNS] = line.get("turns")
    # Of a dialogue in which nothing was said there are no acts, and no messages either.
    plain[TURNS] = line.get(ACTS) if line.get(MESSAGES) else line.get(ACTS, [])
    return plain


def _check_is_whole(wanted: object, counts: Counter[str], findings: Findings) -> None:
    """Note a log that has fewer dialogues than its header says: its run was cut short."""
    if not isinstance(wanted, int) or findings.errors:
        return
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
                place = Place(findings, name, turn, key)
                if kind == NOT_AN_ACT:
                    place.error(kind, message)
                else:
                    place.doubt(kind, message, then=OF_NO_SCORE)


def _dialogue(name: str, raw: Mapping[str, Any], findings: Findings) -> LoggedDialogue | None:
    before = len(findings.errors)

    def wrong(key: str, expected: str) -> None:
        what = found(raw[key]) if key in raw else "it is missing"
        findings.error("shape", f"{key}: expected {expected}, {what}", dialogue=name, key=key)

    turns = raw.get(TURNS)
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        wrong(TURNS, "a list of exchanges")
        return None
    if not isinstance(raw.get(HAS_FINISHED), bool):
        wrong(HAS_FINISHED, "true or false")
    if not isinstance(raw.get(N_TURNS), int) or isinstance(raw[N_TURNS], bool):
        wrong(N_TURNS, "a number")
    goal = checked_user_state(raw.get(GOAL), Place(findings, name, 0, GOAL))
    # The user's own state after the last turn says what was accepted.
    states = [turn[USER_STATE] for turn in turns if turn.get(USER_STATE) is not None]
    last = raw.get(FINAL_GOAL, states[-1] if states else None)
    if last is None:
        wrong(FINAL_GOAL, f"the goal's lines with their last values (or a {USER_STATE})")
        return None
    final = checked_user_state(last, Place(findings, name, max(len(turns) - 1, 0), FINAL_GOAL))
    if not goal and len(findings.errors) == before:
        wrong(GOAL, "a goal with lines")
    elif [line[:3] for line in goal] != [line[:3] for line in final]:
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
    return LoggedDialogue(name, goal, final, raw[HAS_FINISHED], raw[N_TURNS], turns)
