"""MultiWOZ: from predictions to Inform, Success, BLEU, richness and state tracking."""

from typing import Any

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""

VERBS = {
    "add-slot-domains": (
        "fill active_domains from the domains of placeholders",
        "mwzeval.multiwoz.commands.add_slot_domains",
        "files",
    ),
    "delexicalize": (
        "put placeholders for what responses say in words, by the database",
        "mwzeval.multiwoz.commands.delexicalize",
        "files",
    ),
    "tools-schema": (
        "print the JSON tool schema for systems that call tools",
        "mwzeval.multiwoz.commands.tools_schema",
        "agents",
    ),
    "predict": (
        "let an agent answer the corpus' own users, and write predictions",
        "mwzeval.multiwoz.commands.predict",
        "agents",
    ),
    "tools-serve": (
        "serve the functions of the database over MCP, for agents with a client of their own",
        "mwzeval.multiwoz.commands.tools_serve",
        "agents",
    ),
    "ceiling": (
        "score the gold data: how high the scores of a system can be",
        "mwzeval.multiwoz.commands.ceiling",
        "score",
    ),
    "claims": (
        "list what responses in words claim, and whether it is so",
        "mwzeval.multiwoz.commands.claims",
        "score",
    ),
    "dst-errors": (
        "count how often each slot of the state is missing, spurious or wrong",
        "mwzeval.multiwoz.commands.dst_errors",
        "score",
    ),
    "judge": (
        "score live dialogues like ConvLab-2, with prices, or without faults of the user",
        "mwzeval.multiwoz.commands.judge",
        "agents",
    ),
    "shards": (
        "score predictions in many files as one input, here or on a Dask cluster",
        "mwzeval.multiwoz.commands.shards",
        "score",
    ),
    "baseline": (
        "run a baseline system over a fold and write its predictions",
        "mwzeval.multiwoz.commands.baseline",
        "files",
    ),
}
"""Verbs that only this benchmark has: what each is for, its module, and its group."""

_FIELDS = frozenset({"response", "active_domains"})


def recognises(raw: Any) -> bool:
    """Tell whether a JSON value looks like predictions in the own format, by its first turn."""
    turns = next(iter(raw.values()), None) if isinstance(raw, dict) else None
    first = turns[0] if isinstance(turns, list) and turns else None
    return isinstance(first, dict) and first.keys() >= _FIELDS
