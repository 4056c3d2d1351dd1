"""Reads logs of simulated dialogues and scores them: finish rate, Inform and Success.

A log is a file of trajectories (`mwzeval.conversation.trajectory`) whose exchanges have the form of
predictions files. Logs of other simulators have a header line with the settings. Their other lines
are in the format of predictions files, with the goal, the final goal and a flag for finished
dialogues.

Source of the finish rate: Zhu et al., TACL 2020, section 5.6. The overall rate ("natural") is
computed over the first 1,000 dialogues, which have the natural mix of goal types; "macro" is the
mean over goal types. Inform and Success are not from the paper (see `success.py`). Inform and
Success are computed from the user's last state, corrected by the system's utterances.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.benchmark import ScoredFile
from mwzeval.conversation.protocols import INFRASTRUCTURE, USER_STOP
from mwzeval.conversation.trajectory import ACTS, MESSAGES, is_header
from mwzeval.conversation.trajectory import DIALOGUE as LINE_DIALOGUE
from mwzeval.conversation.trajectory import is_dialogue as is_trajectory
from mwzeval.crosswoz import META, SCORING_REVISION
from mwzeval.crosswoz import NAME as BENCHMARK
from mwzeval.crosswoz.checks import DEFAULT_OPTIONS, Options
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, parse_act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, goal_to_json
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, NAME, VENUE_DOMAINS
from mwzeval.crosswoz.corpus.ontology import NOT_AN_ACT, mistakes_in
from mwzeval.crosswoz.goals import goal_type
from mwzeval.crosswoz.reading import DIALOGUE, TURNS, checked_user_state, header_value
from mwzeval.crosswoz.scoring.success import (
    NOT_DONE,
    NOT_FINISHED,
    Judgement,
    goal_facts,
    judge,
    outcome_columns,
    outcome_rate,
    outcome_row,
    spelled,
)
from mwzeval.crosswoz.tracks import (
    END_TO_END,
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    USER_RESPONSE,
    USER_STATE,
)
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import parse_json_lines, plain_name, read_bytes
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.findings import Findings, Place, found
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums
from mwzeval.text import json_line
from mwzeval.version import __version__, versions

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
    return LoggedDialogue(goal, final, raw[HAS_FINISHED], raw[N_TURNS], turns)


OUTCOMES = {"finish_rate": "Finish rate", "inform": "Inform", "success": "Success"}
NATURAL, MACRO = "natural mix", "macro"
SCOPES = (WHOLE, NATURAL, *GOAL_TYPES)
SHOWN_ACTS = {USER_ACTS: "user acts", SYSTEM_ACTS: "system acts", SYSTEM_ACTS_NLU: "understood as"}


def outcome_of(dialogue: LoggedDialogue, database: Database) -> Goal:
    """Return the lines of the goal with the user's final values.

    If the goal names a venue, the user's state has this name even if the system names another
    venue. Therefore, if the system names a venue that does not exist, the name of this venue
    replaces the user's final value.
    """
    invented: dict[str, str] = {}
    for raw in (raw for turn in dialogue.turns for raw in turn.get(SYSTEM_ACTS) or ()):
        with suppress(ValueError):  # an invalid act has no name
            intent, domain, slot, value = parse_act(raw)
            is_name = intent in (INFORM, RECOMMEND) and slot == NAME and domain in VENUE_DOMAINS
            if is_name and not database.named(domain, value):
                invented[domain] = value

    def corrected(line: SemanticTuple, final: SemanticTuple) -> SemanticTuple:
        is_given = line.slot == NAME and bool(line.value) and not line.refers
        if is_given and line.domain in invented:
            return final.with_value(invented[line.domain])
        return final

    return tuple(map(corrected, dialogue.goal, dialogue.final_goal))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSimulation(ScoredFile):
    """A scored log of simulated dialogues."""

    gold: Gold
    log: SimulationLog
    judgements: Mapping[str, Judgement]
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals if requested."""
        scores, n = self.scored_table.scores(resampling), len(self.log.dialogues)
        plain: dict[str, Any] = {}
        for score in scores:
            plain.setdefault(score.name.removeprefix("e2e."), {})[score.scope] = score.value
        return Report(
            metrics={"e2e": plain},
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta={
                "corpus": self.gold.corpus,
                "unit": "dialogue",
                "note": "Simulated dialogues about generated goals, not the goals of the corpus.",
                "fold": "simulated",
                "sources": self.gold.fold.checksum,
                "said": dict(self.log.header) or None,
                "turns": sum(dialogue.n_turns for dialogue in self.log.dialogues.values()),
                "coverage": {"dialogues": {"scored": n, "of": n}},
                "versions": versions(SCORING_REVISION),
            },
            benchmark=BENCHMARK,
        )

    def explain(self, unit: str) -> Explanation:
        """Return the outcomes of a dialogue. Raises `UsageError` for an unknown dialogue."""
        if unit not in self.log.dialogues:
            hint = did_you_mean(unit, self.log.dialogues)
            raise UsageError(f'no dialogue "{shorten(unit)}"{hint}')
        dialogue, judged = self.log.dialogues[unit], self.judgements[unit]
        finished = dialogue.finished
        outcomes = {
            "e2e.finish_rate": finished,
            "e2e.inform": judged.inform if finished else None,
            "e2e.success": judged.success if finished and judged.inform else None,
        }
        return Explanation(
            unit=unit,
            outcomes={WHOLE: outcomes},
            goal=tuple(goal_facts(dialogue.goal_type, dialogue.goal, dialogue.final_goal)),
            turns=tuple(map(_turn, dialogue.turns)),
            reasons=tuple(judged.reasons() if finished else _not_finished(dialogue)),
        )


def evaluate_simulation(
    log: str | Path | Lines,
    gold: Gold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> ScoredSimulation:
    """Return the scores of a log of simulated dialogues, given the gold data with the database.

    `log` is a file name or the lines of a file; error messages call the file `file`. Raises
    `InputError` with all problems if the log cannot be scored. Raises `UsageError` if an option
    does not apply to simulations.
    """
    checked, findings = _checked(log, options, file)
    findings.check()
    dialogues = checked.dialogues
    judgements = {
        name: judge(dialogue.goal, outcome_of(dialogue, gold.database), gold.database)
        for name, dialogue in dialogues.items()
    }
    columns = outcome_columns(SCOPES, *OUTCOMES)
    table = Table.from_rows(columns, list(_rows(dialogues, judgements)))
    choices = {
        "corpus": f"{gold.corpus}@{gold.fold.checksum}",
        "fold": "simulated",
        "n": len(dialogues),
        "told": "user state",
        "user": "simulated",
        "rev": SCORING_REVISION,
        "version": __version__,
    }
    measures = tuple(_measures(table.sums(), Signature.of("e2e", choices)))
    # With another seed, a goal of the same name is another goal.
    goals = {name: json_line(goal_to_json(dialogue.goal)) for name, dialogue in dialogues.items()}
    about = {name: sha256(goal.encode()).hexdigest()[:16] for name, goal in goals.items()}
    scored = ScoredTable(table, measures, about=about)
    return ScoredSimulation(gold, checked, judgements, scored, tuple(findings.warnings))


def validate_simulation(path: str | Path, options: Options = DEFAULT_OPTIONS) -> list[Problem]:
    """Return all problems of a log.

    Raises `InputError` if the log cannot be read. Raises `UsageError` if an option does not apply
    to simulations.
    """
    return _checked(path, options)[1].problems


def _checked(
    log: str | Path | Lines, options: Options, file: str | None = None
) -> tuple[SimulationLog, Findings]:
    if isinstance(log, str | Path):
        file, log = str(log), log_lines(log)
    if options.conditioning is not None or set(options.tracks) - {END_TO_END.name}:
        raise UsageError(
            f"{file} is a log of simulated dialogues, which can only be scored as "
            f"{END_TO_END.name}: leave out --track and --conditioning"
        )
    findings = Findings(file, options.lenient, options.strict)
    return check_log(log, findings, allow_partial=options.allow_partial), findings


def _rows(
    dialogues: Mapping[str, LoggedDialogue], judgements: Mapping[str, Judgement]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    natural = natural_mix(dialogues)
    for index, (name, dialogue) in enumerate(dialogues.items()):
        # An unfinished dialogue fails in any case.
        outcomes = {
            "finish_rate": dialogue.finished,
            "inform": dialogue.finished and judgements[name].inform,
            "success": dialogue.finished and judgements[name].success,
        }
        scopes = [WHOLE, dialogue.goal_type, *([NATURAL] if index < natural else [])]
        yield name, outcome_row(scopes, **outcomes)


def _measures(sums: Mapping[str, float], signature: Signature) -> Iterator[Measure]:
    types = [scope for scope in GOAL_TYPES if sums[f"e2e.dialogues@{scope}"]]
    for kind, label in OUTCOMES.items():
        yield from outcome_rate(kind, label).measures(sums, signature, SCOPES, "@")
        macro = partial(_mean_rate, kind, types)
        yield Measure(f"e2e.{kind}", label, signature, macro, scope=MACRO)


def _mean_rate(kind: str, scopes: Sequence[str], sums: Sums) -> NDArray[np.float64]:
    rates = [100 * sums[f"e2e.{kind}@{s}"] / sums[f"e2e.dialogues@{s}"] for s in scopes]
    return np.asarray(np.array(rates).mean(axis=0), dtype=np.float64)


def _turn(raw: Mapping[str, Any]) -> TurnView:
    utterances = [
        Utterance(speaker, str(raw[key]))
        for key, speaker in ((USER_RESPONSE, "user"), (RESPONSE, "system"))
        if raw.get(key) is not None
    ]
    facts = [Fact(label, _acts(raw[key])) for key, label in SHOWN_ACTS.items() if raw.get(key)]
    if not utterances:
        # In a dialogue at act level, the acts are shown as utterances.
        utterances = [
            Utterance(speaker, _acts(raw.get(key) or ()) or "(nothing)")
            for key, speaker in ((USER_ACTS, "user"), (SYSTEM_ACTS, "system"))
        ]
        facts = []
    for key in (STATE, SELECTED):
        domains = raw.get(key)
        for domain, content in domains.items() if isinstance(domains, Mapping) else ():
            if isinstance(content, Mapping) and content:
                text = "; ".join(f"{slot}={value}" for slot, value in content.items())
                facts.append(Fact(key, text, str(domain)))
            elif isinstance(content, list) and content:
                facts.append(Fact(key, ", ".join(map(str, content)), str(domain)))
    return TurnView(tuple(utterances), tuple(facts))


def _acts(raw: Iterable[Any]) -> str:
    return ", ".join(act if isinstance(act, str) else "+".join(map(str, act)) for act in raw)


def _not_finished(dialogue: LoggedDialogue) -> Iterator[Reason]:
    undone = [line for line in dialogue.final_goal if not line.done]
    for line in undone:
        text = (
            f"sub-goal {line.subgoal}: {line.slot} is {spelled(line.value)} at the end of the "
            "dialogue"
        )
        yield Reason(f"{NOT_DONE}:{line.slot}", "e2e.finish_rate", line.domain, None, text)
    if not undone:
        text = f"the user did not end the dialogue within {dialogue.n_turns} turns"
        yield Reason(NOT_FINISHED, "e2e.finish_rate", WHOLE, None, text)
