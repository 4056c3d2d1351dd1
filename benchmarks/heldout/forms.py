"""How values of the database are spelled in the held-out sentences: one small function a form.

A form takes the value as it is so far and returns it spelled otherwise, or None where it does not
fit the value ("half past" fits few times). Forms are written here without a look at how the package
reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Form = Callable[[str], "str | None"]

UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TEENS = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen")
NUMBERS = (*UNITS, *TEENS, "nineteen", "twenty")
PAST = {5: "five", 10: "ten", 15: "quarter", 20: "twenty", 25: "twenty-five", 30: "half"}
PRICES = {
    "cheap": ("inexpensive", "low-cost", "£"),
    "moderate": ("mid-range", "mid-priced", "££"),
    "expensive": ("upmarket", "high-end", "£££"),
}
TYPES = {
    "guesthouse": "guest house",
    "swimmingpool": "swimming pool",
    "concerthall": "concert hall",
    "multiple sports": None,
    "architecture": None,
    "entertainment": None,
    "boat": None,
}
TAIL = re.compile(r",? (City Centre|Chesterton|Cherry Hinton|Fen Ditton|Newnham)$", re.IGNORECASE)


def title(text: str) -> str:
    """Capitalise every word, not what follows an apostrophe."""
    return re.sub(r"[A-Za-z]+(?:['’][a-z]+)?", lambda word: word[0][0].upper() + word[0][1:], text)


def digits(text: str) -> str:
    """Return the digits of a text."""
    return re.sub(r"\D", "", text)


def _phone(spelling: str) -> Form:
    """Return a form that puts a number of eleven digits into groups: `A` area code, `n` rest."""

    def spelled(text: str) -> str | None:
        number = digits(text)
        if len(number) != 11:
            return None
        rest = iter(number[5:])
        code = spelling.replace("AAAAA", number[:5]).replace("AAAA", number[1:5])
        return "".join(next(rest) if char == "n" else char for char in code)

    return spelled


def _hour(text: str) -> tuple[int, int]:
    hours, minutes = map(int, text.split(":"))
    return hours % 24, minutes


def _clock(spelling: str) -> Form:
    """Return a form of a time: `H` and `h` hours of 24 and 12, `M` minutes, `p` am or pm."""

    def spelled(text: str) -> str:
        hours, minutes = _hour(text)
        half = "am" if hours < 12 else "pm"
        fields = {"H": f"{hours:02}", "h": str((hours - 1) % 12 + 1), "M": f"{minutes:02}"}
        fields |= {"p": half, "P": half.upper(), "d": f"{half[0]}.m."}
        return "".join(fields.get(char, char) for char in spelling)

    return spelled


def _oclock(text: str) -> str | None:
    hours, minutes = _hour(text)
    return None if minutes else f"{(hours - 1) % 12 + 1} {'am' if hours < 12 else 'pm'}"


def _spoken_time(text: str) -> str | None:
    hours, minutes = _hour(text)
    if minutes % 5 or not minutes:
        return None
    past = minutes <= 30
    named = NUMBERS[((hours if past else hours + 1) - 1) % 12 + 1]
    part = "morning" if hours < 12 else "afternoon" if hours < 18 else "evening"
    if hours in (11, 23) and not past:
        return None
    word = PAST[minutes if past else 60 - minutes]
    return f"{word} {'past' if past else 'to'} {named} in the {part}"


def money(text: str) -> float:
    """Return the pounds of a price or fee of the database."""
    return float(text.removeprefix("£").removesuffix("pounds").removesuffix("pound"))


def _money(spelling: str) -> Form:
    def spelled(text: str) -> str | None:
        return None if text == "free" else spelling.format(money(text))

    return spelled


def _whole_pounds(text: str) -> str | None:
    return f"£{money(text):.0f}" if text != "free" and money(text).is_integer() else None


def _pounds_and_pence(text: str) -> str | None:
    pounds, pence = divmod(round(100 * money(text)), 100)
    return f"{pounds} pounds and {pence} pence" if pence and pounds > 1 else None


def _times(people: int) -> Form:
    return lambda text: f"{people * money(text):.2f}"


def _long(spelling: str) -> Form:
    def spelled(text: str) -> str | None:
        hours, minutes = divmod(int(text.split()[0]), 60)
        return spelling.format(hours, minutes) if hours == 1 and minutes else None

    return spelled


def _minutes(spelling: str) -> Form:
    return lambda text: spelling.format(text.split()[0])


def _stars(spelling: str) -> Form:
    return lambda text: spelling.format(text, NUMBERS[int(text)])


def _price_word(place: int) -> Form:
    return lambda text: PRICES[text][place]


def _opening(spelling: str) -> Form:
    def spelled(text: str) -> str | None:
        clock = r"(\d+)(?::00)? ([ap])\.m\.?"
        found = re.fullmatch(rf"it opens (?:normally )?daily from {clock} to {clock}\D*", text)
        return found and spelling.format(*found.groups())

    return spelled


def _street_short(text: str) -> str | None:
    short = re.sub(r"\bRoad\b", "Rd", re.sub(r"\bStreet\b", "St", title(text)))
    return None if short == title(text) else short


def _without_tail(text: str) -> str | None:
    street, tails = TAIL.subn("", title(text))
    return street if tails and re.match(r"\d", street) else None


def _comma_before_tail(text: str) -> str | None:
    street, tails = TAIL.subn(r", \1", title(text))
    return street if tails else None


def _comma_after_number(text: str) -> str | None:
    found = re.fullmatch(r"(\d+[a-z]?) (\w.*)", title(text))
    return found and f"{found[1]}, {found[2]}"


def _after_number(text: str) -> str | None:
    found = re.fullmatch(r"(\d+) (\D+)", title(text))
    return found and f"number {found[1]} on {found[2]}"


def _in_words(text: str) -> str | None:
    return NUMBERS[int(text)] if int(text) < len(NUMBERS) else None


FORMS: Mapping[str, Form] = {
    "": str,
    "raw": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": title,
    "bold": lambda text: f"**{text}**",
    "bold2": lambda text: f"__{text}__",
    "italic": lambda text: f"*{text}*",
    "italic2": lambda text: f"_{text}_",
    "bolditalic": lambda text: f"***{text}***",
    "code": lambda text: f"`{text}`",
    "quoted": lambda text: f'"{text}"',
    "curly": lambda text: f"“{text}”",
    "single": lambda text: f"'{text}'",
    "link": lambda text: f"[{text}](https://www.example.org/{len(text)})",
    "html": lambda text: f"<b>{text}</b>",
    "hard": lambda text: text.replace(" ", "\u00a0"),
    "amp": lambda text: text.replace(" And ", " & ") if " And " in text else None,
    "entity": lambda text: text.replace(" And ", " &amp; ") if " And " in text else None,
    "apostrophe": lambda text: text.replace("'", "’") if "'" in text else None,
    "nothe": lambda text: text[4:] if text.lower().startswith("the ") else None,
    "first": lambda text: text[:1].upper() + text[1:],
    # phone
    "five": _phone("AAAAA nnnnnn"),
    "three": _phone("AAAAA nnn nnn"),
    "pairs": _phone("AAAAA nn nn nn"),
    "round": _phone("(AAAAA) nnn nnn"),
    "hyphen": _phone("AAAAA-nnn-nnn"),
    "dots": _phone("AAAAA.nnnnnn"),
    "world": _phone("+44AAAAnnnnnn"),
    "worldspaced": _phone("+44 AAAA nnn nnn"),
    "worldzero": _phone("+44 (0)AAAA nnnnnn"),
    "doublezero": _phone("0044 AAAA nnnnnn"),
    "tel": lambda text: f"[{_phone('AAAAA nnnnnn')(text)}](tel:{text})",
    # postcode
    "pc": lambda text: f"{text[:3]} {text[3:]}".upper() if len(text) == 6 else None,
    "pcdash": lambda text: f"{text[:3]}-{text[3:]}".upper() if len(text) == 6 else None,
    "pclower": lambda text: f"{text[:3]} {text[3:]}" if len(text) == 6 else None,
    # times
    "pm": _clock("h:Mp"),
    "pmspace": _clock("h:M p"),
    "PM": _clock("h:M P"),
    "pmdots": _clock("h:M d"),
    "dotpm": _clock("h.Mp"),
    "dot": _clock("H.M"),
    "hrs": lambda text: f"{_clock('HM')(text)} hrs",
    "joined": _clock("HM"),
    "oclock": _oclock,
    "said": _spoken_time,
    # money
    "£": _money("£{:.2f}"),
    "£whole": _whole_pounds,
    "£space": _money("£ {:.2f}"),
    "gbp": _money("GBP {:.2f}"),
    "gbpafter": _money("{:.2f} GBP"),
    "pounds": _money("{:.2f} pounds"),
    "quid": _money("{:g} quid"),
    "few": _money("{:g} pounds"),
    "pence": _pounds_and_pence,
    **{f"x{people}": _times(people) for people in range(2, 9)},
    # durations
    "min": _minutes("{} min"),
    "mins": _minutes("{} mins"),
    "minutes": _minutes("{} minutes"),
    "minute": _minutes("{}-minute"),
    "m": _minutes("{}m"),
    "hour": _long("{} hour and {} minutes"),
    "hr": _long("{} hr {} min"),
    "hm": _long("{}h{:02}"),
    "anhour": _long("an hour and {1} minutes"),
    # days, stars, words
    "abbr": lambda text: title(text)[:3],
    "star": _stars("{}-star"),
    "starspace": _stars("{} star"),
    "starword": _stars("{1}-star"),
    "starwords": _stars("{1} stars"),
    "stars": _stars("{} stars"),
    "outof": _stars("{} out of 5"),
    "slash": _stars("{}/5 stars"),
    "black": lambda text: "★" * int(text),
    "blackwhite": lambda text: "★" * int(text) + "☆" * (5 - int(text)),
    "emoji": lambda text: "⭐" * int(text),
    "onestar": lambda text: f"{text}★",
    "spoken": lambda text: TYPES.get(text, text),
    "bnb": lambda text: {"guesthouse": "B&B"}.get(text),
    "bedbreakfast": lambda text: {"guesthouse": "bed and breakfast"}.get(text),
    "club": lambda text: {"nightclub": "night club"}.get(text),
    "ern": lambda text: "central" if text == "centre" else f"{text}ern",
    "part": lambda text: "city centre" if text == "centre" else f"{text} of the city",
    "ly": lambda text: f"{text}ly",
    "price0": _price_word(0),
    "price1": _price_word(1),
    "price2": _price_word(2),
    "numeral": str,
    "inwords": _in_words,
    # addresses, opening hours
    "short": _street_short,
    "untailed": _without_tail,
    "comma": _comma_before_tail,
    "commanumber": _comma_after_number,
    "number": _after_number,
    "tight": lambda text: re.sub(r"(\d) ?- ?(\d)", r"\1–\2", text) if " - " in text else None,
    "open": _opening("{0}{1}m to {2}{3}m"),
    "opendots": _opening("{0} {1}.m. until {2} {3}.m."),
    "openrange": _opening("{0}{1}m–{2}{3}m"),
}


def spelled(value: str, forms: tuple[str, ...]) -> str | None:
    """Return a value after all forms, one after the other; None where one does not fit."""
    text: str | None = value
    for form in forms:
        text = None if text is None else FORMS[form](text)
    return text
