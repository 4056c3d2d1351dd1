"""Scores of state tracking: joint accuracy under its two names, its lenient variants, slot F1.

Source: Zhu et al., TACL 2020, Table 8. A state is right when all 26 slots are those of the
system's first query, to the letter. `normalised` and `name_lenient` are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.dialogues import Dialogue, Selected, State
from mwzeval.crosswoz.corpus.names import DOMAINS, NAME
from mwzeval.crosswoz.corpus.normalization import normal_value
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.scopes import (
    GOLD,
    PREDICTED,
    RIGHT,
    SELECT_TURNS,
    TYPE_SCOPES,
    Sign,
    TrackScores,
    f_scores,
    rates,
    turn_scopes,
)
from mwzeval.crosswoz.tracks import JOINT_NAMES
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import WHOLE

STRICT, NORMALISED, NAME_LENIENT = "strict", "normalised", "name_lenient"
VARIANTS = {
    STRICT: ("", "", "exact"),
    NORMALISED: ("_normalised", ", normalised", "sorted-noblank-type"),
    NAME_LENIENT: ("_name_lenient", ", name-lenient", "sorted-noblank-type+selected-name"),
}
"""Variant of joint accuracy → what its name adds and what its label, and its rule in signatures.

`normalised`: blanks, the order of items and the ending of hotel types do not matter.
`name_lenient`: nor does a predicted name that gold leaves out although the system has chosen it.
"""
JOINT_SCOPES = (WHOLE, *TYPE_SCOPES, SELECT_TURNS)
SLOT_SCOPES = (WHOLE, *TYPE_SCOPES, *DOMAINS)
LABELS = {"joint_single_turn": "Single-turn joint", "joint_full": "Full joint"}
NO_SLOTS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Difference:
    """A slot in which two states differ; "" where one of them has nothing."""

    domain: str
    slot: str
    predicted: str
    gold: str

    @property
    def is_spelling(self) -> bool:
        """Whether it is only one of spelling."""
        return normal_value(self.slot, self.predicted) == normal_value(self.slot, self.gold)

    def is_chosen_name(self, selected: Selected) -> bool:
        """Tell whether it is a name that the system has chosen, and gold has not written down."""
        is_name = self.slot == NAME and not self.gold.strip()
        return is_name and self.predicted in selected.get(self.domain, ())


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


class StateScores(TrackScores):
    """Joint accuracy under the name of its conditioning, and slot precision, recall and F1.

    `joint` is what joint accuracy is called: `joint_single_turn` or `joint_full`.
    """

    columns = (
        *(f"dst.{k}@{s}" for s in JOINT_SCOPES for k in ("turns", "dialogues", *VARIANTS)),
        *(
            f"dst.slots_{kind}@{scope}"
            for scope in SLOT_SCOPES
            for kind in (RIGHT, PREDICTED, GOLD, "dialogues")
        ),
    )

    def __init__(self, conditioning: str) -> None:
        self._conditioning = conditioning
        self.joint = JOINT_NAMES[conditioning]
        names = [f"dst.{self.joint}{suffix}" for suffix, _, _ in VARIANTS.values()]
        self.main = (*names, "dst.slot_f1")

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        row: dict[str, float] = {}
        slots: dict[str, list[int]] = {}
        for exchange, turn in zip(gold.exchanges, predicted, strict=True):
            state, target = turn.state or {}, exchange.system.first_query
            wrong = list(differences(state, target))
            right = [] if wrong else [STRICT]
            wrong = [difference for difference in wrong if not difference.is_spelling]
            if not wrong:
                right.append(NORMALISED)
            if all(of.is_chosen_name(exchange.system.first_selected) for of in wrong):
                right.append(NAME_LENIENT)
            for scope in (WHOLE, *turn_scopes(gold, exchange)):
                row[f"dst.dialogues@{scope}"] = 1
                for kind in ("turns", *right):
                    key = f"dst.{kind}@{scope}"
                    row[key] = row.get(key, 0) + 1
            for domain in {**target, **state}:
                theirs, mine = target.get(domain, NO_SLOTS), state.get(domain, NO_SLOTS)
                counts = slots.setdefault(domain, [0, 0, 0])
                for slot, value in mine.items():
                    if value:
                        counts[0] += theirs.get(slot) == value
                        counts[1] += 1
                for value in theirs.values():
                    if value:
                        counts[2] += 1
        for domain, counts in slots.items():
            own = (domain,) if domain in DOMAINS else ()
            for scope in (WHOLE, gold.goal_type, *own):
                for kind, number in zip((RIGHT, PREDICTED, GOLD), counts, strict=True):
                    key = f"dst.slots_{kind}@{scope}"
                    row[key] = row.get(key, 0) + number
                if counts[2]:
                    # A dialogue is behind a score when it has something to be found.
                    row[f"dst.slots_dialogues@{scope}"] = 1
        return row

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the variants of joint accuracy, by goal type and for Select turns, and slot F1."""
        choices = {"conditioning": self._conditioning}
        for variant, (suffix, text, rule) in VARIANTS.items():
            yield from rates(
                f"dst.{self.joint}{suffix}",
                f"{LABELS[self.joint]}{text}",
                sign("dst", {**choices, "values": rule}),
                sums,
                JOINT_SCOPES,
                f"dst.{variant}",
                "dst.turns",
            )
        if sums[f"dst.slots_{GOLD}@{WHOLE}"]:
            yield from f_scores(
                "dst.slot_{}",
                "Slot {}",
                sign("dst", {**choices, "values": VARIANTS[STRICT][2]}),
                sums,
                SLOT_SCOPES,
                "dst.slots_",
                "dst.slots_dialogues",
            )
