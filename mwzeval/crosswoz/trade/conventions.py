"""Joint accuracy of TRADE under the conventions of the public code, beside ours.

The paper has 36.08, and users who run the public checkpoint report 24 (CrossWOZ, issue 24). The
public code can be read in several ways; each is one change to the score `dst.joint_full`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, SystemTurn
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.scoring.scopes import SELECT_TURNS, TYPE_SCOPES, turn_scopes
from mwzeval.report.formats import aligned
from mwzeval.scores.score import WHOLE

SCOPES = (WHOLE, *TYPE_SCOPES, SELECT_TURNS)


def _first(turn: SystemTurn) -> State:
    return turn.first_query


def _last(turn: SystemTurn) -> State:
    return turn.last_query


def _same(state: State) -> State:
    return state


def _without_blanks(state: State) -> State:
    return {
        domain: {slot: "".join(value.split()) for slot, value in slots.items()}
        for domain, slots in state.items()
    }


def _without_services(state: State) -> State:
    return {
        domain: {slot: v for slot, v in slots.items() if (domain, slot) != (HOTEL, SERVICES)}
        for domain, slots in state.items()
    }


@dataclass(frozen=True, slots=True)
class Convention:
    """What is compared: the gold state of a turn, and what is done to states before."""

    label: str
    gold: Callable[[SystemTurn], State] = _first
    predicted: Callable[[State], State] = _same
    compared: Callable[[State], State] = _same


CONVENTIONS = (
    Convention("first query, to the letter (dst.joint_full)"),
    Convention("first query, without blanks", compared=_without_blanks),
    Convention("last query, to the letter", gold=_last),
    Convention("first query, no services predicted", predicted=_without_services),
)
"""The public code joins the words of predictions without blanks; its setting `processed` compares
with the last query of a turn (`sys_state`). Its 80 slots are those of goals and acts, too: 37 of
them are single services, which share domain and slot embedding with the slot of all services. The
38 have one and the same prediction, and in each turn 37 of them are empty: so no services."""

Accuracies = Mapping[str, Mapping[str, float]]
"""Label of a convention → scope → joint accuracy in percent."""


def joint_accuracies(
    gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
) -> Accuracies:
    """Return the joint accuracies of predicted states under each convention.

    Dialogues that were not predicted are left out, and scopes without turns.
    """
    right = {each.label: dict.fromkeys(SCOPES, 0) for each in CONVENTIONS}
    turns = dict.fromkeys(SCOPES, 0)
    for name, said in predicted.items():
        dialogue = gold[name]
        for exchange, of_turn in zip(dialogue.exchanges, said, strict=True):
            scopes = (WHOLE, *turn_scopes(dialogue, exchange))
            for scope in scopes:
                turns[scope] += 1
            for each in CONVENTIONS:
                mine = each.compared(each.predicted(of_turn.state or {}))
                if sparse(mine) == sparse(each.compared(each.gold(exchange.system))):
                    for scope in scopes:
                        right[each.label][scope] += 1
    return {
        label: {scope: 100 * of[scope] / turns[scope] for scope in SCOPES if turns[scope]}
        for label, of in right.items()
    }


def accuracies_text(accuracies: Accuracies) -> str:
    """Return joint accuracies as a table for reading: a line a convention, a column a scope."""
    scopes = list(next(iter(accuracies.values())))
    lines = [[label, *(f"{of[scope]:.2f}" for scope in scopes)] for label, of in accuracies.items()]
    return aligned([["", *scopes], *lines])
