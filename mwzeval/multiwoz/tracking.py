"""Score dialogue state tracking by joint goal accuracy and related scores, which are computed from
sums of counts.

A slot of a turn is *correct* (predicted with an accepted value), *missing* (only in the gold
state), *spurious* (only in the predicted state) or *wrong* (in both, with another value). Joint
goal accuracy is the percentage of turns in which every slot is correct.

Flexible goal accuracy gives partial credit to a turn whose errors all come from earlier turns. The
partial credit of a turn is 1 − exp(−λ t), where t is the number of turns since the last turn with a
new error.

Papers that report "joint goal accuracy on MultiWOZ" differ in all choices that `CHOICES` lists. A
convention is a preset, such as `trade`, or a preset with changed choices, such as
`exact+dontcare=absent`. The names of conventions are used on the command line, in Python, in
reports and in signatures. `docs/metrics.md` explains presets and choices, and lists parts of the
published code that are not reproduced.

All conventions share some rules: slot names are normalized; `book` is optional in the names of
booking slots; values are compared in lower case with single spaces; an empty value and "not
mentioned" mean that a slot is not filled; all spellings of "dontcare" are equal.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy, F1 of a turn); Rastogi et al., AAAI 2020 (average goal
accuracy); Kim et al., ACL 2022 (relative slot accuracy); Dey et al., "Towards Fair Evaluation of
Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", ACL 2022.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import expm1, inf
from operator import mul
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, shorten, unknown
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.database import partial_ratio
from mwzeval.multiwoz.normalization import State, converted, normalize_slot, normalize_value
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import (
    DONTCARE,
    DONTCARE_SPELLINGS,
    FIVE_DOMAINS,
    NONE,
    NOT_MENTIONED,
    SEARCH_SLOTS,
    STATE_BOOKING_SLOTS,
)
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import library_version

FUZZY95 = "fuzzy95"
"""The rule of `--dst`. The rule is not a convention, because it has no choices."""

CHOICES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "values": ("exact", "literal", FUZZY95, "trade", "trade-labels"),
        "dontcare": ("value", "absent"),
        "none": ("absent", "value", "annotated"),
        "alternatives": ("any", "first"),
        "booking": ("in", "out"),
        "slots": ("all", "30"),
        "domain-turns": ("active", "all", "dialogue"),
    }
)
"""The possible values of each choice, in the order of signatures. The preset `exact` uses the first
value of each choice."""
LAMBDA = "lambda"
"""An additional choice: the rate λ of flexible goal accuracy, any number of at least 0."""
KNOWN_CHOICES = (*CHOICES, LAMBDA)

_EXACT = {**{choice: values[0] for choice, values in CHOICES.items()}, LAMBDA: "0.5"}
# Wu et al., "Transferable Multi-Domain State Generator for Task-Oriented Dialogue Systems", ACL
# 2019.
_TRADE = {"values": "trade", "alternatives": "first", "slots": "30", "domain-turns": "dialogue"}
PRESETS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "exact": _EXACT,
        "trade": {**_EXACT, **_TRADE},
        "trade-raw": {**_EXACT, **_TRADE, "values": "literal"},
        "trade-script": {**_EXACT, **_TRADE, "values": "trade-labels", "none": "annotated"},
        # Zang et al., "MultiWOZ 2.2", NLP4ConvAI 2020.
        "mwz22": {**_EXACT, "values": "literal"},
    }
)
"""The values of the choices in each preset."""
RULES = (FUZZY95, *PRESETS)


@dataclass(frozen=True, slots=True)
class Convention:
    """A convention of joint goal accuracy: a preset, possibly with changed choices."""

    preset: str
    choices: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, preset: str, changed: Mapping[str, str] = MappingProxyType({})) -> Convention:
        """Return a preset with some choices changed. Raises `KeyError` for an unknown preset."""
        return cls(preset, tuple({**PRESETS[preset], **changed}.items()))

    def __getitem__(self, choice: str) -> str:
        return dict(self.choices)[choice]

    @property
    def name(self) -> str:
        """The canonical spelling of the convention, such as `trade+booking=out`."""
        usual = PRESETS[self.preset]
        changed = (f"+{key}={value}" for key, value in self.choices if usual[key] != value)
        return self.preset + "".join(changed)


def parse_rules(names: str | Iterable[str]) -> tuple[bool, tuple[Convention, ...]]:
    """Return whether `fuzzy95` is among the names, and the named conventions without duplicates.

    `names` are names of conventions, in a list or separated by commas. Raises `UsageError` with all
    problems: unknown names, choices or values, and contradictory choices.
    """
    texts = [names] if isinstance(names, str) else names
    spelled = [name.strip() for text in texts for name in text.split(",")]
    problems: list[str] = []
    parsed = [_parse(text, problems) for text in spelled if text != FUZZY95]
    if problems:
        raise UsageError(*problems)
    return FUZZY95 in spelled, tuple(dict.fromkeys(filter(None, parsed)))


def _parse(text: str, problems: list[str]) -> Convention | None:
    """Return the convention with a spelling. If it is invalid, add a problem and return None."""
    preset, *changes = text.split("+")
    chosen: dict[str, str] = {}
    wrong = []
    if preset == FUZZY95:
        wrong.append(f"{FUZZY95} cannot be changed: write exact+values={FUZZY95}")
    elif preset not in PRESETS:
        wrong.append(unknown("rule", preset, RULES, "; see docs/metrics.md#choices"))
    for change in changes:
        key, value = (part.strip() for part in change.partition("=")[::2])
        values = CHOICES.get(key, ())
        if key == LAMBDA:
            values = ("a number of 0 or more, such as 0.5",)
            value = _number(value) or value
        if key not in KNOWN_CHOICES:
            example = f"; write {preset or 'exact'}+booking=out"
            wrong.append(unknown("choice", key, KNOWN_CHOICES, example))
        elif value not in values and not (key == LAMBDA and _number(value)):
            wrong.append(unknown(f"value of {key}", value, values))
        elif chosen.setdefault(key, value) != value:
            wrong.append(f"{key} cannot be both {chosen[key]} and {value}")
    choices = {**PRESETS.get(preset, {}), **chosen}
    if choices.get("values") in ("trade", "trade-labels") and choices.get("none") == "value":
        wrong.append(
            f"none=value contradicts values={choices['values']}, whose corrections replace "
            "unusable labels with none (not filled)"
        )
    problems += [f'rule "{shorten(text)}": {message}' for message in wrong]
    return None if wrong else Convention.of(preset, chosen)


def _number(text: str) -> str | None:
    """Return the canonical spelling of a number of at least 0; None for other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return f"{number + 0:g}" if 0 <= number < inf else None


ANY_SLOT = "*"


@lru_cache(maxsize=1)
def trade_labels() -> Mapping[str, Mapping[str, str]]:
    """Return TRADE's corrected labels by `domain-slot` (`*`: any slot) and label."""
    labels: dict[str, dict[str, str]] = {ANY_SLOT: {}}
    for slot, label, correction in table_rows(embedded("trade_labels.tsv"), 3):
        labels.setdefault(slot, {})[label] = correction
    return labels


ABSENT = ""
"""The value of a slot that is not filled. If a slot may be empty, this value is accepted."""
DST_THRESHOLD = 95
"""Under the rule of `--dst` and with `values=fuzzy95`, two values agree if their `partial_ratio`
exceeds this number."""
BOOK = "book"

PredictedState = Mapping[str, Mapping[str, str]]
GoldState = Mapping[str, Mapping[str, Sequence[str]]]
"""The accepted values by domain and slot. Reports show the first accepted value."""
States = Iterable[tuple[PredictedState, GoldState]]
"""The predicted and the gold state of each turn of a dialogue."""
Agree = Callable[[str, Sequence[str]], bool]
"""A function that returns whether a predicted value agrees with the accepted values."""


def slots_of(convention: Convention) -> dict[str, tuple[str, ...]]:
    """Return the slots that a convention knows, by domain. Unlisted slots may also be scored."""
    others = [domain for domain in SEARCH_SLOTS if domain not in FIVE_DOMAINS]
    domains = FIVE_DOMAINS if convention["slots"] == "30" else (*FIVE_DOMAINS, *others)
    booking = STATE_BOOKING_SLOTS if convention["booking"] == "in" else {}
    return {d: (*SEARCH_SLOTS[d], *sorted(booking.get(d, ()))) for d in domains}


def any_equal(value: str, accepted: Sequence[str]) -> bool:
    """Return whether a value is one of the accepted values."""
    return value in accepted


def any_similar(value: str, accepted: Sequence[str]) -> bool:
    """Return whether a value is similar to any of the accepted values."""
    return value in accepted or any(
        partial_ratio(value, other) > DST_THRESHOLD for other in accepted
    )


# Scores of the rule `fuzzy95`

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


# Scores of conventions

CORRECT = "correct"
ERRORS = (MISSING, SPURIOUS, WRONG)
KINDS = (CORRECT, *ERRORS)
NO_SLOTS: Mapping[str, Any] = MappingProxyType({})
"""The slots of a domain that is not in a state."""


class JudgedDomain:
    """The slots of one domain in a predicted and a gold state, by kind, and the number of turns
    with these two states.
    """

    def __init__(
        self,
        domain: str,
        predicted: Mapping[str, str],
        gold: Mapping[str, Sequence[str]],
        agree: Agree,
    ) -> None:
        self.domain, self.predicted, self.gold, self.turns = domain, predicted, gold, 0
        self.slots: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for slot, accepted in gold.items():
            if slot in predicted:
                kind = CORRECT if agree(predicted[slot], accepted) else WRONG
                self.slots[kind].append(slot)
            elif ABSENT not in accepted:
                self.slots[MISSING].append(slot)
        self.slots[SPURIOUS] += [slot for slot in predicted if slot not in gold]
        self.correct = len(self.slots[CORRECT])
        self.right = not (self.slots[MISSING] or self.slots[SPURIOUS] or self.slots[WRONG])

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
        old_predicted, old_gold = (
            (before.predicted, before.gold) if before else (NO_SLOTS, NO_SLOTS)
        )
        missing, spurious, wrong = (self.slots[kind] for kind in ERRORS)
        return any(old_gold.get(s) != self.gold[s] for s in (*missing, *wrong)) or any(
            old_predicted.get(s) != self.predicted[s] for s in (*spurious, *wrong)
        )

    def right_values(self, slot: str) -> str:
        """Return the accepted values of a slot in the gold state as text."""
        return " or ".join(value for value in self.gold[slot] if value != ABSENT)

    def errors(self) -> Iterator[tuple[str, str, str]]:
        """Yield the kind of each error, the slot, and the predicted or missing value as text."""
        for slot in self.slots[MISSING]:
            yield MISSING, slot, f"{slot}={self.right_values(slot)}"
        for slot in self.slots[SPURIOUS]:
            yield SPURIOUS, slot, f"{slot}={self.predicted[slot]}"
        for slot in self.slots[WRONG]:
            text = f"{slot}={self.predicted[slot]} instead of {self.right_values(slot)}"
            yield WRONG, slot, text


OTHER = "other"
"""The name under which unknown slots are counted."""
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
SLOT_SCORES = (
    ("slot_f1", "Slot F1", (2, 1, 1, 2)),
    ("slot_precision", "Slot precision", (1, 0, 1, 1)),
    ("slot_recall", "Slot recall", (1, 1, 0, 1)),
)
"""The name and label of each score of slots, and the weight of each of `KINDS` in its denominator.
The numerator has only the correct slots, with the same weight."""
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
        self._chosen = dict(convention.choices)
        self._lambda = float(convention[LAMBDA])
        self._rules = rules
        self.agree = any_similar if self._chosen["values"] == FUZZY95 else any_equal
        self.closed = self._chosen["slots"] == "30"
        self._slots_of = slots_of(convention)
        self.slots = [
            f"{domain}-{slot}" for domain, slots in self._slots_of.items() for slot in slots
        ]
        self.named = self.slots if self.closed else [*self.slots, OTHER]
        counts = (
            *(*TOTALS, *KINDS),
            *(f"{count}.{depth}" for count in DEPTH_COUNTS for depth in DEPTHS),
            *(f"{count}.{domain}" for count in DOMAIN_COUNTS for domain in self._slots_of),
            *(f"{kind}.{slot}" for kind in KINDS for slot in self.named),
        )
        self._column_of = {count: f"{self.prefix}.{count}" for count in counts}
        self.columns = tuple(self._column_of.values())
        self._gold: dict[str, Sequence[GoldState]] = {}

    # States in the spelling of the convention

    def states(self, name: str, gold: GoldDialogue, turns: Sequence[Turn]) -> States:
        """Return the predicted and the gold states of a dialogue, in the spelling of the
        convention.

        The gold states are cached under the dialogue's `name`. If two slots of a predicted state
        have the same normalized name, the value of the later slot is used.
        """
        if name not in self._gold:
            self._gold[name] = converted(gold.slot_values(), self._accepted)
        predicted = converted((turn.state or {} for turn in turns), self._predicted)
        return zip(predicted, self._gold[name], strict=False)

    def _predicted(self, domain: str, slots: Mapping[str, str]) -> dict[str, str]:
        """Return the slots of a domain that are filled."""
        pairs = [_read(self, domain, name, text) for name, text in slots.items()]
        return {slot: value for slot, value in pairs if value != ABSENT}

    def _accepted(
        self, domain: str, slots: Mapping[str, Sequence[str]]
    ) -> dict[str, tuple[str, ...]]:
        """Return the accepted values of the slots of a domain that are filled in the gold state."""
        counted = 1 if self._chosen["alternatives"] == "first" else None
        right = {}
        for name, texts in slots.items():
            pairs = [_read(self, domain, name, text, True) for text in texts[:counted]]
            if any(value != ABSENT for _, value in pairs):
                right[pairs[0][0]] = tuple(dict.fromkeys(value for _, value in pairs))
        return right

    def slot(self, domain: str, name: str) -> str | None:
        """Return the normalized name of a slot, or None if the slot is not scored."""
        slot = normalize_slot(name)
        if f"{BOOK}{slot}" in STATE_BOOKING_SLOTS.get(domain, ()):
            slot = f"{BOOK}{slot}"
        if self.closed:
            return slot if slot in self._slots_of.get(domain, ()) else None
        return None if self._chosen["booking"] == "out" and slot.startswith(BOOK) else slot

    def value(self, domain: str, slot: str, text: str, *, annotated: bool) -> str:
        """Return the normalized value of a slot, or `ABSENT` if the slot is not filled."""
        value, values = " ".join(text.lower().split()), self._chosen["values"]
        if value in ("", NOT_MENTIONED):
            return ABSENT
        if values == "trade" or (annotated and values == "trade-labels"):
            labels = trade_labels()
            value = labels[ANY_SLOT].get(value, value)
            value = labels.get(f"{domain}-{slot}", {}).get(value, value)
        if value in DONTCARE_SPELLINGS:
            return DONTCARE if self._chosen["dontcare"] == "value" else ABSENT
        if value == NONE:
            none = self._chosen["none"]
            return NONE if none == "value" or (annotated and none == "annotated") else ABSENT
        if values in ("exact", FUZZY95):
            # Booking slots are normalized like the search slots of the same name.
            return normalize_value(slot.removeprefix(BOOK), value, self._rules)
        return value

    # Counts

    def row(self, turns: States, confusions: Counter[Confusion] | None = None) -> dict[str, float]:
        """Return the state tracking counts of a dialogue.

        Wrong values are added to `confusions`, once per turn. A domain that has not changed since
        the previous turn should be the same object, so that it is judged only once.
        """
        counts = defaultdict(int, dict.fromkeys(TOTALS, 0))
        everything: list[JudgedDomain] = []
        before: dict[str, JudgedDomain] = {}
        latest_error, was_right, number = 0, True, 0
        for number, (predicted, gold) in enumerate(turns, start=1):
            now: dict[str, JudgedDomain] = {}
            failed: list[JudgedDomain] = []
            correct = missing = spurious = wrong = 0
            for domain in predicted.keys() | gold.keys():
                own, right = predicted.get(domain, NO_SLOTS), gold.get(domain, NO_SLOTS)
                judged = before.get(domain)
                if judged is None or judged.predicted is not own or judged.gold is not right:
                    judged = JudgedDomain(domain, own, right, self.agree)
                    everything.append(judged)
                judged.turns += 1
                now[domain] = judged
                correct += judged.correct
                if not judged.right:
                    failed.append(judged)
                    missing += len(judged.slots[MISSING])
                    spurious += len(judged.slots[SPURIOUS])
                    wrong += len(judged.slots[WRONG])
            if len(failed) == 1 and failed[0].domain in self._slots_of:
                counts[f"only.{failed[0].domain}"] += 1
            if gold_slots := correct + missing + wrong:
                counts["gold_turns"] += 1
                counts["goal_accuracy"] += round(WHOLE_TURN * correct / gold_slots)
            if all_slots := gold_slots + spurious:
                counts["filled_turns"] += 1
                counts["relative_accuracy"] += round(WHOLE_TURN * correct / all_slots)
            # Two empty states agree.
            in_both = all_slots + correct + wrong
            counts["turn_f1"] += round(FINE_TURN * 2 * correct / in_both) if in_both else FINE_TURN
            if not failed:
                counts["flexible"] += FINE_TURN
            elif was_right or any(j.has_new_error(before.get(d)) for d, j in now.items()):
                latest_error = number
            else:
                credit = -expm1(self._lambda * (latest_error - number))
                counts["flexible"] += round(FINE_TURN * credit)
            depth = DEPTHS[min(number, len(DEPTHS)) - 1]
            counts[f"turns_at.{depth}"] += 1
            counts[f"dialogues_at.{depth}"] = 1
            if not failed:
                counts["joint"] += 1
                counts[f"joint_at.{depth}"] += 1
            was_right, before = not failed, now
        counts["turns"] = number
        self._count_slots(counts, everything, confusions)
        self._count_domains(counts, everything)
        return {self._column_of[count]: number for count, number in counts.items()}

    def _count_slots(
        self,
        counts: defaultdict[str, int],
        everything: Iterable[JudgedDomain],
        confusions: Counter[Confusion] | None,
    ) -> None:
        for judged in everything:
            for kind, slots in judged.slots.items():
                for slot in slots:
                    counts[kind] += judged.turns
                    count = f"{kind}.{judged.domain}-{slot}"
                    counts[count if count in self._column_of else f"{kind}.{OTHER}"] += judged.turns
            if confusions is not None:
                for slot in judged.slots[WRONG]:
                    shown = next(value for value in judged.gold[slot] if value != ABSENT)
                    confusion = f"{judged.domain}-{slot}", shown, judged.predicted[slot]
                    confusions[confusion] += judged.turns

    def _count_domains(
        self, counts: defaultdict[str, int], everything: Iterable[JudgedDomain]
    ) -> None:
        active: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        annotated = {judged.domain for judged in everything if judged.gold}
        for judged in everything:
            active[judged.domain] += judged.turns * any(judged.slots.values())
            failed[judged.domain] += judged.turns * (not judged.right)
        for domain in self._slots_of:
            if active[domain]:
                counts[f"active.{domain}"] = active[domain]
            if self._chosen["domain-turns"] == "active":
                counted = active[domain]
            else:
                is_all = self._chosen["domain-turns"] == "all"
                counted = counts["turns"] if is_all or domain in annotated else 0
            if counted:
                counts[f"counted.{domain}"] = counted
                counts[f"right.{domain}"] = counted - failed[domain]
                counts[f"dialogues.{domain}"] = 1

    # Scores

    def choices(self, score: str) -> dict[str, object]:
        """Return the choices of the convention, for the signature of a score."""
        chosen: dict[str, object] = {"rule": self.name, **self._chosen}
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
            name: str,
            label: str,
            function: ScoreFunction,
            scope: str = WHOLE,
            cases: str | None = None,
        ) -> Measure:
            label, cases = f"{label} ({self.name})", cases and f"{prefix}.{cases}"
            return Measure(f"{prefix}.{name}", label, sign(name), function, 1, scope, cases)

        def percent(*parts: str, of: str) -> ScoreFunction:
            return percentage(*(f"{prefix}.{part}" for part in parts), of=f"{prefix}.{of}")

        def mean(part: str, turns: str, whole: int = WHOLE_TURN) -> ScoreFunction:
            return partial(_mean, f"{prefix}.{part}", f"{prefix}.{turns}", whole)

        present = [domain for domain in self._slots_of if sums[f"{prefix}.active.{domain}"]]
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
        for name, label, weights in SLOT_SCORES:
            yield measure(name, label, partial(_correct_slots, prefix, weights))
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


@lru_cache(maxsize=2**16)
def _read(
    goals: JointGoals, domain: str, name: str, text: str, annotated: bool = False
) -> tuple[str, str]:
    """Return a normalized slot and its normalized value."""
    slot = goals.slot(domain, name)
    value = ABSENT if slot is None else goals.value(domain, slot, text, annotated=annotated)
    return slot or "", value


def _mean(part: str, turns: str, whole: int, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[part] / (whole * sums[turns])


def _correct_slots(prefix: str, weights: Sequence[int], sums: Sums) -> NDArray[np.float64]:
    """Return the correct slots in percent of slots with these weights.

    If there are no such slots, the result is 0, or 100 if neither state has any slot.
    """
    counts = [sums[f"{prefix}.{kind}"] for kind in KINDS]
    whole = sum(map(mul, weights, counts), np.zeros(()))
    empty = np.where(sum(counts) == 0, 100.0, 0.0)
    return np.where(whole > 0, 100 * weights[0] * counts[0] / np.where(whole > 0, whole, 1), empty)


def _slot_accuracy(prefix: str, slots: int, sums: Sums) -> NDArray[np.float64]:
    errors = sum((sums[f"{prefix}.{kind}"] for kind in ERRORS), np.zeros(()))
    return 100 * (1 - errors / (slots * sums[f"{prefix}.turns"]))


# Explanations


def with_state_errors(
    explanation: Explanation, outcome: str, agree: Agree, states: States, *, alone: bool
) -> Explanation:
    """Return a copy of the explanation with the annotated state and the state errors of each turn.

    `outcome` is the name of the outcome that is reached if no turn has a state error. If `alone` is
    true, the outcomes and failure reasons of all other scores are omitted.
    """
    views = []
    right = {WHOLE: True}
    reasons = []
    turns = zip(explanation.turns, states, strict=True)
    for turn, (view, (predicted, gold)) in enumerate(turns):
        facts = []
        for domain in dict.fromkeys((*predicted, *gold)):
            own, slots = predicted.get(domain, NO_SLOTS), gold.get(domain, NO_SLOTS)
            if not (own or slots):
                continue
            judged = JudgedDomain(domain, own, slots, agree)
            if slots:
                stated = ", ".join(f"{slot}={judged.right_values(slot)}" for slot in slots)
                facts.append(Fact("gold state", stated, domain))
            errors: dict[str, list[str]] = {}
            for kind, slot, state in judged.errors():
                errors.setdefault(kind, []).append(state)
                words = {"state": state}
                reasons.append(reason(f"{kind}-slot", outcome, domain, turn, words, slot))
            facts += [Fact(kind, ", ".join(texts), domain) for kind, texts in errors.items()]
            right[WHOLE] &= judged.right
            right[domain] = right.get(domain, True) and judged.right
        places = [i for i, fact in enumerate(view.facts, 1) if fact.label in ("active", "state")]
        behind = places[-1] if places else 0
        views.append(view._replace(facts=(*view.facts[:behind], *facts, *view.facts[behind:])))
    explanation = replace(explanation, turns=tuple(views))
    if not alone:
        return explanation
    outcomes = {scope: {outcome: is_right} for scope, is_right in right.items()}
    return replace(explanation, outcomes=outcomes, reasons=tuple(reasons))
