"""Units with calls of functions and goals that are ticked off, as live dialogues have them."""

from __future__ import annotations

from dataclasses import replace

from mwzeval.scores.explanation import (
    CANNOT_BE,
    Explanation,
    Fact,
    Reason,
    ToolUse,
    TurnView,
    Utterance,
)
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Interval
from mwzeval.scores.sheets import Cell, sheet
from tests.report.systems import system

GOAL = (
    Fact("wants", "a cheap hotel in the north", "hotel"),
    Fact("asks", "phone", "hotel"),
    Fact("books", "2 people, 3 nights from monday", "hotel"),
    Fact("asks", "entrance fee", "hotel"),
)
FOUND = '{"count": 2, "results": [{"name": "the lodge", "phone": "01223 1"}, {"name": "<b>"}]}'
COSTS = sheet(
    "Usage and cost (agent: meta-llama/Llama-3.1-8B-Instruct; user: gpt-4o-mini-2024-07-18)",
    ("", "per dialogue", "per success", "total"),
    (
        (
            "Agent: messages cut off",
            Cell(0.000123, form=",.6f", interval=Interval(0.00001, 0.01234, 0.95, "bootstrap")),
            Cell(None),
            Cell(12_345_678, form=",.0f"),
        ),
    ),
    ("1 of 20 requests of the agent report no tokens.",),
)
REFUSED = '{"error": "there is no hotel \\"the loge\\""}'


def conversation(*, is_won: bool) -> Explanation:
    """Return a dialogue in which the hotel is booked, or is not."""
    called = (ToolUse("find_hotel", '{"area": "north", "pricerange": "cheap"}', FOUND),)
    booked = (
        ToolUse("book_hotel", '{"name": "the loge"}', REFUSED, has_failed=True),
        *((ToolUse("book_hotel", '{"name": "the lodge"}', "booked"),) if is_won else ()),
    )
    said = ("A cheap hotel?", "The Lodge, 01223 1.", called), ("Book it.", "Done.", booked)
    turns = tuple(
        TurnView((Utterance("user", user), Utterance("system", answer)), (), (), calls)
        for user, answer, calls in said
    )
    lost = Reason("never-booked", "success", "hotel", 1, "nothing was booked")
    return Explanation(
        "sng1",
        {WHOLE: {"success": is_won}, "hotel": {"success": is_won}},
        GOAL,
        turns,
        () if is_won else (lost,),
        (0, 0, 1 if is_won else None, CANNOT_BE),
    )


def live_systems() -> tuple[Report, ...]:
    """Return two systems, of which the second does not book."""
    return tuple(
        replace(system(name, [conversation(is_won=is_won)]), figures=(COSTS,))
        for name, is_won in (("careful", True), ("hasty", False))
    )
