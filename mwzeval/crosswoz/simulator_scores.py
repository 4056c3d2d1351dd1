"""Scores of user simulators, one turn at a time: the state after it, and what is said.

Source: Zhu et al., TACL 2020, Table 10. (odd) The first turn is left out of the joint accuracy of
states, and counts for the F1 of acts; a line's flag ("expressed") belongs to the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Goal
from mwzeval.crosswoz.corpus.ontology import parts_of
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.act_scores import PART_SCOPES
from mwzeval.crosswoz.scoring.track_scores import TYPE_SCOPES, Sign, percentage
from mwzeval.metrics.dialogue_acts import ActScores, ActTurn
from mwzeval.scores.measure import Measure
from mwzeval.scores.score import WHOLE

SCOPES = (WHOLE, *TYPE_SCOPES)
JOINT = {
    "joint": ("Joint user state", "values+flags"),
    "joint_values": ("Joint user state, values only", "values"),
}
"""Variant → its label, and what of a line it compares."""


@dataclass(frozen=True, slots=True)
class SimulatorScores:
    """Joint accuracy of the user's state, with and without flags, and F1 of the user's acts."""

    main: tuple[str, ...] = ("sim.joint", "sim.joint_values", "sim.f1")
    _acts: ActScores[Act] = field(init=False)

    def __post_init__(self) -> None:
        scores = ActScores("sim", (*TYPE_SCOPES, *PART_SCOPES), parts_of)
        object.__setattr__(self, "_acts", scores)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        kinds = ("turns", "dialogues", *JOINT)
        return (*(_column(k, s) for s in SCOPES for k in kinds), *self._acts.columns)

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        later = list(zip(gold.exchanges, predicted, strict=True))[1:]
        right = {
            "joint": sum(e.user.state == said.user_state for e, said in later),
            "joint_values": sum(
                _values(e.user.state) == _values(said.user_state or ()) for e, said in later
            ),
        }
        row: dict[str, float] = {}
        for scope in (WHOLE, gold.goal_type) if later else ():
            row |= {_column("turns", scope): len(later), _column("dialogues", scope): 1}
            row |= {_column(variant, scope): number for variant, number in right.items()}
        turns = (
            ActTurn(frozenset(said.user_acts or ()), frozenset(e.user.acts), (gold.goal_type,))
            for e, said in zip(gold.exchanges, predicted, strict=True)
        )
        return row | self._acts.row(turns)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield both scores, by goal type, and F1 by intent and domain as well."""
        for variant, (label, compared) in JOINT.items():
            signature = sign("sim", {"lines": compared, "first_turn": "out"})
            for scope in SCOPES:
                turns = _column("turns", scope)
                if sums[turns]:
                    yield Measure(
                        f"sim.{variant}",
                        label,
                        signature,
                        percentage(_column(variant, scope), turns),
                        scope=scope,
                        cases=_column("dialogues", scope),
                    )
        yield from self._acts.measures(
            "User act", sign("sim", {"acts": "exact", "first_turn": "in"}), sums
        )


def _values(state: Goal) -> list[str | tuple[str, ...]]:
    return [line.value for line in state]


def _column(kind: str, scope: str) -> str:
    return f"sim.{kind}@{scope}"
