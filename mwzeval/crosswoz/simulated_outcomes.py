"""What a simulated dialogue came to: the user's last state, corrected by what the system said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, Act, parse_act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple
from mwzeval.crosswoz.corpus.names import NAME, VENUE_DOMAINS
from mwzeval.crosswoz.predictions.tracks import SYSTEM_ACTS
from mwzeval.crosswoz.simulation.reading import Simulated


def outcome_of(simulated: Simulated, database: Database) -> Goal:
    """Return the lines of the goal with the user's last values.

    A user who names the venue keeps that name whatever is said; so where the system calls it by a
    name that does not exist, that name counts.
    """
    invented = dict(_invented(simulated, database))

    def corrected(wanted: SemanticTuple, final: SemanticTuple) -> SemanticTuple:
        is_given = wanted.slot == NAME and bool(wanted.value) and not wanted.refers
        if is_given and wanted.domain in invented:
            return final.with_value(invented[wanted.domain])
        return final

    pairs = zip(simulated.goal, simulated.outcome, strict=True)
    return tuple(corrected(wanted, final) for wanted, final in pairs)


def _invented(simulated: Simulated, database: Database) -> Iterator[tuple[str, str]]:
    for act in _system_acts(simulated):
        is_name = act.intent in (INFORM, RECOMMEND) and act.slot == NAME
        if is_name and act.domain in VENUE_DOMAINS and not database.named(act.domain, act.value):
            yield act.domain, act.value


def _system_acts(simulated: Simulated) -> Iterator[Act]:
    for turn in simulated.turns:
        for raw in turn.get(SYSTEM_ACTS) or ():
            # What is no act names nothing.
            with suppress(ValueError):
                yield parse_act(raw)
