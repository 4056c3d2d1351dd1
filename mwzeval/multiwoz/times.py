"""Times of day as `HH:MM`, out of the many ways in which systems and annotators write them."""

from __future__ import annotations

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
    time = _in_24_hours(time)
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


def _in_24_hours(time: str) -> str:
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    for ending in ("pm", "p.m."):
        if time.endswith(ending):
            return _after_noon(time.removesuffix(ending).strip())
    return time


def _after_noon(time: str) -> str:
    hours, colon, minutes = time.partition(":")
    if not colon and _is_number(time):
        minutes = "00"
    elif not colon or ":" in minutes or not _is_number(hours.strip()):
        return time
    # (odd) 12 pm becomes 24:00.
    return f"{int(hours) + 12}:{minutes}"


def _with_two_digits(time: str) -> str:
    if _is_number(time):
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = time.replace(" ", "")
        if len(time) == 4 and time[1] == ":":
            return "0" + time
    return time


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 1000
