"""Synthetic systems: large ones, systems with hostile text, and systems with function calls."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from mwzeval.errors import Problem
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.explanation import (
    CANNOT_BE,
    Claim,
    Explanation,
    Fact,
    Reason,
    ToolUse,
    TurnView,
    Utterance,
)
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Interval, Score, Signature
from mwzeval.scores.sheets import Cell, sheet
from mwzeval.scores.table import Table

SCOPES = ("lodging", "diner", "museum", "railway", "cab")
WORDS = (
    *("there", "are", "several", "good", "places", "in", "the", "north", "part", "of", "town"),
    *("which", "would", "you", "prefer", "i", "can", "book", "it", "for", "now", "phone", "number"),
    *("is", "and", "address", "postcode", "reference", "please", "how", "many", "people", "what"),
    *("day", "time", "cheap", "moderate", "expensive", "leave", "arrive", "by", "after", "sure"),
)
ASPECTS = ("area", "price", "stars", "day", "people", "name")

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!--<script>",
    "]]></style><svg onload=alert(3)>",
    "javascript:alert(4)",
    "{{ 7 * 7 }}{% raw %}",
    '"><a href="javascript:alert(5)">x</a>',
    "' onmouseover='alert(6)",
    "\u202eright to left\u2066 and isolated",
    "nul\x00bell\x07escape\x1b[31m",
    "lone \ud800 surrogates \udfff",
    "line\u2028separator\u2029s and \u0085",
    "__proto__",
    "constructor",
    "&lt;b&gt;&amp;amp;",
    "%3Cscript%3E%",
    "#@0",
    "?q=1",
    "",
)


def scored(name: str, scores: Iterable[Score], **more: Any) -> Report:
    """Return the report of a system with these scores and an empty table."""
    fields = {"table": Table((), (), np.empty((0, 0))), "warnings": (), "meta": {}, **more}
    return Report({}, tuple(scores), benchmark="town", name=name, **fields)


def sentence(random_: random.Random, least: int = 6, most: int = 22) -> str:
    return " ".join(random_.choices(WORDS, k=random_.randint(least, most)))


@cache
def large_systems(
    units: int = 1000, names: tuple[str, ...] = ("first", "second")
) -> tuple[Report, ...]:
    """Return systems with equal units, users and references, as large as a MultiWOZ fold."""
    return tuple(
        system(name, [unit(number, salt) for number in range(units)])
        for salt, name in enumerate(names)
    )


def unit(number: int, salt: int) -> Explanation:
    shared, own = random.Random(f"unit {number}"), random.Random(f"unit {number} of {salt}")
    scopes = shared.sample(SCOPES, shared.randint(1, 3))
    wanted = {scope: shared.sample(ASPECTS, 3) for scope in scopes}
    goal = [
        Fact("wants", ", ".join(f"{a}={shared.choice(WORDS)}" for a in wanted[s]), s)
        for s in scopes
    ]
    turns = []
    for _ in range(shared.randint(4, 11)):
        user, reference = sentence(shared), sentence(shared)
        facts = [
            Fact("state", ", ".join(f"{a}={own.choice(WORDS)}" for a in wanted[s]), s)
            for s in scopes
        ]
        facts += [Fact("on offer", sentence(own, 3, 8), s) for s in scopes]
        facts += [Fact("given", own.choice(WORDS), scopes[0]), Fact("active", scopes[0])]
        said = (
            Utterance("user", user),
            Utterance("system", sentence(own)),
            Utterance("reference", reference),
        )
        turns.append(TurnView(said, tuple(facts)))
    parts = {s: {"found": own.random() < 0.85, "solved": own.random() < 0.7} for s in scopes}
    outcomes: dict[str, dict[str, bool | None]] = {
        WHOLE: {name: all(part[name] for part in parts.values()) for name in ("found", "solved")}
    }
    for s, part in parts.items():
        outcomes[s] = {"found": part["found"], "solved": part["solved"] if part["found"] else None}
    failed = tuple(reasons(own, parts, len(turns)))
    return Explanation(f"talk{number:04}", outcomes, tuple(goal), tuple(turns), failed)


def reasons(
    random_: random.Random, parts: dict[str, dict[str, bool]], turns: int
) -> Iterator[Reason]:
    for scope, part in parts.items():
        turn = random_.randrange(turns)
        if not part["found"]:
            aspect = random_.choice(ASPECTS)
            code = random_.choice((f"wrong:{aspect}", f"missing:{aspect}", "nothing-offered"))
            yield Reason(code, "found", scope, turn, f"At turn {turn} the {aspect} is not right.")
        elif not part["solved"]:
            aspect = random_.choice(("phone", "address", "reference"))
            yield Reason(
                f"never-gave:{aspect}", "solved", scope, None, f"The {aspect} was never given."
            )


def system(name: str, explanations: list[Explanation]) -> Report:
    """Return a report with scores that are counted from the explanations."""
    signature = Signature.of("found", {"corpus": "town", "rules": 1, "n": len(explanations)})
    scores = []
    for outcome, label in (("found", "Found"), ("solved", "Solved")):
        for scope in (WHOLE, *SCOPES):
            asked = [e.outcomes[scope] for e in explanations if scope in e.outcomes]
            if asked:
                rate = 100 * sum(bool(o.get(outcome)) for o in asked) / len(asked)
                ends = Interval(max(0.0, rate - 4), min(100.0, rate + 4), 0.95, "wilson")
                scores.append(
                    Score(outcome, label, rate, len(asked), signature, 1, scope, interval=ends)
                )
    scores.append(Score("words", "Words", 11.25, len(explanations), signature))
    warning = Problem("odd", "looks odd", "warning", file=f"{name}.json", dialogue="talk0001")
    meta = {
        "corpus": "town",
        "coverage": {"talks": {"scored": len(explanations), "of": len(explanations)}},
        "note": None,
    }
    more = {"meta": meta, "explanations": tuple(explanations), "warnings": (warning,)}
    return scored(name, scores, **more)


@dataclass(frozen=True)
class Noted(Claim):
    start: int
    end: int
    verdict: str
    text: str

    def note(self) -> str:
        return self.text


def claim(said: str, start: int, end: int, slot: str, verdict: str = "right") -> Claim:
    return Noted(start, end, verdict, f"{slot} ({said})")


def claiming_systems() -> list[Report]:
    """Return two systems with the same texts but different verdicts."""
    said = "\U0001f642 Ask for <b>Bella</b> at 12, caf\u00e9 side."
    verdicts = (("right", "unknown"), ("inconsistent", "unjudged"))
    both = (Utterance("user", said), Utterance("system", said))
    last = TurnView(both[1:], (), (claim(said, 29, 31, "time"),))
    found = []
    for system, (first, second) in zip(large_systems(2), verdicts, strict=True):
        claims = (claim(said, 0, 18, "name", first), claim(said, 13, 28, "at", second))
        turns = (TurnView(both, (), claims), last)
        explanation = replace(system.explanations[0], turns=turns)
        found.append(replace(system, explanations=(explanation,)))
    return found


def tracked_systems() -> list[Report]:
    """Return two state trackers on a sample dialogue; the first has errors in every turn."""
    right = {"area": "south", "type": "hotel", "pricerange": "expensive"}
    found = []
    for name, state in (("weak", {"area": "south", "pricerange": "cheap"}), ("good", right)):
        turns = [{"state": {"hotel": state}} for _ in range(3)]
        file = Evaluator(corpus="sample", dst=True).score({"smp0021": turns})
        found.append(replace(file.report(), name=name, explanations=tuple(file.explain_all())))
    return found


def hostile_system(salt: int) -> Report:
    """Return a system in which every text is an injection attack."""

    def at(place: int) -> str:
        return HOSTILE[(place + salt) % len(HOSTILE)]

    explanations = tuple(
        Explanation(
            unit=name,
            outcomes={
                WHOLE: {"found": salt == 0, at(1): None},
                HOSTILE[0]: {"found": False},
                at(number): {HOSTILE[1]: True},
            },
            goal=(Fact(at(number), at(number + 1), at(number + 2)),),
            turns=tuple(
                TurnView(
                    (Utterance("system", text), Utterance(at(number), text)),
                    (Fact(HOSTILE[0], text, text), Fact(text, HOSTILE[1])),
                    (claim(text, 0, len(text), text), claim(text, 1, 3, HOSTILE[1], "unknown")),
                )
                for text in HOSTILE
            ),
            reasons=(
                Reason(HOSTILE[0], "found", HOSTILE[1], 0, HOSTILE[0]),
                Reason(at(number), HOSTILE[1], at(number), 999, at(number)),
            ),
        )
        for number, name in enumerate(HOSTILE)
    )
    signature = Signature.of(HOSTILE[0], {HOSTILE[1]: HOSTILE[2]})
    scores = tuple(
        Score(HOSTILE[0], HOSTILE[1], value, 1, signature, scope=scope)
        for value, scope in ((1.0, WHOLE), (float("nan"), HOSTILE[0]), (-3e9, HOSTILE[8]))
    )
    warnings = tuple(Problem("odd", text, "warning", file=text, dialogue=text) for text in HOSTILE)
    meta = {text or "empty": text for text in HOSTILE} | {"note": HOSTILE[0]}
    rows = [(text, Cell(float("nan")), Cell(-3e9, form=",.0f", score=text)) for text in HOSTILE]
    figures = tuple(sheet(text, ("", text, HOSTILE[0]), rows, (text,)) for text in HOSTILE)
    return scored(
        at(0), scores, meta=meta, explanations=explanations, warnings=warnings, figures=figures
    )


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
    """Return a dialogue with a failed hotel booking, which is repaired if `is_won`."""
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
    """Return two systems; the second does not book."""
    return tuple(
        replace(system(name, [conversation(is_won=is_won)]), figures=(COSTS,))
        for name, is_won in (("careful", True), ("hasty", False))
    )
