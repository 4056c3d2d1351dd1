"""Joint accuracy of TRADE under the conventions of the public code, beside ours.

The paper has 36.08, and users who run the public checkpoint report 24 (issue 24 of
thu-coai/CrossWOZ on GitHub). The public code can be read in several ways; each is one change to the
score `dst.joint_full`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, SystemTurn
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.corpus.normalization import pieces_of
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.scoring.scopes import SELECT_TURNS, TYPE_SCOPES, turn_scopes
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document, sheet

SCOPES = (WHOLE, *TYPE_SCOPES, SELECT_TURNS)
LONGEST_VALUE = 10
"""Words of a value that the public code writes at most."""


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


def _of_ten_words(state: State) -> State:
    return {
        domain: {slot: _first_words(value) for slot, value in slots.items()}
        for domain, slots in state.items()
    }


@cache
def _first_words(value: str) -> str:
    pieces = pieces_of(value)
    words = accumulate(bool(piece.strip()) for piece in pieces)  # the others are blanks
    return "".join(p for p, word in zip(pieces, words, strict=True) if word <= LONGEST_VALUE)


def _public(state: State) -> State:
    return _of_ten_words(_without_services(state))


@dataclass(frozen=True, slots=True)
class Convention:
    """What is compared: the gold state of a turn, and what is done to states before."""

    label: str
    gold: Callable[[SystemTurn], State] = _first
    predicted: Callable[[State], State] = _same
    compared: Callable[[State], State] = _same
    every_turn: bool = True
    """Whether all turns of a dialogue count, or its last one alone."""


CONVENTIONS = (
    Convention("first query, to the letter (dst.joint_full)"),
    Convention("first query, without blanks", compared=_without_blanks),
    Convention("first query, ten words a value", predicted=_of_ten_words),
    Convention("first query, no services", predicted=_without_services),
    Convention("last query", gold=_last),
    Convention("last query, ten words a value, no services", gold=_last, predicted=_public),
    Convention("first query, last turn of a dialogue", every_turn=False),
)
"""The public code joins the words of predictions without blanks, and writes ten words at most; its
setting `processed` compares with the last query of a turn (`sys_state`). Its 80 slots are those of
goals and acts, too: 37 of them are single services, which share domain and slot embedding with the
slot of all services. The 38 have one and the same prediction, and in each turn 37 of them are
empty: so no services. The last turn alone counts in other benchmarks."""

Accuracies = Mapping[str, Mapping[str, float]]
"""Label of a convention → scope → joint accuracy in percent."""


def joint_accuracies(
    gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
) -> Accuracies:
    """Return the joint accuracies of predicted states under each convention.

    Dialogues that were not predicted are left out, and scopes without turns. Raises
    `DependencyError` without jieba.
    """
    right = {each.label: dict.fromkeys(SCOPES, 0) for each in CONVENTIONS}
    turns = {each.label: dict.fromkeys(SCOPES, 0) for each in CONVENTIONS}
    for name, said in predicted.items():
        dialogue = gold[name]
        last = dialogue.exchanges[-1]
        for exchange, of_turn in zip(dialogue.exchanges, said, strict=True):
            scopes = (WHOLE, *turn_scopes(dialogue, exchange))
            for each in CONVENTIONS:
                if not (each.every_turn or exchange is last):
                    continue
                mine = each.compared(each.predicted(of_turn.state or {}))
                is_right = sparse(mine) == sparse(each.compared(each.gold(exchange.system)))
                for scope in scopes:
                    turns[each.label][scope] += 1
                    right[each.label][scope] += is_right
    return {
        label: {scope: 100 * of[scope] / n for scope, n in turns[label].items() if n}
        for label, of in right.items()
    }


def accuracies_document(accuracies: Accuracies) -> Document:
    """Return joint accuracies as a table: a line a convention, a column a scope.

    Where a convention has no turn of a scope, "–" stands.
    """
    scopes = [scope for scope in SCOPES if any(scope in of for of in accuracies.values())]
    lines = [
        [label, *(f"{of[scope]:.2f}" if scope in of else "–" for scope in scopes)]
        for label, of in accuracies.items()
    ]
    return Document((), (sheet("", ["", *scopes], lines),), (), (), accuracies)
