"""The situations in which a policy acts on a corpus, and what the wizard said there.

Source: Zhu et al., TACL 2020, section 4.3; the rules are those of the public training code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.systems.policy_vector import Vocabulary, delexicalized, lexicalized
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker

PAPER_ENDS = 2
"""(odd) From this exchange on the paper's evaluation takes every turn for the last one: it counts
the fields of a dialogue (6) instead of its messages."""


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """A turn of a policy: where the ones of its vector are, what it can offer, what is right.

    `domain` and `results` are the current domain and what its query returns.
    """

    situation: tuple[int, ...]
    domain: str | None
    results: tuple[Entity, ...]
    gold_acts: Acts


def policy_turns(
    dialogue: Dialogue,
    database: Database,
    vocabulary: Vocabulary,
    *,
    paper_compatible: bool = False,
) -> Iterator[PolicyTurn]:
    """Yield the system turns of a dialogue as a policy sees them.

    The state is the gold one of the wizard's last query; the current domain is that of RuleDST on
    the gold acts. `paper_compatible` raises the flag of the last turn where the paper's evaluation
    did: in all turns but the first two.
    """
    tracker = RuleTracker()
    said: Acts = ()
    last = len(dialogue.exchanges) - 1
    for number, exchange in enumerate(dialogue.exchanges):
        tracker.update(exchange.user.acts, said)
        tracker.state = {d: dict(slots) for d, slots in exchange.system.last_query.items()}
        results = current_results(database, tracker)
        ends = number >= PAPER_ENDS if paper_compatible else number == last
        situation = vocabulary.situation(
            exchange.user.acts, said, tracker.state, len(results), ends=ends
        )
        said = exchange.system.acts
        yield PolicyTurn(tuple(situation), tracker.domain, results, said)


def current_results(database: Database, tracker: RuleTracker) -> tuple[Entity, ...]:
    """Return what the current domain's constraints find; nothing without a current domain."""
    domain = tracker.domain
    return database.query(domain, tracker.state.get(domain, {})) if domain is not None else ()


def round_trip(turn: PolicyTurn, vocabulary: Vocabulary) -> Acts:
    """Return what is left of the gold acts when they lose their values and get them back.

    It is the best that a policy can say that knows these acts.
    """
    known = (act for act in delexicalized(turn.gold_acts) if vocabulary.knows(act))
    return lexicalized(known, turn.domain, turn.results)


def all_turns(
    dialogues: Iterable[Dialogue],
    database: Database,
    vocabulary: Vocabulary,
    *,
    paper_compatible: bool = False,
) -> list[PolicyTurn]:
    """Return the system turns of dialogues one after the other."""
    return [
        turn
        for dialogue in dialogues
        for turn in policy_turns(dialogue, database, vocabulary, paper_compatible=paper_compatible)
    ]
