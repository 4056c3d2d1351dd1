"""Score dialogue state tracking by joint goal accuracy and related scores, which are computed from
sums of counts.

A slot of a turn is *correct* (predicted with an accepted value), *missing* (only in the gold
state), *spurious* (only in the predicted state) or *wrong* (in both, with another value). Joint
goal accuracy is the percentage of turns in which every slot is correct.

Flexible goal accuracy gives partial credit to a turn whose errors all come from earlier turns. The
partial credit of a turn is 1 − exp(−λ t), where t is the number of turns since the last turn with a
new error.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy, F1 of a turn); Rastogi et al., AAAI 2020 (average goal
accuracy); Kim et al., ACL 2022 (relative slot accuracy); Dey et al., "Towards Fair Evaluation of
Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", ACL 2022.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.tracking.states import (
    ABSENT,
    DST_THRESHOLD,
    FUZZY95,
    LAMBDA,
    Convention,
    GoldState,
    PredictedState,
    StateReader,
    any_equal,
    any_similar,
    slots_of,
)
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact, TurnView
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import library_version

Agree = Callable[[str, Sequence[str]], bool]
"""A function that returns whether a predicted value agrees with the accepted values."""
States = Iterable[tuple[PredictedState, GoldState]]
"""The predicted and the gold state of each turn of a dialogue."""

EPSILON = 1e-10
"""Prevents division by zero. The constant is part of the published definition and affects the last
digits of scores."""
DST_COLUMNS = ("dst.turns", "dst.joint", "dst.tp", "dst.fp", "dst.fn")


def dst_row(turns: Iterable[tuple[State, State]]) -> dict[str, float]:
    """Return a dialogue's counts over (predicted, gold) states under the rule `fuzzy95`."""
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
    """The slots of one domain in a predicted and a gold state, and the number of turns with these
    two states.

    A state that does not contain the domain is None.
    """

    def __init__(
        self,
        domain: str,
        predicted: Mapping[str, str] | None,
        gold: Mapping[str, Sequence[str]] | None,
        agree: Agree,
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

    def has_new_error(self, before: JudgedDomain | None) -> bool:
        """Return whether this turn has a new error; `before` is the same domain in the previous
        turn.

        An error is new if a value that the annotation added or changed in this turn is not
        predicted. An error is also new if a value that the prediction added or changed in this turn
        is not accepted. Errors that are not new existed in the previous turn or result from removed
        slots.
        """
        if before is self or self.right:
            return False
        predicted, gold = self.predicted or {}, self.gold or {}
        old_predicted = (before and before.predicted) or {}
        old_gold = (before and before.gold) or {}
        return any(old_gold.get(s) != gold[s] for s in (*self.missing, *self.wrong)) or any(
            old_predicted.get(s) != predicted[s] for s in (*self.spurious, *self.wrong)
        )

    def right_values(self, slot: str) -> str:
        """Return the accepted values of a slot in the gold state as text."""
        return " or ".join(value for value in (self.gold or {})[slot] if value != ABSENT)

    def errors(self) -> Iterator[tuple[str, str, str]]:
        """Yield the kind of each error, the slot, and the predicted or missing value as text."""
        predicted = self.predicted or {}
        for slot in self.missing:
            yield MISSING, slot, f"{slot}={self.right_values(slot)}"
        for slot in self.spurious:
            yield SPURIOUS, slot, f"{slot}={predicted[slot]}"
        for slot in self.wrong:
            yield WRONG, slot, f"{slot}={predicted[slot]} instead of {self.right_values(slot)}"


OTHER = "other"
"""The name under which unknown slots are counted."""
ERRORS = (MISSING, SPURIOUS, WRONG)
KINDS = ("correct", *ERRORS)
TOTALS = (
    *("turns", "joint", "gold_turns", "goal_accuracy", "filled_turns", "relative_accuracy"),
    *("turn_f1", "flexible"),
)
DOMAIN_COUNTS = ("active", "counted", "right", "dialogues", "only")
DEPTHS = (*map(str, range(1, 10)), "10+")
"""The numbers of turns in a dialogue. Numbers of ten or more turns are counted together."""
DEPTH_COUNTS = ("turns_at", "joint_at", "dialogues_at")

FLEXIBLE = "flexible_goal_accuracy"
"""The name of the only score whose signature has λ."""
BY_SCOPE = ("joint_goal_accuracy", "joint_goal_accuracy_without", "joint_goal_accuracy_at_turn")
SHOWN_CONFUSIONS = 5
"""Maximum number of confusions reported per slot, most frequent first."""

Confusion = tuple[str, str, str]
"""A slot (`domain-slot`), its gold value and its predicted value."""

WHOLE_TURN = 720720
"""A turn's mean over slots is stored as an integer multiple of 1/720720, so that sums do not depend
on their order. The stored mean is exact for turns of up to 16 slots, and otherwise accurate to a
millionth."""
FINE_TURN = WHOLE_TURN * 2**10
"""All other values of a turn are stored as integer multiples of 1 / `FINE_TURN`, which is accurate
to a billionth."""


class JointGoals:
    """Scores dialogue states under one convention of joint goal accuracy.

    The names of scores and of row columns have the form `dst.CONVENTION.…`. Slots that are unknown
    to the convention are counted as `other`. If the convention is `closed`, unknown slots are
    removed from states; slot accuracy is defined only in this case.
    """

    def __init__(self, convention: Convention, rules: Rules) -> None:
        self.name = convention.name
        self.prefix = f"dst.{self.name}"
        self.agree = any_similar if convention["values"] == FUZZY95 else any_equal
        self.closed = convention["slots"] == "30"
        slots = slots_of(convention)
        self.domains = tuple(slots)
        self.slots = [f"{domain}-{slot}" for domain in slots for slot in slots[domain]]
        self.named = self.slots if self.closed else [*self.slots, OTHER]
        counts = (
            *(*TOTALS, *KINDS),
            *(f"{count}.{depth}" for count in DEPTH_COUNTS for depth in DEPTHS),
            *(f"{count}.{domain}" for count in DOMAIN_COUNTS for domain in self.domains),
            *(f"{kind}.{slot}" for kind in KINDS for slot in self.named),
        )
        self._column_of = {count: f"{self.prefix}.{count}" for count in counts}
        self.columns = tuple(self._column_of.values())
        self._convention = convention
        self._lambda = float(convention[LAMBDA])
        self._rules = rules
        self._reader = StateReader(convention, rules)
        self._gold: dict[str, Sequence[GoldState]] = {}

    def states(self, name: str, gold: GoldDialogue, turns: Sequence[Turn]) -> States:
        """Return the predicted and the gold states of a dialogue, in the spelling of the
        convention.

        The gold states are cached under the dialogue's `name`.
        """
        if name not in self._gold:
            self._gold[name] = self._reader.gold(gold)
        predicted = self._reader.predicted(turn.state or {} for turn in turns)
        return zip(predicted, self._gold[name], strict=False)

    def row(self, turns: States, confusions: Counter[Confusion] | None = None) -> dict[str, float]:
        """Return the state tracking counts of a dialogue.

        Wrong values are added to `confusions`, once per turn. A domain that has not changed since
        the previous turn should be the same object, so that it is judged only once.
        """
        counts = defaultdict(int, dict.fromkeys(TOTALS, 0))
        latest: dict[str, JudgedDomain] = {}
        everything: list[JudgedDomain] = []
        before: dict[str, JudgedDomain] = {}
        latest_error, was_right, number = 0, True, 0
        for number, (predicted, gold) in enumerate(turns, start=1):
            now: dict[str, JudgedDomain] = {}
            correct = gold_slots = predicted_slots = spurious = 0
            failed = []
            for domain in predicted.keys() | gold.keys():
                own, right = predicted.get(domain), gold.get(domain)
                judged = latest.get(domain)
                if judged is None or judged.predicted is not own or judged.gold is not right:
                    judged = latest[domain] = JudgedDomain(domain, own, right, self.agree)
                    everything.append(judged)
                now[domain] = judged
                judged.turns += 1
                correct += len(judged.correct)
                gold_slots += judged.gold_slots
                predicted_slots += judged.predicted_slots
                spurious += len(judged.spurious)
                if not judged.right:
                    failed.append(domain)
            is_right = not failed
            if len(failed) == 1 and failed[0] in self.domains:
                counts[f"only.{failed[0]}"] += 1
            if gold_slots:
                counts["gold_turns"] += 1
                counts["goal_accuracy"] += round(WHOLE_TURN * correct / gold_slots)
            if all_slots := gold_slots + spurious:
                counts["filled_turns"] += 1
                counts["relative_accuracy"] += round(WHOLE_TURN * correct / all_slots)
            # Two empty states agree.
            in_both = gold_slots + predicted_slots
            counts["turn_f1"] += round(FINE_TURN * 2 * correct / in_both) if in_both else FINE_TURN
            if is_right:
                counts["flexible"] += FINE_TURN
            elif was_right or any(j.has_new_error(before.get(d)) for d, j in now.items()):
                latest_error = number
            else:
                credit = -expm1(self._lambda * (latest_error - number))
                counts["flexible"] += round(FINE_TURN * credit)
            depth = DEPTHS[min(number, len(DEPTHS)) - 1]
            counts[f"turns_at.{depth}"] += 1
            counts[f"dialogues_at.{depth}"] = 1
            if is_right:
                counts["joint"] += 1
                counts[f"joint_at.{depth}"] += 1
            was_right, before = is_right, now
        counts["turns"] = number
        for judged in everything:
            self._count_slots(counts, judged, confusions)
        self._count_domains(counts, everything)
        return {self._column_of[count]: number for count, number in counts.items()}

    def _count_slots(
        self,
        counts: defaultdict[str, int],
        judged: JudgedDomain,
        confusions: Counter[Confusion] | None,
    ) -> None:
        domain, turns = judged.domain, judged.turns
        kinds = (judged.correct, judged.missing, judged.spurious, judged.wrong)
        for kind, slots in zip(KINDS, kinds, strict=True):
            for slot in slots:
                counts[kind] += turns
                count = f"{kind}.{domain}-{slot}"
                counts[count if count in self._column_of else f"{kind}.{OTHER}"] += turns
        if confusions is not None and judged.gold and judged.predicted:
            for slot in judged.wrong:
                shown = next(value for value in judged.gold[slot] if value != ABSENT)
                confusions[f"{domain}-{slot}", shown, judged.predicted[slot]] += turns

    def _count_domains(
        self, counts: defaultdict[str, int], everything: Sequence[JudgedDomain]
    ) -> None:
        failed: Counter[str] = Counter()
        for judged in everything:
            if judged.gold_slots or judged.spurious:
                if judged.domain in self.domains:
                    counts[f"active.{judged.domain}"] += judged.turns
                failed[judged.domain] += 0 if judged.right else judged.turns
        annotated = {judged.domain for judged in everything if judged.gold}
        domain_turns = self._convention["domain-turns"]
        for domain in self.domains:
            if domain_turns == "active":
                counted = counts.get(f"active.{domain}", 0)
            else:
                counted = counts["turns"] if domain_turns == "all" or domain in annotated else 0
            if counted:
                counts[f"counted.{domain}"] = counted
                counts[f"right.{domain}"] = counted - failed[domain]
                counts[f"dialogues.{domain}"] = 1

    def choices(self, score: str) -> dict[str, object]:
        """Return the choices of the convention, for the signature of a score."""
        chosen: dict[str, object] = {"rule": self.name, **dict(self._convention.choices)}
        if score != FLEXIBLE:
            del chosen[LAMBDA]
        if chosen["values"] in ("exact", FUZZY95):
            chosen["rules"] = self._rules
        if chosen["values"] == FUZZY95:
            chosen["fuzzy"] = f">{DST_THRESHOLD}"
            chosen["levenshtein"] = library_version("python-Levenshtein")
        return chosen

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the state tracking scores that docs/metrics.md defines, in percent.

        A domain has scores only if it occurs in some state.
        """
        prefix = self.prefix

        def measure(
            name: str, label: str, of: ScoreFunction, scope: str = WHOLE, cases: str | None = None
        ) -> Measure:
            label, cases = f"{label} ({self.name})", cases and f"{prefix}.{cases}"
            return Measure(f"{prefix}.{name}", label, sign(name), of, 1, scope, cases)

        def percent(*parts: str, of: str) -> ScoreFunction:
            return percentage(*(f"{prefix}.{part}" for part in parts), of=f"{prefix}.{of}")

        def mean(part: str, of: str, whole: int = WHOLE_TURN) -> ScoreFunction:
            return partial(_mean, f"{prefix}.{part}", f"{prefix}.{of}", whole)

        present = [domain for domain in self.domains if sums[f"{prefix}.active.{domain}"]]
        joint = "joint_goal_accuracy"
        yield measure(joint, "JGA", percent("joint", of="turns"))
        for d in present:
            if sums[f"{prefix}.counted.{d}"]:
                share = percent(f"right.{d}", of=f"counted.{d}")
                yield measure(joint, "JGA", share, d, f"dialogues.{d}")
        for d in present:
            share = percent("joint", f"only.{d}", of="turns")
            yield measure(f"{joint}_without", "JGA without", share, d)
        for depth in DEPTHS:
            if sums[f"{prefix}.turns_at.{depth}"]:
                share = percent(f"joint_at.{depth}", of=f"turns_at.{depth}")
                cases = f"dialogues_at.{depth}"
                yield measure(f"{joint}_at_turn", "JGA at turn", share, depth, cases)
        yield measure(FLEXIBLE, "Flexible goal accuracy", mean("flexible", "turns", FINE_TURN))
        yield measure("slot_f1", "Slot F1", partial(_f1, prefix))
        yield measure("slot_precision", "Slot precision", partial(_share, prefix, SPURIOUS))
        yield measure("slot_recall", "Slot recall", partial(_share, prefix, MISSING))
        if self.closed:
            accuracy = partial(_slot_accuracy, prefix, len(self.slots))
            yield measure("slot_accuracy", "Slot accuracy", accuracy)
        yield measure("mean_turn_f1", "Mean turn F1", mean("turn_f1", "turns", FINE_TURN))
        if sums[f"{prefix}.gold_turns"]:
            average = mean("goal_accuracy", "gold_turns")
            yield measure("average_goal_accuracy", "Average goal accuracy", average)
        if sums[f"{prefix}.filled_turns"]:
            relative = mean("relative_accuracy", "filled_turns")
            yield measure("relative_slot_accuracy", "Relative slot acc.", relative)

    def view(
        self,
        values: Mapping[str, Mapping[str, float]],
        sums: Mapping[str, float],
        confusions: Counter[Confusion],
    ) -> dict[str, Any]:
        """Return the scores in the form of JSON reports, with the errors of each slot.

        `values` maps the name of a score and a scope to a percentage. Scores in `BY_SCOPE` are
        listed by scope; all other scores have no scope. Slots that occur in no state are omitted.
        """
        prefix = f"{self.prefix}."
        own = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
        plain: dict[str, Any] = {n: v if n in BY_SCOPE else v[WHOLE] for n, v in own.items()}
        by_slot: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for (slot, gold, value), turns in confusions.items():
            by_slot[slot].append((-turns, gold, value))
        plain["errors"] = errors = {}
        for slot in self.named:
            counts: dict[str, Any] = {kind: int(sums[f"{prefix}{kind}.{slot}"]) for kind in KINDS}
            if any(counts.values()):
                counts["confusions"] = [
                    {"gold": gold, "predicted": value, "turns": -turns}
                    for turns, gold, value in sorted(by_slot[slot])[:SHOWN_CONFUSIONS]
                ]
                errors[slot] = counts
        return plain


def _mean(part: str, turns: str, whole: int, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[part] / (whole * sums[turns])


def _share(prefix: str, error: str, sums: Sums) -> NDArray[np.float64]:
    """Return the correct slots in percent of predicted (`spurious`) or gold (`missing`) slots.

    If there are no such slots, the result is 0, or 100 if the other state has no slots either.
    """
    correct, missing, spurious, wrong = (sums[f"{prefix}.{kind}"] for kind in KINDS)
    perfect = correct + missing + spurious + wrong == 0
    return _over(correct, correct + wrong + sums[f"{prefix}.{error}"], perfect)


def _f1(prefix: str, sums: Sums) -> NDArray[np.float64]:
    correct, missing, spurious, wrong = (sums[f"{prefix}.{kind}"] for kind in KINDS)
    whole = 2 * correct + missing + spurious + 2 * wrong
    return _over(2 * correct, whole, np.ones_like(whole, dtype=bool))


def _over(
    part: NDArray[np.float64], whole: NDArray[np.float64], perfect: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return 100 × part / whole. If the whole is 0, return 100 where `perfect` is true, else 0."""
    empty = np.where(perfect, 100.0, 0.0)
    return np.where(whole > 0, 100 * part / np.where(whole > 0, whole, 1), empty)


def _slot_accuracy(prefix: str, slots: int, sums: Sums) -> NDArray[np.float64]:
    errors = sum((sums[f"{prefix}.{kind}"] for kind in ERRORS), np.zeros(()))
    return 100 * (1 - errors / (slots * sums[f"{prefix}.turns"]))


def with_state_errors(
    explanation: Explanation, outcome: str, agree: Agree, states: States, *, alone: bool
) -> Explanation:
    """Return a copy of the explanation with the annotated state and the state errors of each turn.

    `outcome` is the name of the outcome that is reached if no turn has a state error. If `alone` is
    true, the outcomes and failure reasons of all other scores are omitted.
    """
    turns = [
        [
            JudgedDomain(domain, predicted.get(domain), gold.get(domain), agree)
            for domain in dict.fromkeys((*predicted, *gold))
        ]
        for predicted, gold in states
    ]
    views = zip(explanation.turns, turns, strict=True)
    explanation = replace(
        explanation, turns=tuple(_with_facts(view, domains) for view, domains in views)
    )
    if not alone:
        return explanation
    right = {WHOLE: True}
    reasons = []
    for turn, domains in enumerate(turns):
        for judged in domains:
            right[WHOLE] &= judged.right
            right[judged.domain] = right.get(judged.domain, True) and judged.right
            for kind, slot, state in judged.errors():
                words = {"state": state}
                reasons.append(reason(f"{kind}-slot", outcome, judged.domain, turn, words, slot))
    outcomes = {scope: {outcome: is_right} for scope, is_right in right.items()}
    return replace(explanation, outcomes=outcomes, reasons=tuple(reasons))


def _with_facts(view: TurnView, domains: list[JudgedDomain]) -> TurnView:
    """Return a turn with facts about the errors in its state."""
    places = [place for place, fact in enumerate(view.facts) if fact.label in ("active", "state")]
    behind = places[-1] + 1 if places else 0
    facts = []
    for judged in domains:
        if judged.gold:
            stated = ", ".join(f"{slot}={judged.right_values(slot)}" for slot in judged.gold)
            facts.append(Fact("gold state", stated, judged.domain))
        errors: dict[str, list[str]] = {}
        for kind, _, state in judged.errors():
            errors.setdefault(kind, []).append(state)
        facts += [Fact(kind, ", ".join(slots), judged.domain) for kind, slots in errors.items()]
    return view._replace(facts=(*view.facts[:behind], *facts, *view.facts[behind:]))
