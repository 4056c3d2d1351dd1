"""What the paper says of the corpus and its database (Zhu et al., TACL 2020, Tables 1, 3, 6, 7).

The names are those of `CorpusStatistics` and `DatabaseStatistics`.
"""

from __future__ import annotations

from collections.abc import Mapping

from mwzeval.crosswoz.corpus.names import ATTRACTION, GOAL_TYPES, HOTEL, RESTAURANT

Figures = Mapping[str, float]


def _columns(
    columns: tuple[str, ...], rows: Mapping[str, tuple[float, ...]]
) -> dict[str, dict[str, float]]:
    return {
        column: {name: row[number] for name, row in rows.items()}
        for number, column in enumerate(columns)
    }


_SPLITS = _columns(
    ("train", "val", "test"),
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
    tuple(GOAL_TYPES),
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

OF_CORPUS: Mapping[str, Mapping[str, Figures]] = {
    "train": {"all": {**_SPLITS["train"], "slots": 72, "values": 7871}, **_GOAL_TYPES},
    "val": {"all": _SPLITS["val"]},
    "test": {"all": _SPLITS["test"]},
}
"""Fold → scope (`all`, or a goal type) → name → figure.

Table 6 has all folds; Table 1 (slots, values) and Table 7 (goal types) the training fold alone.
"""

_DATABASE = _columns(
    (ATTRACTION, RESTAURANT, HOTEL),
    {
        "entities": (465, 951, 1133),
        "slots": (9, 10, 8),
        "services": (0, 0, 37),
        "nearby_attractions": (4.7, 3.3, 0.8),
        "nearby_restaurants": (6.7, 4.1, 2.0),
    },
)
OF_DATABASE: Mapping[str, Figures] = {
    **_DATABASE,
    ATTRACTION: {**_DATABASE[ATTRACTION], "nearby_hotels": 2.1},
    RESTAURANT: {**_DATABASE[RESTAURANT], "nearby_hotels": 2.4},
}
"""Domain → name → figure of Table 3; hotels near hotels were not collected."""
