"""Joint goal accuracy under one convention: rows, scores, and the errors slot by slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from mwzeval.metrics.joint_goal_accuracy import (
    FLEXIBLE,
    Confusion,
    DomainTurns,
    JointGoalAccuracy,
    joint_goal_measures,
)
from mwzeval.metrics.judged_states import Agree
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.tracking.conventions import LAMBDA, Convention
from mwzeval.multiwoz.tracking.states import (
    FUZZY_THRESHOLD,
    GoldState,
    PredictedState,
    StateReader,
    any_equal,
    any_similar,
    slots_of,
)
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document, Sheet, sheet
from mwzeval.version import library_version

KINDS = ("correct", "missing", "spurious", "wrong")
NOTE = (
    "turns in which a slot was correct, missing (only annotated), spurious (only predicted), wrong "
    "(another value); gold → predicted are its most frequent wrong values"
)
SHOWN = 2
"""How many confusions a row of a table has room for; records and JSON have more."""


def state_errors(report: Report) -> Document:
    """Return a table for each rule of state tracking, and a record for each slot.

    It has no tables when no turn was scored for lack of predicted states.
    """
    rules: Mapping[str, Any] = report.metrics.get("dst_rules") or {}
    records = tuple(_records(rules))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(_sheet(rule, of_rule["errors"]) for rule, of_rule in rules.items()),
        notes=(NOTE,),
        records=records,
        plain={"dst_errors": {rule: of_rule["errors"] for rule, of_rule in rules.items()}},
    )


def _sheet(rule: str, errors: Mapping[str, Any]) -> Sheet:
    rows = [
        [slot, *(str(of_slot[kind]) for kind in KINDS), "; ".join(_confusions(of_slot)[:SHOWN])]
        for slot, of_slot in errors.items()
    ]
    return sheet(rule, ["slot", *KINDS, "gold → predicted"], rows)


def _records(rules: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rule, of_rule in rules.items():
        for slot, of_slot in of_rule["errors"].items():
            counts = {kind: of_slot[kind] for kind in KINDS}
            confusions = "; ".join(_confusions(of_slot))
            yield {"rule": rule, "slot": slot, **counts, "confusions": confusions}


def _confusions(of_slot: Mapping[str, Any]) -> list[str]:
    return [f"{c['gold']} → {c['predicted']} ({c['turns']})" for c in of_slot["confusions"]]


BY_SCOPE = ("joint_goal_accuracy", "joint_goal_accuracy_without", "joint_goal_accuracy_at_turn")
SHOWN_CONFUSIONS = 5
"""How many of a slot's most frequent confusions are reported."""


class JointGoals:
    """Scores states under a convention; gold states are prepared once.

    Scores are called `dst.CONVENTION.…`, as the columns of rows are.
    """

    def __init__(self, convention: Convention, rules: Rules) -> None:
        self.convention = convention
        self.name = convention.name
        self.agree: Agree = any_similar if convention["values"] == "fuzzy95" else any_equal
        self.accuracy = JointGoalAccuracy(
            f"dst.{self.name}",
            slots_of(convention),
            self.agree,
            closed=convention["slots"] == "30",
            domain_turns=cast(DomainTurns, convention["domain-turns"]),
            flexible_rate=float(convention[LAMBDA]),
        )
        self._rules = rules
        self._reader = StateReader(convention, rules)
        self._gold: dict[str, list[GoldState]] = {}

    def row(
        self,
        name: str,
        gold: GoldDialogue,
        turns: Sequence[Turn],
        confusions: Counter[Confusion] | None = None,
    ) -> dict[str, float]:
        """Return the counts of a dialogue, whose gold data are known as `name`."""
        return self.accuracy.row(self.states(name, gold, turns), confusions)

    def states(
        self, name: str, gold: GoldDialogue, turns: Sequence[Turn]
    ) -> Iterator[tuple[PredictedState, GoldState]]:
        """Return the (predicted, gold) states of a dialogue in the spelling that is compared."""
        annotated = self._gold.get(name)
        if annotated is None:
            annotated = self._gold[name] = self._reader.gold(gold)
        predicted = self._reader.predicted(turn.state or {} for turn in turns)
        return zip(predicted, annotated, strict=False)

    def choices(self, score: str) -> dict[str, object]:
        """Return what the signature of a score has to say of the convention."""
        chosen: dict[str, object] = {"rule": self.name, **dict(self.convention.choices)}
        if score != FLEXIBLE:
            del chosen[LAMBDA]
        if self.convention["values"] in ("exact", "fuzzy95"):
            chosen["rules"] = self._rules
        if self.convention["values"] == "fuzzy95":
            chosen["fuzzy"] = f">{FUZZY_THRESHOLD}"
            chosen["levenshtein"] = library_version("python-Levenshtein")
        return chosen

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores as measures, each said to be of this convention."""
        return joint_goal_measures(self.accuracy, self.name, sign, sums)

    def view(
        self,
        values: Mapping[str, Mapping[str, float]],
        sums: Mapping[str, float],
        confusions: Counter[Confusion],
    ) -> dict[str, Any]:
        """Return the scores as JSON reports have them, with the errors of each slot.

        `values` are all scores, name → scope → number; those in `BY_SCOPE` come by scope, the
        others as they are, all in percent.
        """
        prefix = f"{self.accuracy.prefix}."
        own = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
        plain: dict[str, Any] = {n: v if n in BY_SCOPE else v[WHOLE] for n, v in own.items()}
        plain["errors"] = {
            slot: {**counts, "confusions": _most_frequent(slot, confusions)}
            for slot, counts in self.accuracy.errors(sums).items()
        }
        return plain


def _most_frequent(slot: str, confusions: Counter[Confusion]) -> list[dict[str, Any]]:
    of_slot = [
        (-turns, gold, value) for (of, gold, value), turns in confusions.items() if of == slot
    ]
    return [
        {"gold": gold, "predicted": value, "turns": -turns}
        for turns, gold, value in sorted(of_slot)[:SHOWN_CONFUSIONS]
    ]
