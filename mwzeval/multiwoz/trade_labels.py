"""TRADE's corrections of state labels, as tables.

Many papers report joint goal accuracy after these corrections, which its authors wrote for the
noise of MultiWOZ 2.0. They look at the label of one slot and nothing else: first spellings are
mended whatever the slot is, then labels that belong to another slot are mended or taken away.
Odd ones are deliberate: figures depend on them. Source: Wu et al., ACL 2019, and its public code
(`fix_general_label_error`).
"""

from __future__ import annotations

NONE = "none"
DONTCARE = "dontcare"

SPELLINGS = {
    # Types of hotels and attractions.
    **dict.fromkeys(("guesthouse", "guesthouses", "guest"), "guest house"),
    **dict.fromkeys(("mutiple sports", "mutliple sports", "sports"), "multiple sports"),
    **dict.fromkeys(("swimmingpool", "pool"), "swimming pool"),
    **dict.fromkeys(("concerthall", "concert"), "concert hall"),
    "night club": "nightclub",
    **dict.fromkeys(("mus", "musuem"), "museum"),
    **dict.fromkeys(("ol", "architectural"), "architecture"),
    **dict.fromkeys(("colleges", "coll"), "college"),
    "churches": "church",
    # Areas.
    **dict.fromkeys(
        (
            *("center", "center of town", "near city center", "cen", "ce", "town center"),
            *("centre of cambridge", "city center", "scentre", "town centre", "in town"),
            "centre of town",
        ),
        "centre",
    ),
    **dict.fromkeys(("in the north", "north part of town"), "north"),
    **dict.fromkeys(("east side", "east area"), "east"),
    "west part of town": "west",
    "the south": "south",
    "cb30aq": NONE,
    # Prices, days, stars, and what goes with a room.
    **dict.fromkeys(("mode", "moderate -ly", "mo"), "moderate"),
    "next friday": "friday",
    "monda": "monday",
    "free parking": "free",
    "free internet": "yes",
    **dict.fromkeys(("4 star", "4 stars"), "4"),
    "0 star rarting": NONE,
    "3 .": "3",
    # Answers.
    "y": "yes",
    **dict.fromkeys(("n", "does not"), "no"),
    **dict.fromkeys(("any", "does not care"), DONTCARE),
    **dict.fromkeys(("not men", "not", "not mentioned", "not mendtioned", "fun", "art", ""), NONE),
}
"""Label of any slot → what it should have been."""

_AREAS = {"moderate": NONE, "no": "north", "we": "west", "cent": "centre"}
# (odd) "no" is a day that was not meant here, and the north where it is an area.
_DAYS = {"t": NONE, "we": "wednesday", "no": NONE}

MISPLACED: dict[tuple[str, str], dict[str, str]] = {
    ("hotel", "type"): {
        **dict.fromkeys(
            (
                *("nigh", "moderate -ly priced", "bed and breakfast", "centre", "venetian"),
                *("intern", "a cheap -er hotel"),
            ),
            NONE,
        ),
        **dict.fromkeys(("hotel with free parking and free wifi", "4", "3 star hotel"), "hotel"),
    },
    ("hotel", "internet"): {"4": NONE, "free": "yes"},
    ("hotel", "pricerange"): {"2": NONE, "ch": "cheap"},
    ("restaurant", "pricerange"): {"ch": "cheap"},
    ("attraction", "type"): dict.fromkeys(
        ("gastropub", "la raza", "galleria", "gallery", "science", "m"), NONE
    ),
    ("hotel", "area"): _AREAS,
    ("restaurant", "area"): {
        **_AREAS,
        **dict.fromkeys(("stansted airport", "cambridge", "silver street"), NONE),
    },
    ("attraction", "area"): {
        **_AREAS,
        **dict.fromkeys(("norwich", "ely", "museum", "same area as hotel"), NONE),
    },
    ("hotel", "bookday"): _DAYS,
    ("restaurant", "bookday"): _DAYS,
    ("train", "day"): _DAYS,
}
"""(domain, slot) → its label, spelling mended → what it should have been."""


def corrected(domain: str, slot: str, label: str) -> str:
    """Return the corrected label of a slot, in lower case; `none` means that it is not filled."""
    label = SPELLINGS.get(label, label)
    return MISPLACED.get((domain, slot), {}).get(label, label)
