"""Spellings of names, foods and types that mean the same venue or value, as exact matches.

To add one, add a line; that changes scores, so it belongs into a new rule set.
"""

from __future__ import annotations

from mwzeval.multiwoz.choices import Rules

NAME_ALIASES_2021 = {
    "hotel du vin bistro": "hotel du vin and bistro",
    "the river bar and grill": "the river bar steakhouse and grill",
    "nando's": "nandos",
    "city center b and b": "city center north b and b",
    "acorn house": "acorn guest house",
    "caffee uno": "caffe uno",
    "cafe uno": "caffe uno",
    "rosa's": "rosas bed and breakfast",
    "restaurant called two two": "restaurant two two",
    "restaurant 2 two": "restaurant two two",
    "restaurant two 2": "restaurant two two",
    "restaurant 2 2": "restaurant two two",
    "restaurant 1 7": "restaurant one seven",
    "restaurant 17": "restaurant one seven",
    "lime house": "limehouse",
    "cityrooms": "cityroomz",
    "whale of time": "whale of a time",
    "huntingdon hotel": "huntingdon marriott hotel",
    "holiday inn exlpress, cambridge": "express by holiday inn cambridge",
    "university hotel": "university arms hotel",
    "arbury guesthouse and lodge": "arbury lodge guesthouse",
    "arbury guesthouse": "arbury lodge guesthouse",
    "bridge house": "bridge guest house",
    "nandos in the city centre": "nandos city centre",
    "broughton gallery": "broughton house gallery",
    "scudamores punt co": "scudamores punting co",
    "cambridge botanic gardens": "cambridge university botanic gardens",
    "the botanical gardens at cambridge university": "cambridge university botanic gardens",
    "the junction": "junction theatre",
    "trinity street college": "trinity college",
    "christ college": "christ's college",
    "christs": "christ's college",
    "history of science museum": "whipple museum of the history of science",
    "parkside pools": "parkside swimming pool",
    "cafe jello museum": "cafe jello gallery",
}
NAME_ALIASES: dict[Rules, dict[str, str]] = {
    "2021": NAME_ALIASES_2021,
    "2023": NAME_ALIASES_2021
    | {
        "a and b guest house": "a and b guesthouse",
        "acorn guesthouse": "acorn guest house",
    },
}

TYPE_ALIASES = {
    "swimming pool": "swimmingpool",
    "mutliple sports": "multiple sports",
    "night club": "nightclub",
    "guest house": "guesthouse",
}

FOOD_ALIASES = {
    "eriterean": "mediterranean",
    "brazilian": "portuguese",
    "sea food": "seafood",
    "portugese": "portuguese",
    "modern american": "north american",
    "americas": "north american",
    "intalian": "italian",
    "italain": "italian",
    "asian or oriental": "asian",
    "english": "british",
    "brutish": "british",
    "bristish": "british",
    "australasian": "australian",
    "gastropod": "gastropub",
    "europeon": "european",
}
