"""How simulated dialogues ended, and how many finished: by goal type and altogether.

Source: Zhu et al., TACL 2020, section 5.6; "overall" there is the natural mix of goal types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import mistakes_in
from mwzeval.crosswoz.simulation.log import (
    FINISHED,
    INFRASTRUCTURE,
    OUTCOME_OF,
    OUTCOMES,
    Outcome,
)
from mwzeval.errors import printable

NATURAL_MIX = 1000
"""How many dialogues the natural mix has at most: the first ones."""
SHOWN_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a simulated dialogue ended, in short.

    `unknown` are sentences about acts of it that do not exist, each once.
    """

    number: int
    goal_type: str
    outcome: Outcome
    user_turns: int
    silent: int
    problem: str | None
    unknown: tuple[str, ...] = ()

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Ended:
        """Return how a dialogue ended, from its line in a log that a run has written."""
        return cls(
            int(line["dialogue"].rpartition("-")[2]),
            line["goal_type"],
            OUTCOME_OF[line["end"]],
            line["turns"],
            line["silent"],
            line.get("problem"),
            _unknown((turn["user_acts"], turn["system_acts"]) for turn in line.get("acts", ())),
        )


def _unknown(said: Iterable[tuple[object, object]]) -> tuple[str, ...]:
    """Return what is wrong with the acts of user and system, each sentence once."""
    found = (
        f"{side} acts: {message}"
        for exchange in said
        for side, acts in zip(("user", "system"), exchange, strict=True)
        for _, message in mistakes_in(side, acts)
    )
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Rate:
    """So many dialogues, of which so many finished; `turns` is the mean number of user turns."""

    dialogues: int
    finished: int
    turns: float

    @property
    def finish_rate(self) -> float | None:
        """The share of finished dialogues between 0 and 1, None of none."""
        return self.finished / self.dialogues if self.dialogues else None

    @classmethod
    def of(cls, dialogues: Sequence[Ended]) -> Rate:
        """Return the rate of dialogues, without those that ended for what is nobody's fault."""
        dialogues = [dialogue for dialogue in dialogues if dialogue.outcome != INFRASTRUCTURE]
        finished = sum(dialogue.outcome == FINISHED for dialogue in dialogues)
        turns = sum(dialogue.user_turns for dialogue in dialogues)
        return cls(len(dialogues), finished, turns / len(dialogues) if dialogues else 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the rate as plain values."""
        return {
            "dialogues": self.dialogues,
            "finished": self.finished,
            "finish_rate": self.finish_rate,
            "mean_user_turns": self.turns,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Finish rates, and what went wrong.

    `natural` are the first dialogues, at most 1,000, before any goal was passed over because its
    type had enough: goal types as often as they come. `macro` is the mean over goal types.
    `outcomes` counts how dialogues ended, `problems` what users and systems raised, most frequent
    first; in `silent` dialogues the system said nothing at least once; `unknown` counts the
    dialogues with acts that do not exist, by what does not.
    """

    by_type: Mapping[str, Rate]
    natural: Rate
    outcomes: Mapping[str, int]
    silent: int
    problems: Mapping[str, int]
    unknown: Mapping[str, int] = field(default_factory=dict)

    @property
    def macro(self) -> float | None:
        """The mean of the finish rates of the goal types, None without dialogues."""
        rates = [rate.finish_rate for rate in self.by_type.values() if rate.finish_rate is not None]
        return sum(rates) / len(rates) if rates else None

    @classmethod
    def of(cls, dialogues: Iterable[Ended], first_passed_over: int | None) -> Summary:
        """Return the summary of dialogues in the order of their goals."""
        ended = list(dialogues)
        mix = [
            dialogue
            for dialogue in ended
            if first_passed_over is None or dialogue.number < first_passed_over
        ]
        problems = Counter(d.problem for d in ended if d.problem is not None)
        outcomes = Counter(dialogue.outcome for dialogue in ended)
        return cls(
            {code: Rate.of([d for d in ended if d.goal_type == code]) for code in GOAL_TYPES},
            Rate.of(mix[:NATURAL_MIX]),
            {outcome: outcomes[outcome] for outcome in OUTCOMES},
            sum(dialogue.silent > 0 for dialogue in ended),
            dict(problems.most_common()),
            dict(Counter(what for d in ended for what in d.unknown).most_common()),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {
            "by_goal_type": {code: rate.to_json() for code, rate in self.by_type.items()},
            "natural_mix": self.natural.to_json(),
            "macro_finish_rate": self.macro,
            "outcomes": dict(self.outcomes),
            "silent_dialogues": self.silent,
            "problems": dict(self.problems),
            "unknown": dict(self.unknown),
        }

    def to_text(self) -> str:
        """Return the summary as a table, with what went wrong below it."""
        lines = [f"{'goal type':<14}{'dialogues':>10}{'finished %':>12}{'user turns':>12}"]
        rows = {**self.by_type, "natural mix": self.natural}
        lines += [_row(name, rate) for name, rate in rows.items()]
        total = sum(rate.dialogues for rate in self.by_type.values())
        lines.append(f"{'macro':<14}{total:>10}{_percent(self.macro):>12}")
        wrong = {name: n for name, n in self.outcomes.items() if name != FINISHED and n}
        if wrong:
            counts = ", ".join(f"{name}: {count}" for name, count in wrong.items())
            lines.append(f"not finished: {counts}")
        if self.silent:
            lines.append(f"the system said nothing at least once in {self.silent} dialogues")
        shown = list(self.problems.items())[:SHOWN_PROBLEMS]
        lines += [f"{count} × {problem}" for problem, count in shown]
        if len(self.problems) > len(shown):
            lines.append(f"… and {len(self.problems) - len(shown)} other problems (see the log)")
        shown = list(self.unknown.items())[:SHOWN_PROBLEMS]
        lines += [f"in {count} dialogues {what}" for what, count in shown]
        if len(self.unknown) > len(shown):
            lines.append(f"… and {len(self.unknown) - len(shown)} other things that do not exist")
        return "\n".join(map(printable, lines)) + "\n"


def _row(name: str, rate: Rate) -> str:
    percent = _percent(rate.finish_rate)
    return f"{name:<14}{rate.dialogues:>10}{percent:>12}{rate.turns:>12.2f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
