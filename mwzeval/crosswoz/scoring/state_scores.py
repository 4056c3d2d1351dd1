"""Scores of state tracking: joint accuracy under its two names, its lenient variants, slot F1.

Source: Zhu et al., TACL 2020, Table 8. A state is right when all 26 slots are those of the
system's first query, to the letter. `normalised` and `name_lenient` are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.dialogues import Dialogue, Selected, State
from mwzeval.crosswoz.corpus.names import DOMAINS, NAME
from mwzeval.crosswoz.corpus.normalization import normal_value
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.predictions.tracks import JOINT_NAMES
from mwzeval.crosswoz.scoring.scopes import (
    SELECT_TURNS,
    TYPE_SCOPES,
    Sign,
    turn_scopes,
)
from mwzeval.metrics.measure import Measure, f_score, percentage, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import Sums

STRICT, NORMALISED, NAME_LENIENT = "strict", "normalised", "name_lenient"
VARIANTS = {STRICT: "", NORMALISED: ", normalised", NAME_LENIENT: ", name-lenient"}
"""Variant of joint accuracy → what its label adds.

`normalised`: blanks, the order of items and the ending of hotel types do not matter.
`name_lenient`: nor does a predicted name that gold leaves out although the system has chosen it.
"""
RULES = {
    STRICT: "exact",
    NORMALISED: "sorted-noblank-type",
    NAME_LENIENT: "sorted-noblank-type+selected-name",
}
JOINT_SCOPES = (WHOLE, *TYPE_SCOPES, SELECT_TURNS)
SLOT_SCOPES = (WHOLE, *TYPE_SCOPES, *DOMAINS)
LABELS = {"joint_single_turn": "Single-turn joint", "joint_full": "Full joint"}
SLOT_KINDS = ("right", "predicted", "gold")
NO_SLOTS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Difference:
    """A slot in which two states differ; "" where one of them has nothing."""

    domain: str
    slot: str
    predicted: str
    gold: str


def differences(predicted: State, gold: State) -> Iterator[Difference]:
    """Yield the slots in which states differ, in their order; slots that do not exist as well."""
    if predicted == gold:
        return
    for domain, slots in {**gold, **predicted}.items():
        theirs, mine = gold.get(domain, NO_SLOTS), predicted.get(domain, NO_SLOTS)
        if theirs == mine:
            continue
        for slot in {**theirs, **slots}:
            if theirs.get(slot, "") != mine.get(slot, ""):
                yield Difference(domain, slot, mine.get(slot, ""), theirs.get(slot, ""))


def is_spelling(difference: Difference) -> bool:
    """Tell whether a difference is only one of spelling."""
    slot = difference.slot
    return normal_value(slot, difference.predicted) == normal_value(slot, difference.gold)


def is_chosen_name(difference: Difference, selected: Selected) -> bool:
    """Tell whether a name is one that the system has chosen, which gold has not written down."""
    is_name = difference.slot == NAME and not difference.gold.strip()
    return is_name and difference.predicted in selected.get(difference.domain, ())


@dataclass(frozen=True, slots=True)
class StateScores:
    """Joint accuracy under the name of its conditioning, and slot precision, recall and F1."""

    conditioning: str

    @property
    def joint(self) -> str:
        """What joint accuracy is called: `joint_single_turn` or `joint_full`."""
        return JOINT_NAMES[self.conditioning]

    @property
    def main(self) -> tuple[str, ...]:
        """The names of the measures that baselines are shown for."""
        names = [f"dst.{self.joint}{_suffix(variant)}" for variant in VARIANTS]
        return (*names, "dst.slot_f1")

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        kinds = ("turns", "dialogues", *VARIANTS)
        joint = (_joint(kind, scope) for scope in JOINT_SCOPES for kind in kinds)
        of_slots = (*SLOT_KINDS, "dialogues")
        slots = (_slots(kind, scope) for scope in SLOT_SCOPES for kind in of_slots)
        return (*joint, *slots)

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        row: dict[str, float] = {}
        slots: dict[str, list[int]] = {}
        for exchange, said in zip(gold.exchanges, predicted, strict=True):
            state, target = said.state or {}, exchange.system.first_query
            left = list(differences(state, target))
            right = {STRICT: not left}
            left = [difference for difference in left if not is_spelling(difference)]
            right[NORMALISED] = not left
            selected = exchange.system.first_selected
            right[NAME_LENIENT] = all(is_chosen_name(of, selected) for of in left)
            for scope in (WHOLE, *turn_scopes(gold, exchange)):
                row[_joint("turns", scope)] = row.get(_joint("turns", scope), 0) + 1
                row[_joint("dialogues", scope)] = 1
                for variant, is_right in right.items():
                    if is_right:
                        key = _joint(variant, scope)
                        row[key] = row.get(key, 0) + 1
            for domain in {**target, **state}:
                _count_slots(slots, domain, state.get(domain), target.get(domain))
        for domain, counts in slots.items():
            own = (domain,) if domain in DOMAINS else ()
            for scope in (WHOLE, gold.goal_type, *own):
                for kind, number in zip(SLOT_KINDS, counts, strict=True):
                    key = _slots(kind, scope)
                    row[key] = row.get(key, 0) + number
                if counts[SLOT_KINDS.index("gold")]:
                    # A dialogue is behind a score when it has something to be found.
                    row[_slots("dialogues", scope)] = 1
        return row

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the variants of joint accuracy, by goal type and for Select turns, and slot F1."""
        choices = {"conditioning": self.conditioning}
        for variant, text in VARIANTS.items():
            signature = sign("dst", {**choices, "values": RULES[variant]})
            for scope in JOINT_SCOPES:
                turns, dialogues = _joint("turns", scope), _joint("dialogues", scope)
                if sums[turns]:
                    yield Measure(
                        f"dst.{self.joint}{_suffix(variant)}",
                        f"{LABELS[self.joint]}{text}",
                        signature,
                        percentage(_joint(variant, scope), of=turns),
                        scope=scope,
                        cases=dialogues,
                    )
        yield from self._slot_measures(sign("dst", {**choices, "values": RULES[STRICT]}), sums)

    @staticmethod
    def _slot_measures(signature: Signature, sums: Mapping[str, float]) -> Iterator[Measure]:
        for scope in SLOT_SCOPES:
            if not sums[_slots("gold", scope)]:
                continue
            right, predicted, gold = (_slots(kind, scope) for kind in SLOT_KINDS)
            scores: list[tuple[str, str, Callable[[Sums], NDArray[np.float64]]]] = [
                ("slot_f1", "Slot F1", partial(_f1, right, predicted, gold))
            ]
            if scope == WHOLE:
                scores.append(("slot_precision", "Slot precision", partial(_of, right, predicted)))
                scores.append(("slot_recall", "Slot recall", partial(_of, right, gold)))
            for name, label, of in scores:
                yield Measure(
                    f"dst.{name}",
                    label,
                    signature,
                    of,
                    scope=scope,
                    cases=_slots("dialogues", scope),
                )


def _count_slots(
    counts: dict[str, list[int]],
    domain: str,
    predicted: Mapping[str, str] | None,
    gold: Mapping[str, str] | None,
) -> None:
    """Add to the counts of a domain how many filled slots are right, predicted, and gold."""
    mine, theirs = predicted or NO_SLOTS, gold or NO_SLOTS
    of_domain = counts.setdefault(domain, [0, 0, 0])
    for slot, value in mine.items():
        if value:
            of_domain[0] += theirs.get(slot) == value
            of_domain[1] += 1
    for value in theirs.values():
        if value:
            of_domain[2] += 1


def _f1(right: str, predicted: str, gold: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * f_score(right, predicted, gold, sums)


def _of(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * ratio(part, whole, sums)


def _suffix(variant: str) -> str:
    return "" if variant == STRICT else f"_{variant}"


def _joint(kind: str, scope: str) -> str:
    return f"dst.{kind}@{scope}"


def _slots(kind: str, scope: str) -> str:
    return f"dst.slots_{kind}@{scope}"
