"""What a corpus is like: its size, its goals, how its dialogues go, and what its database has.

Source: Zhu et al., TACL 2020, Tables 1, 3, 6 and 7. A turn is an utterance of either side; tokens
are jieba's, blanks included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.crosswoz.corpus.acts import INFORM, NO_OFFER, RECOMMEND, REQUEST
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import Table
from mwzeval.crosswoz.corpus.names import (
    ATTRACTION,
    GOAL_TYPES,
    HOTEL,
    NEARBY,
    RESTAURANT,
    SERVICES,
    STATION,
)
from mwzeval.crosswoz.corpus.normalization import pieces_of

ALL = "all"
"""The key of all goal types together."""
WITH_SLOTS = (INFORM, RECOMMEND, REQUEST)
"""The intents whose acts are about a slot of a domain."""
DOMAIN = "领域"
"""The slot of a record that repeats its domain."""


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """Tables 1, 6 and 7 for some dialogues; rates are shares, 0 to 1, means of nothing are 0.

    A goal has changed when an ordinary constraint of it has another value at the end, and slots and
    values are those of acts; that is our reading, the paper defines neither.
    """

    dialogues: int
    turns: int
    tokens: int
    vocabulary: int
    """Distinct tokens."""
    subgoals: float
    """Mean number of sub-goals of a goal."""
    semantic_tuples: float
    """Mean number of lines of a goal."""
    turns_a_dialogue: float
    tokens_a_turn: float
    acts_a_turn: float
    no_offer_rate: float
    """Share of dialogues in which the system has had nothing to offer."""
    multi_query_rate: float
    """Share of system turns whose last query is not the first."""
    goal_change_rate: float
    """Share of dialogues whose user has given up a constraint."""
    slots: int
    """Distinct pairs of a domain and a slot that somebody informs, asks for or recommends."""
    values: int
    """Distinct values that are informed or recommended; one of two slots counts once."""
    slot_values: int
    """The same, a value counting once for each domain and slot."""


@dataclass(frozen=True, slots=True)
class DatabaseStatistics:
    """Table 3 for the venues of a domain; means are over all venues.

    `slots` are those that any venue has something in, without the metro station, which is asked of
    the metro, and without `services`, of which each is a slot of its own.
    """

    entities: int
    slots: int
    services: int
    nearby_attractions: float
    nearby_restaurants: float
    nearby_hotels: float


def corpus_statistics(dialogues: Iterable[Dialogue]) -> dict[str, CorpusStatistics]:
    """Return the statistics of all dialogues (key `all`) and of each goal type that occurs.

    Raises `DependencyError` without jieba.
    """
    every = list(dialogues)
    counted = {ALL: _statistics(every)}
    for goal_type in GOAL_TYPES:
        of_type = [dialogue for dialogue in every if dialogue.goal_type == goal_type]
        if of_type:
            counted[goal_type] = _statistics(of_type)
    return counted


def database_statistics(tables: Mapping[str, Table]) -> dict[str, DatabaseStatistics]:
    """Return the statistics of the attractions, restaurants and hotels of `tables`, by domain."""
    return {
        domain: _of_venues([record for _, record in tables[domain]])
        for domain in (ATTRACTION, RESTAURANT, HOTEL)
    }


def goal_changed(dialogue: Dialogue) -> bool:
    """Tell whether an ordinary constraint of the goal has another value at the end."""
    return any(
        first.value and not first.refers and first.value != last.value
        for first, last in zip(dialogue.goal, dialogue.final_goal, strict=True)
    )


def _of_venues(records: Sequence[Mapping[str, Any]]) -> DatabaseStatistics:
    # One hotel of the release has services that are blank.
    listed = (record.get(SERVICES) or () for record in records)
    services = {service for of_hotel in listed for service in of_hotel if service.strip()}
    filled = {
        slot for record in records for slot, value in record.items() if value not in (None, [])
    }
    nearby = {
        of: sum(len(record.get(slot) or ()) for record in records) for of, slot in NEARBY.items()
    }
    return DatabaseStatistics(
        entities=len(records),
        slots=len(filled - {DOMAIN, STATION, SERVICES}),
        services=len(services),
        nearby_attractions=_mean(nearby[ATTRACTION], len(records)),
        nearby_restaurants=_mean(nearby[RESTAURANT], len(records)),
        nearby_hotels=_mean(nearby[HOTEL], len(records)),
    )


def _statistics(dialogues: Sequence[Dialogue]) -> CorpusStatistics:
    tokens: Counter[str] = Counter()
    said: set[tuple[str, str, str]] = set()
    acts = turns = no_offers = several = 0
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            turns += 2
            for turn in (exchange.user, exchange.system):
                tokens.update(pieces_of(turn.utterance))
                acts += len(turn.acts)
                said.update(act[1:] for act in turn.acts if act.intent in WITH_SLOTS)
            several += exchange.system.first_query != exchange.system.last_query
        no_offers += any(
            act.intent == NO_OFFER for e in dialogue.exchanges for act in e.system.acts
        )
    count = len(dialogues)
    subgoals = sum(len({line.subgoal for line in dialogue.goal}) for dialogue in dialogues)
    return CorpusStatistics(
        dialogues=count,
        turns=turns,
        tokens=tokens.total(),
        vocabulary=len(tokens),
        subgoals=_mean(subgoals, count),
        semantic_tuples=_mean(sum(len(dialogue.goal) for dialogue in dialogues), count),
        turns_a_dialogue=_mean(turns, count),
        tokens_a_turn=_mean(tokens.total(), turns),
        acts_a_turn=_mean(acts, turns),
        no_offer_rate=_mean(no_offers, count),
        multi_query_rate=_mean(several, turns // 2),
        goal_change_rate=_mean(sum(map(goal_changed, dialogues)), count),
        slots=len({(domain, slot) for domain, slot, _ in said}),
        values=len({value for *_, value in said if value}),
        slot_values=sum(bool(value) for *_, value in said),
    )


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
