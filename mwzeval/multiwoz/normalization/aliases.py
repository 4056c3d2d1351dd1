"""Spellings that mean the same: names of venues, foods and types, and times of day as `HH:MM`.

To add one, add a line; that changes scores, so it belongs into a new rule set.
"""

from __future__ import annotations

from mwzeval.multiwoz.choices import Rules

SPOKEN_TIMES = {
    "afternoon": "13:00",
    "lunch": "12:00",
    "noon": "12:00",
    "mid-day": "12:00",
    "around lunch time": "12:00",
    "morning": "08:00",
    "seven o'clock tomorrow evening": "07:00",  # (odd) not 19:00
    "three forty five p.m": "15:45",
    "one thirty p.m.": "13:30",
    "six fourty five": "06:45",
    "eight thirty": "08:30",
}
SPOKEN_BEGINNINGS = {"one o'clock p.m": "13:00", "ten o'clock a.m": "10:00"}


def normalize_time(time: str) -> str:
    """Return `HH:MM` where the text can be read as a time, else the text; never raises."""
    time = time.strip().lower()
    if time in SPOKEN_TIMES:
        return SPOKEN_TIMES[time]
    for beginning, spoken in SPOKEN_BEGINNINGS.items():
        if time.startswith(beginning):
            return spoken
    time = _without_preposition(time)
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    for ending in ("pm", "p.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
            afternoon = _after_noon(time)
            if afternoon is not None:
                return afternoon
            break
    if not time:
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    return _with_two_digits(time)


def _without_preposition(time: str) -> str:
    if time.startswith("by"):
        time = time[3:]
    if time.startswith("after"):
        time = time[5:].strip()
    if time.startswith("afer"):  # "afer 14:00"
        time = time[4:].strip()
    return time


def _after_noon(time: str) -> str | None:
    """Return the time twelve hours later, its minutes as they stand; None where that makes none."""
    # (odd) 12 pm becomes 24:00, and "5: 30 pm" becomes "17: 30".
    if time.count(":") == 1:
        hours, minutes = time.split(":")
        # Hours that are no number are bad input, and stay.
        return f"{int(hours) + 12}:{minutes}" if _is_number(hours.strip()) else time
    return f"{int(time) + 12}:00" if _is_number(time) else None


def _with_two_digits(time: str) -> str:
    if _is_number(time):
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = time.replace(" ", "")
        if len(time) == 4 and time[1] == ":":
            return "0" + time
    return time


def _is_number(text: str) -> bool:
    # Python refuses to read numbers of thousands of digits, so those are text.
    return text.isascii() and text.isdigit() and len(text) < 1000


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
