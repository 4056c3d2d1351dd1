"""What became of a live dialogue: did the user get what the goal wants, domain by domain?

A judgement needs the messages of a dialogue and its goal, and never the agent: right venue named or
booked (`inform`), everything asked for told truly (`success`), the right thing booked (`booking`).
Definitions are in `docs/live.md`; beside them are the grounded scores of `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.corpus.gold import goals_of
from mwzeval.multiwoz.database.venues import Row
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.live.verdicts.case import Case, DomainJudgement, Ground, Judgement
from mwzeval.multiwoz.live.verdicts.spoken import read
from mwzeval.multiwoz.live.verdicts.transcript import Transcript
from mwzeval.scores.explanation import Claim

__all__ = ["DomainJudgement", "Judge", "Judgement"]


class Judge:
    """Judges live dialogues on one database; what it remembers only saves time.

    `tables` are the contents of the corpus' files `<domain>_db.json`, by domain (those of
    `read_tables`). With `with_log`, rows also have the counts of what is said held against what
    the tools returned, which takes nearly half as long again. `tools` are those that agents call.
    """

    def __init__(
        self,
        tables: Mapping[str, Sequence[Row]],
        rules: Rules = RULES[0],
        *,
        with_log: bool = False,
        tools: Tools = OUR_TOOLS,
    ) -> None:
        self._tools = tools
        self._ground = Ground(tables, rules, with_log=with_log)

    def judge(
        self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object = None
    ) -> Judgement:
        """Return what became of a dialogue with these messages, whatever is in them.

        `goal` is a `Goal` or the annotation of a corpus; `bookings` are those of an agent
        that keeps its own tools, `[{"domain": …, "slots": {…}}, …]`.
        """
        return self._case(goal, messages, bookings).judgement()

    def claims(
        self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object = None
    ) -> tuple[Claim, ...]:
        """Return what the agent of a dialogue says, and whether it is so; arguments as `judge`."""
        return self._case(goal, messages, bookings).claims()

    def _case(self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object) -> Case:
        wanted = goals_of(goal)
        transcript = Transcript.of(messages, bookings, tuple(wanted), self._tools)
        ground = self._ground
        spoken, states = read(transcript, ground.delexicalizer, ground.rules)
        return Case(ground, goal, wanted, transcript, spoken, states)
