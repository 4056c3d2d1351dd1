"""Dialogue state tracking as additive rows: joint goal accuracy and its relatives.

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
from dataclasses import dataclass
from functools import partial
from math import expm1
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.tracking.conventions import LAMBDA, Convention
from mwzeval.multiwoz.tracking.states import (
    ABSENT,
    DST_THRESHOLD,
    GoldState,
    PredictedState,
    StateReader,
    any_equal,
    any_similar,
    slots_of,
)
from mwzeval.scores.score import WHOLE, Signature
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
    for name, label, of in (
        ("joint_accuracy", "Joint accuracy", _joint_accuracy),
        ("slot_f1", "Slot F1", _slot_f1),
        ("slot_precision", "Slot precision", _slot_precision),
        ("slot_recall", "Slot recall", _slot_recall),
    ):
        yield Measure(f"dst.{name}", label, signature, of, places=1)


def _joint_accuracy(sums: Sums) -> NDArray[np.float64]:
    return 100 * sums["dst.joint"] / (sums["dst.turns"] + EPSILON)


def _slot_precision(sums: Sums) -> NDArray[np.float64]:
    return 100 * sums["dst.tp"] / (sums["dst.tp"] + sums["dst.fp"] + EPSILON)


def _slot_recall(sums: Sums) -> NDArray[np.float64]:
    return 100 * sums["dst.tp"] / (sums["dst.tp"] + sums["dst.fn"] + EPSILON)


def _slot_f1(sums: Sums) -> NDArray[np.float64]:
    precision, recall = _slot_precision(sums) / 100, _slot_recall(sums) / 100
    return 100 * 2 * precision * recall / (precision + recall + EPSILON)


@dataclass(slots=True, init=False)
class JudgedDomain:
    """A domain's slots in a predicted and a gold state, and the number of turns with these.

    None is a state without the domain.
    """

    domain: str
    predicted: Mapping[str, str] | None
    gold: Mapping[str, Sequence[str]] | None
    correct: list[str]
    missing: list[str]
    spurious: list[str]
    wrong: list[str]
    turns: int
    right: bool
    gold_slots: int
    predicted_slots: int
    all_slots: int

    def __init__(
        self,
        domain: str,
        predicted: Mapping[str, str] | None,
        gold: Mapping[str, Sequence[str]] | None,
        agree: Callable[[str, Sequence[str]], bool],
    ) -> None:
        self.domain, self.predicted, self.gold, self.turns = domain, predicted, gold, 0
        self.correct, self.missing, self.wrong = [], [], []
        values, right = predicted or {}, gold or {}
        for slot, accepted in right.items():
            if slot not in values:
                if ABSENT not in accepted:
                    self.missing.append(slot)
            elif agree(values[slot], accepted):
                self.correct.append(slot)
            else:
                self.wrong.append(slot)
        self.spurious = [slot for slot in values if slot not in right]
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
DOMAIN_COUNTS = ("active", "counted", "right", "dialogues")
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
        self._totals = tuple(f"{self.prefix}.{total}" for total in TOTALS)
        self.columns = (
            *self._totals,
            *(f"{self.prefix}.{kind}" for kind in KINDS),
            *(f"{self.prefix}.{count}.{depth}" for count in DEPTH_COUNTS for depth in DEPTHS),
            *(f"{self.prefix}.{c}.{d}" for c in (*DOMAIN_COUNTS, "only") for d in self.domains),
            *(f"{self.prefix}.{kind}.{slot}" for kind in KINDS for slot in named),
        )
        self._slot_columns = {
            domain: {
                (kind, slot): f"{self.prefix}.{kind}.{domain}-{slot}"
                for kind in KINDS
                for slot in slots[domain]
            }
            for domain in slots
        }
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
        row: defaultdict[str, int] = defaultdict(int)
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
                of_predicted, of_gold = predicted.get(domain), gold.get(domain)
                judged = latest.get(domain)
                if (
                    judged is None
                    or judged.predicted is not of_predicted
                    or judged.gold is not of_gold
                ):
                    judged = JudgedDomain(domain, of_predicted, of_gold, self.agree)
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
            if errors == 1 and culprit in self._slot_columns:
                row[f"{self.prefix}.only.{culprit}"] += 1
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
            self._count_slots(row, judged, confusions)
        self._count_domains(row, everything, len(rights))
        last = len(DEPTHS) - 1
        for turn, right in enumerate(rights):
            for count, number in zip(DEPTH_COUNTS, (1, right, turn <= last), strict=True):
                row[f"{self.prefix}.{count}.{DEPTHS[min(turn, last)]}"] += number
        totals = (len(rights), sum(rights), gold_turns, goal_accuracy, filled_turns)
        row.update(zip(self._totals, (*totals, relative_accuracy, f1, flexible), strict=True))
        return dict(row)

    def _count_slots(
        self,
        row: defaultdict[str, int],
        judged: JudgedDomain,
        confusions: Counter[Confusion] | None,
    ) -> None:
        turns, columns = judged.turns, self._slot_columns.get(judged.domain, {})
        of_kinds = (judged.correct, judged.missing, judged.spurious, judged.wrong)
        for kind, slots in zip(KINDS, of_kinds, strict=True):
            if slots:
                row[f"{self.prefix}.{kind}"] += turns * len(slots)
                for slot in slots:
                    column = columns.get((kind, slot))
                    row[column or f"{self.prefix}.{kind}.{OTHER}"] += turns
        if confusions is not None and judged.wrong and judged.gold and judged.predicted:
            for slot in judged.wrong:
                shown = next(value for value in judged.gold[slot] if value != ABSENT)
                confusions[f"{judged.domain}-{slot}", shown, judged.predicted[slot]] += turns

    def _count_domains(
        self, row: defaultdict[str, int], everything: Sequence[JudgedDomain], turns: int
    ) -> None:
        active: defaultdict[str, int] = defaultdict(int)
        wrong: defaultdict[str, int] = defaultdict(int)
        in_gold = set()
        for judged in everything:
            if judged.all_slots:
                active[judged.domain] += judged.turns
                if not judged.right:
                    wrong[judged.domain] += judged.turns
            if judged.gold:
                in_gold.add(judged.domain)
        for domain in self.domains if self._domain_turns == "all" else in_gold | active.keys():
            if domain not in self._slot_columns:
                continue
            counted = {
                "active": active[domain],
                "all": turns,
                "dialogue": turns if domain in in_gold else 0,
            }[self._domain_turns]
            names = (f"{self.prefix}.{count}.{domain}" for count in DOMAIN_COUNTS)
            right = counted - wrong[domain] if counted else 0
            row.update(zip(names, (active[domain], counted, right, int(counted > 0)), strict=True))

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
