"""Corpus statistics: size, goals, course of dialogues, and database.

Source: Zhu et al., TACL 2020, Tables 1, 3, 6 and 7. A turn is an utterance of either side. Tokens
are jieba's, including blanks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.crosswoz.corpus.acts import INFORM, NO_OFFER, RECOMMEND, REQUEST
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import Table
from mwzeval.crosswoz.corpus.folds import SAMPLE, TABLES, Fold
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
from mwzeval.scores.sheets import Document, Sheet, sheet

ALL = "all"
"""The key for all goal types together."""
TRAIN = "train"
WITH_SLOTS = (INFORM, RECOMMEND, REQUEST)
"""The intents of acts that have a slot of a domain."""
DOMAIN = "领域"
"""The slot of a database record that repeats the domain of the record."""
Figures = Mapping[str, float]
Columns = Mapping[str, Figures]


def _columns(
    columns: Iterable[str], rows: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, float]]:
    return {
        column: {name: row[number] for name, row in rows.items()}
        for number, column in enumerate(columns)
    }


_SPLITS = _columns(
    (TRAIN, "val", "test"),
    {
        "dialogues": (5012, 500, 500),
        "turns": (84692, 8458, 8476),
        "tokens": (1376033, 137736, 137427),
        "vocabulary": (12502, 5202, 5143),
        "subgoals": (3.24, 3.26, 3.26),
        "semantic_tuples": (14.8, 14.9, 15.0),
        "turns_a_dialogue": (16.9, 16.9, 17.0),
        "tokens_a_turn": (16.3, 16.3, 16.2),
    },
)
_GOAL_TYPES = _columns(
    GOAL_TYPES,
    {
        "dialogues": (417, 1573, 691, 1759, 572),
        "subgoals": (1.00, 2.49, 3.62, 3.87, 4.57),
        "semantic_tuples": (4.5, 11.3, 15.8, 18.2, 20.7),
        "turns_a_dialogue": (6.8, 13.7, 16.0, 21.0, 21.6),
        "tokens_a_turn": (13.2, 15.2, 16.3, 16.9, 17.0),
        "acts_a_turn": (1.85, 1.90, 2.09, 2.06, 2.11),
        "no_offer_rate": (0.10, 0.22, 0.22, 0.61, 0.55),
        "multi_query_rate": (0.06, 0.07, 0.07, 0.14, 0.12),
        "goal_change_rate": (0.10, 0.28, 0.31, 0.69, 0.63),
    },
)
PAPER: Mapping[str, Columns] = {
    TRAIN: {ALL: {**_SPLITS[TRAIN], "slots": 72, "values": 7871}, **_GOAL_TYPES},
    "val": {ALL: _SPLITS["val"]},
    "test": {ALL: _SPLITS["test"]},
}
"""The paper's figures by fold, scope (`all`, or a goal type) and name.

Table 6 has all folds; Table 1 (slots, values) and Table 7 (goal types) have only the training fold.
"""
_DATABASE = _columns(
    ("attraction", "restaurant", "hotel"),
    {
        "entities": (465, 951, 1133),
        "slots": (9, 10, 8),
        "services": (0, 0, 37),
        "nearby_attractions": (4.7, 3.3, 0.8),
        "nearby_restaurants": (6.7, 4.1, 2.0),
    },
)
PAPER_DATABASE: Columns = {
    **_DATABASE,
    "attraction": {**_DATABASE["attraction"], "nearby_hotels": 2.1},
    "restaurant": {**_DATABASE["restaurant"], "nearby_hotels": 2.4},
}
"""The figures of Table 3 by database file and name; the paper has no hotels near hotels."""


def corpus_statistics(dialogues: Iterable[Dialogue]) -> dict[str, dict[str, float]]:
    """Return Tables 1, 6 and 7 for all dialogues (key `all`) and for each goal type that occurs.

    Three statistics are rates (0 to 1): the rate of goals in which the value of a constraint
    changes, of dialogues without an offer, and of system turns whose last query differs from the
    first query. A mean without values is 0. `slots` counts distinct pairs of domain and slot,
    `values` counts distinct values in acts, and `slot_values` counts distinct values of each domain
    and slot. The paper does not define these statistics, so mwzeval uses its own definitions.
    Raises `DependencyError` without jieba.
    """
    every = list(dialogues)
    scopes = {kind: [d for d in every if d.goal_type == kind] for kind in GOAL_TYPES}
    counted = {scope: _statistics(some) for scope, some in scopes.items() if some}
    return {ALL: _statistics(every), **counted}


def _statistics(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    tokens: Counter[str] = Counter()
    found: set[tuple[str, str, str]] = set()
    acts = turns = no_offers = several = 0
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            turns += 2
            for turn in (exchange.user, exchange.system):
                tokens.update(pieces_of(turn.utterance))
                acts += len(turn.acts)
                found.update(act[1:] for act in turn.acts if act.intent in WITH_SLOTS)
            several += exchange.system.first_query != exchange.system.last_query
        no_offers += any(
            act.intent == NO_OFFER for e in dialogue.exchanges for act in e.system.acts
        )
    count = len(dialogues)
    subgoals = sum(len({line.subgoal for line in dialogue.goal}) for dialogue in dialogues)
    return {
        "dialogues": count,
        "turns": turns,
        "tokens": tokens.total(),
        "vocabulary": len(tokens),
        "subgoals": _mean(subgoals, count),
        "semantic_tuples": _mean(sum(len(dialogue.goal) for dialogue in dialogues), count),
        "turns_a_dialogue": _mean(turns, count),
        "tokens_a_turn": _mean(tokens.total(), turns),
        "acts_a_turn": _mean(acts, turns),
        "no_offer_rate": _mean(no_offers, count),
        "multi_query_rate": _mean(several, turns // 2),
        "goal_change_rate": _mean(sum(map(_goal_changed, dialogues)), count),
        "slots": len({(domain, slot) for domain, slot, _ in found}),
        "values": len({value for *_, value in found if value}),
        "slot_values": sum(bool(value) for *_, value in found),
    }


def _goal_changed(dialogue: Dialogue) -> bool:
    return any(
        first.value and not first.refers and first.value != last.value
        for first, last in zip(dialogue.goal, dialogue.final_goal, strict=True)
    )


def database_statistics(tables: Mapping[str, Table]) -> dict[str, dict[str, float]]:
    """Return the statistics of Table 3 for attractions, restaurants and hotels, by database file.

    Each mean is over all venues of the domain.

    `slots` counts the slots that have a value for any venue. The metro station and `services` are
    not counted, because the station is a request about the metro and each service is a separate
    slot.
    """
    found = {}
    for domain in (ATTRACTION, RESTAURANT, HOTEL):
        records = [record for _, record in tables[domain]]
        # One hotel of the release has blank services.
        services = {s for record in records for s in record.get(SERVICES) or () if s.strip()}
        filled = {
            slot for record in records for slot, value in record.items() if value not in (None, [])
        }
        nearby = {
            f"nearby_{TABLES[near]}s": _mean(
                sum(len(record.get(slot) or ()) for record in records), len(records)
            )
            for near, slot in NEARBY.items()
        }
        slots = len(filled - {DOMAIN, STATION, SERVICES})
        found[TABLES[domain]] = {
            "entities": len(records),
            "slots": slots,
            "services": len(services),
            **nearby,
        }
    return found


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0


def fold_statistics(fold: Fold) -> Document:
    """Return the statistics of a fold and its database as two tables with one row per statistic.

    The row below a statistic has the number that the paper reports for the same fold or, if marked,
    for the training fold; the synthetic sample has no such rows. The plain form has the statistics
    by scope, the name of the `fold`, the `database`, and the figures of the `paper` for this fold
    (`corpus`), the training fold (`train`) and the database. Raises `DependencyError` without
    jieba.
    """
    corpus = corpus_statistics(fold.dialogues.values())
    database = database_statistics(fold.tables)
    plain: dict[str, Any] = {**corpus, "fold": fold.name, "database": database}
    paper: dict[str, Columns] = {}
    if fold.revision != SAMPLE:
        paper = {"corpus": PAPER[fold.name], TRAIN: PAPER[TRAIN], "database": PAPER_DATABASE}
        plain["paper"] = paper
    beneath = {"paper": paper.get("corpus", {}), "paper, train": paper.get(TRAIN, {})}
    sheets = (
        _table(fold.name, corpus, beneath),
        _table("database", database, {"paper": paper.get("database", {})}),
    )
    return Document((), sheets, (), (), plain)


def _table(title: str, columns: Columns, beneath: Mapping[str, Columns]) -> Sheet:
    lines = []
    for name in next(iter(columns.values())):
        numbers = [column[name] for column in columns.values()]
        lines.append([name, *(str(n) if isinstance(n, int) else f"{n:.2f}" for n in numbers)])
        for label, paper in beneath.items():
            figures = [paper.get(column, {}).get(name) for column in columns]
            if any(figure is not None for figure in figures):
                # The paper's figures are shown with the digits of the paper.
                lines.append([f"  {label}", *("" if f is None else str(f) for f in figures)])
                break
    return sheet("", [title, *columns], lines)
