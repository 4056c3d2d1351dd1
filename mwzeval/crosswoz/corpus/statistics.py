"""What a corpus is like: its size, its goals, and how its dialogues go.

Source: Zhu et al., TACL 2020, Tables 6 and 7. A turn is an utterance of either side; tokens are
jieba's, blanks included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from mwzeval.crosswoz.corpus.acts import NO_OFFER
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.normalization import pieces_of

ALL = "all"
"""The key of all goal types together."""


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """Tables 6 and 7 for some dialogues; rates are shares, 0 to 1, and means may be of nothing: 0.

    A goal has changed when an ordinary constraint of it has another value at the end; that is our
    reading, the paper does not define it.
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


def statistics_text(statistics: dict[str, CorpusStatistics]) -> str:
    """Return the statistics as a table for reading: a line a number, a column a goal type."""
    columns = {scope: asdict(of_scope) for scope, of_scope in statistics.items()}
    names = list(next(iter(columns.values())))
    lines = [
        ["", *columns],
        *([name, *(_shown(c[name]) for c in columns.values())] for name in names),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
        for line in lines
    )


def goal_changed(dialogue: Dialogue) -> bool:
    """Tell whether an ordinary constraint of the goal has another value at the end."""
    return any(
        first.value and not first.refers and first.value != last.value
        for first, last in zip(dialogue.goal, dialogue.final_goal, strict=True)
    )


def _statistics(dialogues: Sequence[Dialogue]) -> CorpusStatistics:
    tokens: Counter[str] = Counter()
    acts = turns = no_offers = several = 0
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            turns += 2
            for turn in (exchange.user, exchange.system):
                tokens.update(pieces_of(turn.utterance))
                acts += len(turn.acts)
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
    )


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0


def _shown(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.2f}"
