"""Dialogue state tracking as additive rows: joint goal accuracy and its relatives; state errors.

A slot of a turn is *correct* (predicted and right), *missing* (only in the gold state), *spurious*
(only in the predicted state) or *wrong* (in both, not right). Joint goal accuracy is the percentage
of turns in which every slot is correct.

Flexible goal accuracy gives a part of a turn's credit where the turn is wrong through errors of
turns before it alone: 1 − exp(−λ t), t turns after the latest turn that made an error itself.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy, F1 of a turn); Rastogi et al., AAAI 2020 (average goal
accuracy); Kim et al., ACL 2022 (relative slot accuracy); Dey et al., "Towards Fair Evaluation of
Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", ACL 2022.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import expm1
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.tracking.states import (
    ABSENT,
    DST_THRESHOLD,
    LAMBDA,
    Convention,
    GoldState,
    PredictedState,
    StateReader,
    any_equal,
    any_similar,
    slots_of,
)
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact, Reason, TurnView
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.sheets import Document, sheet
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import library_version

EPSILON = 1e-10
"""Keeps divisions defined; part of the published definition, so it shows in the last digits."""
DST_COLUMNS = ("dst.turns", "dst.joint", "dst.tp", "dst.fp", "dst.fn")


def dst_row(turns: Iterable[tuple[State, State]]) -> dict[str, float]:
    """Return the counts of a dialogue over (predicted, gold) states under the rule `fuzzy95`."""
    counted = joint = true_positive = false_positive = false_negative = 0
    for predicted, gold in turns:
        predicted_slots = sum(map(len, predicted.values()))
        gold_slots = sum(map(len, gold.values()))
        correct = sum(
            slot in gold[domain] and any_similar(value, (gold[domain][slot],))
            for domain, slots in predicted.items()
            if domain in gold
            for slot, value in slots.items()
        )
        counted += 1
        joint += predicted_slots == gold_slots == correct
        true_positive += correct
        false_positive += predicted_slots - correct
        false_negative += gold_slots - correct
    numbers = (counted, joint, true_positive, false_positive, false_negative)
    return dict(zip(DST_COLUMNS, numbers, strict=True))


def dst_measures(signature: Signature) -> Iterator[Measure]:
    """Yield joint accuracy, and F1, precision and recall of slots, all in percent."""
    for name, label, function in (
        ("joint_accuracy", "Joint accuracy", _joint_accuracy),
        ("slot_f1", "Slot F1", _smoothed_f1),
        ("slot_precision", "Slot precision", partial(_smoothed, "dst.tp", "dst.fp")),
        ("slot_recall", "Slot recall", partial(_smoothed, "dst.tp", "dst.fn")),
    ):
        yield Measure(f"dst.{name}", label, signature, function, places=1)


def _joint_accuracy(sums: Sums) -> NDArray[np.float64]:
    return 100 * sums["dst.joint"] / (sums["dst.turns"] + EPSILON)


def _smoothed(right: str, errors: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[right] / (sums[right] + sums[errors] + EPSILON)


def _smoothed_f1(sums: Sums) -> NDArray[np.float64]:
    precision = _smoothed("dst.tp", "dst.fp", sums) / 100
    recall = _smoothed("dst.tp", "dst.fn", sums) / 100
    return 100 * 2 * precision * recall / (precision + recall + EPSILON)


class JudgedDomain:
    """A domain's slots in a predicted and a gold state, and the number of turns with these.

    None is a state without the domain.
    """

    def __init__(
        self,
        domain: str,
        predicted: Mapping[str, str] | None,
        gold: Mapping[str, Sequence[str]] | None,
        agree: Callable[[str, Sequence[str]], bool],
    ) -> None:
        self.domain, self.predicted, self.gold, self.turns = domain, predicted, gold, 0
        values, right = predicted or {}, gold or {}
        self.correct: list[str] = []
        self.missing: list[str] = []
        self.spurious = [slot for slot in values if slot not in right]
        self.wrong: list[str] = []
        for slot, accepted in right.items():
            if slot not in values:
                if ABSENT not in accepted:
                    self.missing.append(slot)
            else:
                (self.correct if agree(values[slot], accepted) else self.wrong).append(slot)
        self.right = not (self.missing or self.wrong or self.spurious)
        in_both = len(self.correct) + len(self.wrong)
        self.gold_slots = in_both + len(self.missing)
        self.predicted_slots = in_both + len(self.spurious)
        self.all_slots = self.gold_slots + len(self.spurious)

    def has_new_error(self, before: JudgedDomain | None) -> bool:
        """Tell whether an error was made in this turn; `before` is the domain in the last turn.

        That is so when what the annotation added or changed in this turn is not predicted, or when
        what the prediction added or changed is not right. Any other error was there before, or is
        due to slots that are gone.
        """
        if before is self or self.right:
            return False
        predicted = before.predicted if before and before.predicted else {}
        gold = before.gold if before and before.gold else {}
        now_predicted, now_gold = self.predicted or {}, self.gold or {}
        return any(
            gold.get(slot) != now_gold[slot] for slot in (*self.missing, *self.wrong)
        ) or any(
            predicted.get(slot) != now_predicted[slot] for slot in (*self.spurious, *self.wrong)
        )


OTHER = "other"
"""Counts the slots that are not among the known ones."""
ERRORS = ("missing", "spurious", "wrong")
KINDS = ("correct", *ERRORS)
TOTALS = (
    *("turns", "joint", "gold_turns", "goal_accuracy", "filled_turns", "relative_accuracy"),
    *("turn_f1", "flexible"),
)
DOMAIN_COUNTS = ("active", "counted", "right", "dialogues", "only")
DEPTHS = (*map(str, range(1, 10)), "10+")
"""Which turn of its dialogue a turn is; the few from the tenth on are counted together."""
DEPTH_COUNTS = ("turns_at", "joint_at", "dialogues_at")

FLEXIBLE = "flexible_goal_accuracy"
"""The one score whose signature has λ."""
BY_SCOPE = ("joint_goal_accuracy", "joint_goal_accuracy_without", "joint_goal_accuracy_at_turn")
SHOWN_CONFUSIONS = 5
"""How many of a slot's most frequent confusions are reported."""

Confusion = tuple[str, str, str]
"""A slot, `domain-slot`, with the gold and the predicted value."""

WHOLE_TURN = 720720
"""Columns hold whole numbers, so that sums are the same in any order: a turn's mean over slots is
kept as so many parts of this, which is exact for up to 16 slots and else right to a millionth."""
FINE_TURN = WHOLE_TURN * 2**10
"""The same right to a billionth, for what is no mean over slots."""


class JointGoals:
    """Scores states under a convention; gold states are prepared once.

    Scores are called `dst.CONVENTION.…`, as the columns of rows are. Slots that the convention does
    not know are counted as `other`; where it is `closed`, states have none, and slot accuracy is
    defined.
    """

    def __init__(self, convention: Convention, rules: Rules) -> None:
        self.name = convention.name
        self.prefix = f"dst.{self.name}"
        self.agree = any_similar if convention["values"] == "fuzzy95" else any_equal
        self.closed = convention["slots"] == "30"
        slots = slots_of(convention)
        self.domains = tuple(slots)
        self.slots = tuple(f"{domain}-{slot}" for domain in slots for slot in slots[domain])
        named = self.slots if self.closed else (*self.slots, OTHER)
        counts = (
            *(*TOTALS, *KINDS),
            *(f"{count}.{depth}" for count in DEPTH_COUNTS for depth in DEPTHS),
            *(f"{count}.{domain}" for count in DOMAIN_COUNTS for domain in self.domains),
            *(f"{kind}.{slot}" for kind in KINDS for slot in named),
        )
        self._column_of = {count: f"{self.prefix}.{count}" for count in counts}
        self.columns = tuple(self._column_of.values())
        self._convention = convention
        self._domain_turns = convention["domain-turns"]
        self._lambda = float(convention[LAMBDA])
        self._rules = rules
        self._reader = StateReader(convention, rules)
        self._gold: dict[str, Sequence[GoldState]] = {}

    def states(
        self, name: str, gold: GoldDialogue, turns: Sequence[Turn]
    ) -> Iterator[tuple[PredictedState, GoldState]]:
        """Return the (predicted, gold) states of a dialogue in the spelling that is compared.

        The gold states are remembered by the dialogue's `name`.
        """
        annotated = self._gold.get(name)
        if annotated is None:
            annotated = self._gold[name] = self._reader.gold(gold)
        predicted = self._reader.predicted(turn.state or {} for turn in turns)
        return zip(predicted, annotated, strict=False)

    def row(
        self,
        turns: Iterable[tuple[PredictedState, GoldState]],
        confusions: Counter[Confusion] | None = None,
    ) -> dict[str, float]:
        """Return the counts of a dialogue over (predicted, gold) states, one pair a turn.

        Wrong values are added to `confusions`, once for each turn. Domains and states that have not
        changed since the turn before should be the same objects: they are judged once.
        """
        counts: defaultdict[str, int] = defaultdict(int)
        latest: dict[str, JudgedDomain] = {}
        everything: list[JudgedDomain] = []
        before: dict[str, JudgedDomain] = {}
        rights: list[bool] = []
        gold_turns = filled_turns = goal_accuracy = relative_accuracy = f1 = flexible = erring = 0
        for predicted, gold in turns:
            now: dict[str, JudgedDomain] = {}
            correct = gold_slots = predicted_slots = all_slots = errors = 0
            culprit = ""
            for domain in predicted.keys() | gold.keys():
                predicted_here, gold_here = predicted.get(domain), gold.get(domain)
                judged = latest.get(domain)
                if (
                    judged is None
                    or judged.predicted is not predicted_here
                    or judged.gold is not gold_here
                ):
                    judged = JudgedDomain(domain, predicted_here, gold_here, self.agree)
                    latest[domain] = judged
                    everything.append(judged)
                now[domain] = judged
                judged.turns += 1
                correct += len(judged.correct)
                gold_slots += judged.gold_slots
                predicted_slots += judged.predicted_slots
                all_slots += judged.all_slots
                if not judged.right:
                    errors += 1
                    culprit = domain
            if errors == 1 and culprit in self.domains:
                counts[f"only.{culprit}"] += 1
            if gold_slots:
                gold_turns += 1
                goal_accuracy += round(WHOLE_TURN * correct / gold_slots)
            if all_slots:
                filled_turns += 1
                relative_accuracy += round(WHOLE_TURN * correct / all_slots)
            # Two states without slots agree.
            in_both = gold_slots + predicted_slots
            f1 += round(FINE_TURN * 2 * correct / in_both) if in_both else FINE_TURN
            if not errors:
                flexible += FINE_TURN
            elif all(rights[-1:]) or any(j.has_new_error(before.get(d)) for d, j in now.items()):
                erring = len(rights)
            else:
                flexible += round(FINE_TURN * -expm1(self._lambda * (erring - len(rights))))
            rights.append(not errors)
            before = now
        for judged in everything:
            self._count_slots(counts, judged, confusions)
        self._count_domains(counts, everything, len(rights))
        last = len(DEPTHS) - 1
        for turn, right in enumerate(rights):
            for count, number in zip(DEPTH_COUNTS, (1, right, turn <= last), strict=True):
                counts[f"{count}.{DEPTHS[min(turn, last)]}"] += number
        totals = (len(rights), sum(rights), gold_turns, goal_accuracy, filled_turns)
        counts.update(zip(TOTALS, (*totals, relative_accuracy, f1, flexible), strict=True))
        return {self._column_of[count]: number for count, number in counts.items()}

    def _count_slots(
        self,
        counts: defaultdict[str, int],
        judged: JudgedDomain,
        confusions: Counter[Confusion] | None,
    ) -> None:
        kinds = (judged.correct, judged.missing, judged.spurious, judged.wrong)
        for kind, slots in zip(KINDS, kinds, strict=True):
            if slots:
                counts[kind] += judged.turns * len(slots)
                for slot in slots:
                    count = f"{kind}.{judged.domain}-{slot}"
                    counts[count if count in self._column_of else f"{kind}.{OTHER}"] += judged.turns
        if confusions is not None and judged.wrong and judged.gold and judged.predicted:
            for slot in judged.wrong:
                shown = next(value for value in judged.gold[slot] if value != ABSENT)
                confusions[f"{judged.domain}-{slot}", shown, judged.predicted[slot]] += judged.turns

    def _count_domains(
        self, counts: defaultdict[str, int], everything: Sequence[JudgedDomain], turns: int
    ) -> None:
        active: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for judged in everything:
            if judged.all_slots:
                active[judged.domain] += judged.turns
                wrong[judged.domain] += 0 if judged.right else judged.turns
        in_gold = {judged.domain for judged in everything if judged.gold}
        for domain in self.domains:
            if self._domain_turns == "all" or domain in in_gold or domain in active:
                counted = {
                    "active": active[domain],
                    "all": turns,
                    "dialogue": turns if domain in in_gold else 0,
                }[self._domain_turns]
                right = counted - wrong[domain] if counted else 0
                numbers = (active[domain], counted, right, int(counted > 0))
                for count, number in zip(DOMAIN_COUNTS, numbers, strict=False):
                    counts[f"{count}.{domain}"] = number

    def choices(self, score: str) -> dict[str, object]:
        """Return the part of a score's signature that depends on the convention."""
        chosen: dict[str, object] = {"rule": self.name, **dict(self._convention.choices)}
        if score != FLEXIBLE:
            del chosen[LAMBDA]
        if self._convention["values"] in ("exact", "fuzzy95"):
            chosen["rules"] = self._rules
        if self._convention["values"] == "fuzzy95":
            chosen["fuzzy"] = f">{DST_THRESHOLD}"
            chosen["levenshtein"] = library_version("python-Levenshtein")
        return chosen

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores, all in percent; of domains only those that any state has.

        `joint_goal_accuracy` of all slots and of each domain's; `joint_goal_accuracy_without`: of
        the slots of all other domains, over all turns; `joint_goal_accuracy_at_turn`: of the first,
        second … turns of dialogues; `flexible_goal_accuracy`; over all slots of all turns,
        `slot_precision`, `slot_recall`, `slot_f1`, and `slot_accuracy` (of all known slots of all
        turns, how many are neither missing nor spurious nor wrong); `mean_turn_f1`, the mean over
        turns of the F1 of a turn's slots; `average_goal_accuracy`, the mean over turns with a gold
        slot of how many of their gold slots are correct; `relative_slot_accuracy`, the mean over
        turns with any slot of how many of the slots of either state are correct.
        """
        prefix = self.prefix

        def measure(
            name: str, label: str, of: ScoreFunction, scope: str = WHOLE, cases: str | None = None
        ) -> Measure:
            label = f"{label} ({self.name})"
            return Measure(f"{prefix}.{name}", label, sign(name), of, 1, scope, cases)

        def mean(part: str, of: str = "turns", whole: int = FINE_TURN) -> ScoreFunction:
            return partial(_mean, f"{prefix}.{part}", f"{prefix}.{of}", whole)

        present = [domain for domain in self.domains if sums[f"{prefix}.active.{domain}"]]
        joint, turns = f"{prefix}.joint", f"{prefix}.turns"
        yield measure("joint_goal_accuracy", "JGA", percentage(joint, of=turns))
        for domain in present:
            counted = f"{prefix}.counted.{domain}"
            if sums[counted]:
                right = percentage(f"{prefix}.right.{domain}", of=counted)
                cases = f"{prefix}.dialogues.{domain}"
                yield measure("joint_goal_accuracy", "JGA", right, domain, cases)
        for domain in present:
            others = percentage(joint, f"{prefix}.only.{domain}", of=turns)
            yield measure("joint_goal_accuracy_without", "JGA without", others, domain)
        for depth in DEPTHS:
            if sums[f"{prefix}.turns_at.{depth}"]:
                right = percentage(f"{prefix}.joint_at.{depth}", of=f"{prefix}.turns_at.{depth}")
                cases = f"{prefix}.dialogues_at.{depth}"
                yield measure("joint_goal_accuracy_at_turn", "JGA at turn", right, depth, cases)
        yield measure(FLEXIBLE, "Flexible goal accuracy", mean("flexible"))
        yield measure("slot_f1", "Slot F1", partial(_f1, prefix))
        yield measure("slot_precision", "Slot precision", partial(_share, prefix, "spurious"))
        yield measure("slot_recall", "Slot recall", partial(_share, prefix, "missing"))
        if self.closed:
            accuracy = partial(_slot_accuracy, prefix, len(self.slots))
            yield measure("slot_accuracy", "Slot accuracy", accuracy)
        yield measure("mean_turn_f1", "Mean turn F1", mean("turn_f1"))
        if sums[f"{prefix}.gold_turns"]:
            average = mean("goal_accuracy", "gold_turns", WHOLE_TURN)
            yield measure("average_goal_accuracy", "Average goal accuracy", average)
        if sums[f"{prefix}.filled_turns"]:
            relative = mean("relative_accuracy", "filled_turns", WHOLE_TURN)
            yield measure("relative_slot_accuracy", "Relative slot acc.", relative)

    def view(
        self,
        values: Mapping[str, Mapping[str, float]],
        sums: Mapping[str, float],
        confusions: Counter[Confusion],
    ) -> dict[str, Any]:
        """Return the scores as JSON reports have them, with the errors of each slot.

        `values` are all scores, name → scope → number; those in `BY_SCOPE` come by scope, the
        others as they are, all in percent. Slots that no state has are left out.
        """
        prefix = f"{self.prefix}."
        own = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
        plain: dict[str, Any] = {n: v if n in BY_SCOPE else v[WHOLE] for n, v in own.items()}
        plain["errors"] = errors = {}
        for slot in self.slots if self.closed else (*self.slots, OTHER):
            counts = {kind: int(sums[f"{prefix}{kind}.{slot}"]) for kind in KINDS}
            if any(counts.values()):
                errors[slot] = {**counts, "confusions": _most_frequent(slot, confusions)}
        return plain


def _mean(part: str, turns: str, whole: int, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[part] / (whole * sums[turns])


def _share(prefix: str, error: str, sums: Sums) -> NDArray[np.float64]:
    """Return correct slots in percent of those predicted (`spurious`) or annotated (`missing`).

    Without any of these it is 0, but 100 when the other side has none either.
    """
    correct, wrong = sums[f"{prefix}.correct"], sums[f"{prefix}.wrong"]
    other = "missing" if error == "spurious" else "spurious"
    perfect = correct + wrong + sums[f"{prefix}.{other}"] == 0
    return _over(correct, correct + wrong + sums[f"{prefix}.{error}"], perfect)


def _f1(prefix: str, sums: Sums) -> NDArray[np.float64]:
    correct, missing, spurious, wrong = (sums[f"{prefix}.{kind}"] for kind in KINDS)
    whole = 2 * correct + missing + spurious + 2 * wrong
    return _over(2 * correct, whole, np.ones_like(whole, dtype=bool))


def _over(
    part: NDArray[np.float64], whole: NDArray[np.float64], perfect: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return 100 × part / whole; 100 or 0 where there is no whole."""
    empty = np.where(perfect, 100.0, 0.0)
    return np.where(whole > 0, 100 * part / np.where(whole > 0, whole, 1), empty)


def _slot_accuracy(prefix: str, slots: int, sums: Sums) -> NDArray[np.float64]:
    errors = sum((sums[f"{prefix}.{kind}"] for kind in ERRORS), np.zeros(()))
    return 100 * (1 - errors / (slots * sums[f"{prefix}.turns"]))


def _most_frequent(slot: str, confusions: Counter[Confusion]) -> list[dict[str, Any]]:
    of_slot = sorted(
        (-turns, gold, value) for (of, gold, value), turns in confusions.items() if of == slot
    )
    return [
        {"gold": gold, "predicted": value, "turns": -turns}
        for turns, gold, value in of_slot[:SHOWN_CONFUSIONS]
    ]


REASONS = {MISSING: "missing-slot", SPURIOUS: "spurious-slot", WRONG: "wrong-slot"}
"""What is wrong with a slot, and the kind of reason that it is."""
STATE, ACTIVE = "state", "active"
"""Labels of the facts behind which those of errors stand."""
GOLD_STATE = "gold state"


@dataclass(frozen=True, slots=True)
class StateErrors:
    """The predicted states of a dialogue held against the annotated ones, turn by turn.

    `outcome` is the name of the joint accuracy that counts turns without errors.
    """

    outcome: str
    turns: tuple[tuple[JudgedDomain, ...], ...]

    @classmethod
    def of(
        cls,
        outcome: str,
        agree: Callable[[str, Sequence[str]], bool],
        states: Iterable[tuple[PredictedState, GoldState]],
    ) -> StateErrors:
        """Return the errors of (predicted, gold) states, whose values are right if they agree."""
        return cls(
            outcome,
            tuple(
                tuple(
                    JudgedDomain(domain, predicted.get(domain), gold.get(domain), agree)
                    for domain in dict.fromkeys((*predicted, *gold))
                )
                for predicted, gold in states
            ),
        )

    def shown_in(self, explanation: Explanation) -> Explanation:
        """Return an explanation whose turns tell annotated states and what is wrong."""
        views = zip(explanation.turns, self.turns, strict=True)
        return replace(
            explanation, turns=tuple(_with_errors(view, judged) for view, judged in views)
        )

    def explained(self, explanation: Explanation) -> Explanation:
        """Return an explanation of state tracking alone."""
        domains = dict.fromkeys(judged.domain for turn in self.turns for judged in turn)
        lost = dict.fromkeys(j.domain for turn in self.turns for j in turn if not j.right)
        return replace(
            self.shown_in(explanation),
            outcomes={
                WHOLE: {self.outcome: not lost},
                **{domain: {self.outcome: domain not in lost} for domain in domains},
            },
            reasons=tuple(self._reasons()),
        )

    def _reasons(self) -> Iterator[Reason]:
        for turn, of_turn in enumerate(self.turns):
            for judged in of_turn:
                for kind, slots in _errors(judged):
                    for slot, text in slots.items():
                        code = f"{REASONS[kind]}:{slot}"
                        said = f"The state {_SENTENCES[kind].format(text)}."
                        yield Reason(code, self.outcome, judged.domain, turn, said)


_SENTENCES = {
    MISSING: "lacks {}, which is annotated",
    SPURIOUS: "has {}, which is not annotated",
    WRONG: "has {}",
}


def _with_errors(view: TurnView, judged: Sequence[JudgedDomain]) -> TurnView:
    """Return a turn with the facts of errors behind its state."""
    places = [place for place, fact in enumerate(view.facts) if fact.label in (ACTIVE, STATE)]
    behind = places[-1] + 1 if places else 0
    facts = [fact for domain in judged for fact in _facts(domain)]
    return view._replace(facts=(*view.facts[:behind], *facts, *view.facts[behind:]))


def _facts(judged: JudgedDomain) -> Iterator[Fact]:
    if judged.gold:
        stated = ", ".join(f"{slot}={_right(judged, slot)}" for slot in judged.gold)
        yield Fact(GOLD_STATE, stated, judged.domain)
    for kind, slots in _errors(judged):
        if slots:
            yield Fact(kind, ", ".join(slots.values()), judged.domain)


def _errors(judged: JudgedDomain) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each kind of error, with the slots that have it and a text on each."""
    predicted = {slot: f"{slot}={value}" for slot, value in (judged.predicted or {}).items()}
    yield MISSING, {slot: f"{slot}={_right(judged, slot)}" for slot in judged.missing}
    yield SPURIOUS, {slot: predicted[slot] for slot in judged.spurious}
    yield (
        WRONG,
        {slot: f"{predicted[slot]} instead of {_right(judged, slot)}" for slot in judged.wrong},
    )


def _right(judged: JudgedDomain, slot: str) -> str:
    """Return the values that are right for a slot of the annotated state."""
    return " or ".join(value for value in (judged.gold or {})[slot] if value != ABSENT)


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
    sheets, records = [], []
    for rule, scores in rules.items():
        rows = []
        for slot, errors in scores["errors"].items():
            counts = {kind: errors[kind] for kind in KINDS}
            confusions = [
                f"{confusion['gold']} → {confusion['predicted']} ({confusion['turns']})"
                for confusion in errors["confusions"]
            ]
            rows.append([slot, *map(str, counts.values()), "; ".join(confusions[:SHOWN])])
            everything = "; ".join(confusions)
            records.append({"rule": rule, "slot": slot, **counts, "confusions": everything})
        sheets.append(sheet(rule, ["slot", *KINDS, "gold → predicted"], rows))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(sheets),
        notes=(NOTE,),
        records=tuple(records),
        plain={"dst_errors": {rule: scores["errors"] for rule, scores in rules.items()}},
    )
