"""Strategies for values, states and responses as in systems and goals."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.multiwoz import specification
from tests.places import ROOT, read_json

Tables = dict[str, list[dict[str, Any]]]

ALIASES = sorted(
    alias
    for table in ("NAMES", "NAMES_2023", "TYPES", "FOODS", "TIMES")
    for alias in specification.aliases(getattr(specification, table))
)
ODD_TIMES = (
    *("", " ", "0", "9", "9:5", "09:30", "9:30", "24:00", "25:99", "1130", "930", "12345", "00:00"),
    *("5 pm", "5pm", "12 pm", "12:00pm", "5:15 p.m.", "x pm", "1:2:3 pm", ":30 pm", "5: pm", "pm"),
    *("am", "10 am", "10:15 a.m.", "a.m.", "a.m.am", "by 10:15", "by10:15", "by", "after 9"),
    *("after", "afer 8", "by after 9:00", "around 10:15", "10:15.", "10:15?", "?", ".", "1 0:15"),
    *("1:15 ", "٣:٣٠", "²"),
    *("one o'clock p.m please", "ten o'clock a.m.", "-1:00", "+5 pm", "1_0 pm", "9" * 30 + "pm"),
)
GARBAGE = ("", "?", "none", "no", "yes", "free", "not given", "zzz", "a", "the", "\x00", "é" * 3)


@cache
def sample_tables() -> Tables:
    return read_tables(ROOT / "data" / "sample" / "db")


def read_tables(folder: Any) -> Tables:
    return {domain: read_json(folder / f"{domain}_db.json") for domain in specification.FUZZY}


@st.composite
def mutated(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """Draw a variant of a value: another case, an article, a removed or added letter."""
    value = draw(values)
    kind = draw(st.integers(0, 6))
    position = draw(st.integers(0, max(0, len(value) - 1)))
    return [
        value,
        value.title(),
        f"the {value} ",
        value[:position] + value[position + 1 :],
        value[:position] + draw(st.characters()) + value[position:],
        value[position:],
        value.replace(" and ", draw(st.sampled_from([" & ", "&"]))),
    ][kind]


def anything(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Real values and their mutations, aliases, times, "don't care" values, and garbage."""
    return st.one_of(
        values,
        mutated(values),
        mutated(st.sampled_from(ALIASES)),
        st.sampled_from(ODD_TIMES),
        st.sampled_from(specification.SKIPPED),
        st.sampled_from(GARBAGE),
        st.text(max_size=12),
    )


@st.composite
def queries(draw: st.DrawFn, tables: Tables) -> tuple[str, dict[str, str]]:
    """Draw a domain and constraints, half of which a row satisfies."""
    known = [domain for domain, rows in tables.items() if rows]
    domain = draw(st.sampled_from([*known, "taxi", "bus", "", "Hotel"]))
    if domain not in known:
        slots = st.sampled_from(["name", "area", "leave"])
        return domain, draw(st.dictionaries(slots, st.text(max_size=5), max_size=2))
    rows = tables[domain]
    row = draw(st.sampled_from(rows))
    constraints: dict[str, str] = {}
    columns = [*rows[0], "unknown", "book people"]
    for column in draw(st.lists(st.sampled_from(columns), unique=True, max_size=4)):
        slot = draw(st.sampled_from([column, column.lower(), column.upper(), f" {column}"]))
        own = st.just(str(row.get(column, "?")))
        some = st.sampled_from([str(row.get(column, "?")) for row in rows])
        constraints[slot] = draw(st.one_of(own, own, anything(some)))
    return domain, constraints


DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
SLOTS = ("name", "area", "food", "stars", "arriveBy", "leaveat", "departure", "book day")
state_values = st.sampled_from(["a", "b", "cheap", "dontcare", "10:15", "5 pm", "the junction"])


def states(values: st.SearchStrategy[str] = state_values) -> st.SearchStrategy[Any]:
    slots = st.dictionaries(st.sampled_from(SLOTS), values, max_size=3)
    return st.dictionaries(st.sampled_from(DOMAINS[:5]), slots, max_size=3)


@st.composite
def conversations(draw: st.DrawFn, values: st.SearchStrategy[str] = state_values) -> list[Any]:
    """Draw the states of a dialogue, which set slots or remove domains of the previous state."""
    result: list[dict[str, dict[str, str]]] = []
    for _ in range(draw(st.integers(0, 7))):
        state = {d: dict(slots) for d, slots in result[-1].items()} if result else {}
        step = draw(st.sampled_from(["same", "change", "change", "drop", "new"]))
        if step == "change":
            for domain, slots in draw(states(values)).items():
                state.setdefault(domain, {}).update(slots)
        elif step == "drop" and state:
            del state[draw(st.sampled_from(sorted(state)))]
        elif step == "new":
            state = draw(states(values))
        result.append(state)
    return result


PIECES = (
    ("[unknown]", "[restaurant_nam]", "[", "]", "[]", "[[name]]", "[ name ]", "[a"),
    ("s", "es", "-s", "-es", "-ly", "-", "--", "'s", "'", '"', "...", ".", ",", "!"),
    ("&amp;", "&#91;", "&#93;", "&lt;", "&quot;", "&apos;", "&bar;", "&#124;", "&"),
    ("NAME", "name", "TRAINID", "Phone", "post", "na", "me", "DOTMULTI", "@-@"),
    (" ", " ", "  ", "\t", "\n", "\r", "\x00", "\x01", "\x1f", "\x7f", "\u200b"),
    ("\u00a0", "\u2028", "\u3000", "\ufeff", "\u00ad", "\u0301", "İ", "K", "ſ", "ﬁ"),
    ("日本", "\U0001f35c", "ａ", "Ａ", "5", "5.50", "10:15", "1,000", "%", "£", "|"),
)
placeholders = st.sampled_from(sorted(specification.PLACEHOLDERS)).map(lambda name: f"[{name}]")
response_pieces = st.one_of(
    placeholders,
    placeholders,
    placeholders.map(str.upper),
    *map(st.sampled_from, PIECES),
    st.characters(),
)
responses = st.lists(response_pieces, max_size=14).map("".join)
