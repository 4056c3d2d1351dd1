"""Simulated dialogues scored: how many finish, and in how many the user was well served.

Source of the finish rate: Zhu et al., TACL 2020, section 5.6. Its overall figure is over the first
1,000 dialogues, in which goal types are as frequent as they come ("natural"), not the mean over
goal types ("macro"). Inform and Success are ours, see `scoring/success.py`; they are judged by the
user's last state, corrected by what the system said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz import NAME as BENCHMARK
from mwzeval.crosswoz import SCORING_REVISION
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, Act, parse_act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, goal_to_json
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, NAME, VENUE_DOMAINS
from mwzeval.crosswoz.predictions.checking import DEFAULT_OPTIONS, Options
from mwzeval.crosswoz.predictions.tracks import (
    END_TO_END,
    SYSTEM_ACTS,
)
from mwzeval.crosswoz.scoring.success import (
    Judgement,
    judge,
)
from mwzeval.crosswoz.simulation.explanation import explain
from mwzeval.crosswoz.simulation.log import (
    Lines,
    LoggedDialogue,
    SimulationLog,
    check_log,
    log_lines,
)
from mwzeval.crosswoz.simulation.summary import NATURAL_MIX
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums
from mwzeval.text import json_line
from mwzeval.version import __version__, library_version


def outcome_of(dialogue: LoggedDialogue, database: Database) -> Goal:
    """Return the lines of the goal with the user's last values.

    A user who names the venue keeps that name whatever is said; so where the system calls it by a
    name that does not exist, that name counts.
    """
    invented = dict(_invented(dialogue, database))

    def corrected(wanted: SemanticTuple, final: SemanticTuple) -> SemanticTuple:
        is_given = wanted.slot == NAME and bool(wanted.value) and not wanted.refers
        if is_given and wanted.domain in invented:
            return final.with_value(invented[wanted.domain])
        return final

    pairs = zip(dialogue.goal, dialogue.final_goal, strict=True)
    return tuple(corrected(wanted, final) for wanted, final in pairs)


def _invented(dialogue: LoggedDialogue, database: Database) -> Iterator[tuple[str, str]]:
    for act in _system_acts(dialogue):
        is_name = act.intent in (INFORM, RECOMMEND) and act.slot == NAME
        if is_name and act.domain in VENUE_DOMAINS and not database.named(act.domain, act.value):
            yield act.domain, act.value


def _system_acts(dialogue: LoggedDialogue) -> Iterator[Act]:
    for turn in dialogue.turns:
        for raw in turn.get(SYSTEM_ACTS) or ():
            # What is no act names nothing.
            with suppress(ValueError):
                yield parse_act(raw)


OUTCOMES = {"finish_rate": "Finish rate", "inform": "Inform", "success": "Success"}
NATURAL, MACRO = "natural mix", "macro"
SCOPES = (WHOLE, NATURAL, *GOAL_TYPES)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSimulation:
    """A log of simulated dialogues that has been scored."""

    gold: Gold
    log: SimulationLog
    judgements: Mapping[str, Judgement]
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals when it is said how."""
        scores, n = self.scored_table.scores(resampling), len(self.log.dialogues)
        return Report(
            metrics={"e2e": _plain(scores)},
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta={
                "corpus": self.gold.corpus,
                "unit": "dialogue",
                "note": "Simulated dialogues about generated goals, not those of the corpus.",
                "fold": "simulated",
                "sources": self.gold.fold.checksum,
                "said": dict(self.log.header) or None,
                "turns": sum(each.n_turns for each in self.log.dialogues.values()),
                "coverage": {"dialogues": {"scored": n, "of": n}},
                "versions": {"numpy": library_version("numpy")}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
            benchmark=BENCHMARK,
        )

    def units(self) -> Sequence[str]:
        """Return the names of the dialogues, in order."""
        return tuple(self.log.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return what became of one dialogue. Raises `UsageError` for an unknown one."""
        if unit not in self.log.dialogues:
            hint = did_you_mean(unit, self.log.dialogues)
            raise UsageError(f'no dialogue "{shorten(unit)}"{hint}')
        return explain(self.log.dialogues[unit], self.judgements[unit])

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every dialogue."""
        for unit in self.log.dialogues:
            yield self.explain(unit)


def evaluate_simulation(
    log: str | Path | Lines,
    gold: Gold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> ScoredSimulation:
    """Return the scores of a log of simulated dialogues, against the database of `gold`.

    The log is a file's name, or the lines of such a file, which `file` names in messages.

    Raises `InputError` with every problem when it cannot be scored, `UsageError` for options that
    say nothing of a simulation.
    """
    checked, findings = _checked(log, options, file)
    findings.check()
    judgements = {
        name: judge(each.goal, outcome_of(each, gold.database), gold.database)
        for name, each in checked.dialogues.items()
    }
    table = Table.from_rows(
        tuple(_column(kind, scope) for scope in SCOPES for kind in ("dialogues", *OUTCOMES)),
        list(_rows(checked, judgements)),
    )
    measures = tuple(_measures(table, _signature(checked, gold)))
    about = {name: _checksum(each.goal) for name, each in checked.dialogues.items()}
    scored = ScoredTable(table, measures, about=about)
    return ScoredSimulation(gold, checked, judgements, scored, tuple(findings.warnings))


def _checksum(goal: Goal) -> str:
    """Return digits that tell a goal from others: of another seed there is another by its name."""
    return sha256(json_line(goal_to_json(goal)).encode()).hexdigest()[:16]


def validate_simulation(path: str | Path, options: Options = DEFAULT_OPTIONS) -> list[Problem]:
    """Return every problem of a log.

    Raises `InputError` when it cannot be read at all, `UsageError` as `evaluate_simulation`.
    """
    return _checked(path, options)[1].problems


def _checked(
    log: str | Path | Lines, options: Options, file: str | None = None
) -> tuple[SimulationLog, Findings]:
    name = str(log) if isinstance(log, str | Path) else file
    if options.conditioning is not None or set(options.tracks) - {END_TO_END.name}:
        raise UsageError(
            f"{name} is a log of simulated dialogues, which are scored as {END_TO_END.name} alone: "
            "name no other track, and no conditioning"
        )
    findings = Findings(name, options.lenient, options.strict)
    lines = log_lines(log) if isinstance(log, str | Path) else log
    return check_log(lines, findings, allow_partial=options.allow_partial), findings


def _rows(
    log: SimulationLog, judgements: Mapping[str, Judgement]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    natural = _natural(log)
    for index, (name, each) in enumerate(log.dialogues.items()):
        judged = judgements[name]
        # Who never finished was not served, whatever was said until then.
        kinds = {
            "dialogues": True,
            "finish_rate": each.finished,
            "inform": each.finished and judged.inform,
            "success": each.finished and judged.success,
        }
        scopes = [WHOLE, each.goal_type, *([NATURAL] if index < natural else [])]
        yield name, {_column(k, s): float(v) for k, v in kinds.items() for s in scopes}


def _natural(log: SimulationLog) -> int:
    """Return how many dialogues from the first on are of goals that came one after the other.

    Once a goal was passed over, because there were enough of its type, the mix is no longer
    natural. Names without numbers say nothing about that.
    """
    count = 0
    for index, name in enumerate(log.dialogues):
        number = re.search(r"0*([0-9]+)$", name)
        if index >= NATURAL_MIX or (number is not None and number[1] != str(index)):
            break
        count += 1
    return count


def _measures(table: Table, signature: Signature) -> Iterator[Measure]:
    sums = table.sums()
    types = tuple(kind for kind in GOAL_TYPES if sums[_column("dialogues", kind)])
    for name, label in OUTCOMES.items():
        for scope in SCOPES:
            cases, outcome = _column("dialogues", scope), _column(name, scope)
            if sums[cases]:
                yield Measure(
                    f"e2e.{name}",
                    label,
                    signature,
                    partial(_mean_rate, ((outcome, cases),)),
                    scope=scope,
                    cases=cases,
                    outcome=outcome,
                )
        pairs = tuple((_column(name, kind), _column("dialogues", kind)) for kind in types)
        macro = partial(_mean_rate, pairs)
        yield Measure(f"e2e.{name}", label, signature, macro, scope=MACRO)


def _mean_rate(pairs: Sequence[tuple[str, str]], sums: Sums) -> NDArray[np.float64]:
    rates = np.array([100 * sums[part] / sums[whole] for part, whole in pairs])
    return np.asarray(rates.mean(axis=0), dtype=np.float64)


def _signature(log: SimulationLog, gold: Gold) -> Signature:
    choices = {
        "corpus": f"{gold.corpus}@{gold.fold.checksum}",
        "fold": "simulated",
        "n": len(log.dialogues),
        "told": "user state",
        "user": "simulated",
        "rev": SCORING_REVISION,
        "version": __version__,
    }
    return Signature.of("e2e", choices)


def _plain(scores: Sequence[Score]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for each in scores:
        plain.setdefault(each.name.removeprefix("e2e."), {})[each.scope] = each.value
    return plain


def _column(kind: str, scope: str) -> str:
    return f"e2e.{kind}@{scope}"
