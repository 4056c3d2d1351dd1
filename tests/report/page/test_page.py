"""The page as text: what is in it, what can never be, and that colours can be read."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import mwzeval.report.page.html
from mwzeval.report.page.html import SCRIPTS, PageSystem, Words, to_html
from mwzeval.report.page.reasons import kinds_of
from mwzeval.report.page.score_rows import panels_of, score_rows
from mwzeval.scores.score import Interval, Score, Signature
from tests.report.page.conversations import live_systems
from tests.report.pages import data_of
from tests.report.systems import HOSTILE, claiming_systems, hostile_systems, large_systems

ASSETS = Path(mwzeval.report.page.html.__file__).parent


@cache
def hostile_page() -> str:
    return to_html(hostile_systems(), title=HOSTILE[0])


class Reader(HTMLParser):
    """Tags with their attributes, and the text of the elements that hold no markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.texts: list[str] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside][-1] += data
        else:
            self.texts.append(data)


def policy_of(reader: Reader) -> dict[str, list[str]]:
    text = next(a["content"] for tag, a in reader.tags if tag == "meta" and "http-equiv" in a)
    assert text is not None
    return {name: rest for name, *rest in (part.split() for part in text.split(";"))}


def score(name: str, value: float, **changes: Any) -> Score:
    return replace(Score(name, name, value, 10, Signature.of(name, {"rules": 1})), **changes)


def with_scores(*scores: Score, name: str = "any") -> PageSystem:
    return PageSystem(name, scores, (), (), {})


def test_a_page_needs_a_system() -> None:
    with pytest.raises(ValueError, match="one system"):
        to_html([], title="none")


@pytest.mark.integration
def test_a_thousand_items_of_four_systems_fit() -> None:
    systems = large_systems(1000, ("a", "b", "c", "d"))
    page = to_html(systems, title="large")
    assert len(page.encode()) < 6_500_000
    assert page == to_html(systems, title="large")


def test_the_data_are_the_explanations() -> None:
    systems = (*live_systems(), *claiming_systems())
    items = {
        item["name"]: item["explanations"] for item in data_of(to_html(systems, title="t"))["items"]
    }
    for place, system in enumerate(systems):
        for explanation in system.explanations:
            found = items[explanation.unit][place]
            assert found["outcomes"] == [
                [scope, [list(pair) for pair in named.items()]]
                for scope, named in explanation.outcomes.items()
            ]
            assert list(map(tuple, found["goal"])) == list(explanation.goal)
            assert found["reached"] == (explanation.reached and list(explanation.reached))
            assert [r["text"] for r in found["reasons"]] == [r.text for r in explanation.reasons]
            for turn, view in zip(found["turns"], explanation.turns, strict=True):
                assert list(map(tuple, turn["utterances"])) == list(view.utterances)
                assert list(map(tuple, turn["facts"])) == list(view.facts)
                assert [c["verdict"] for c in turn.get("claims", ())] == [
                    c.verdict for c in view.claims
                ]
                assert [c["result"] for c in turn.get("calls", ())] == [
                    c.result for c in view.calls
                ]
    assert items["sng1"][2] is None


def test_nothing_of_a_hostile_text_becomes_markup() -> None:
    reader = Reader(hostile_page())
    harmless = Reader(to_html(large_systems(2), title="harmless"))
    assert {tag for tag, _ in reader.tags} <= {tag for tag, _ in harmless.tags} | {"p"}
    for _, attributes in reader.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert attributes.get("href", "#") in ("#", "#page-main", "#page-warnings")
        assert "src" not in attributes
    assert len(reader.raw["script"]) == 2
    assert HOSTILE[0] in "".join(reader.texts)


def test_hostile_texts_are_in_the_data_as_they_are() -> None:
    assert [item["name"] for item in data_of(hostile_page())["items"]] == list(HOSTILE)


def test_the_page_is_proper_utf8_without_what_cannot_be_seen() -> None:
    for char in hostile_page().encode().decode():
        assert char.isprintable() or char == "\n"


def test_the_policy_lets_nothing_run_but_what_it_knows_by_hash() -> None:
    reader = Reader(hostile_page())
    policy = policy_of(reader)
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    for directive, content in (
        ("script-src", reader.raw["script"][1]),
        ("style-src", reader.raw["style"][0]),
    ):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert policy[directive] == [f"'sha256-{digest}'"]


def test_the_script_never_makes_markup_of_text() -> None:
    modules = [file.read_text(encoding="utf-8") for file in (ASSETS / "script").iterdir()]
    script = "\n".join(modules)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "</"):
        assert word not in script
    assert "url(" not in (ASSETS / "page.css").read_text(encoding="utf-8")


def test_the_page_has_all_files_of_the_script() -> None:
    assert sorted(SCRIPTS) == sorted(file.stem for file in (ASSETS / "script").iterdir())


def test_the_page_calls_units_what_it_is_told() -> None:
    systems = [replace(system, warnings=()) for system in large_systems(2)]
    page = to_html(systems, title="t", words=Words("episode", "episodes", "task"))
    assert "episodes" in page
    assert "task" in page
    assert "ialogue" not in "".join(Reader(page).texts)


def test_reasons_are_counted_by_unit_with_details_under_their_kind() -> None:
    systems = large_systems(300)
    kinds = kinds_of(systems)
    for place, kind in enumerate(kinds):
        assert kind.counts == tuple(
            sum(
                any(
                    r.outcome == kind.outcome
                    and (r.code == kind.code or r.code.startswith(f"{kind.code}:"))
                    for r in explanation.reasons
                )
                for explanation in system.explanations
            )
            for system in systems
        )
        if kind.parent is not None:
            assert kind.parent < place
            assert kind.code.startswith(f"{kinds[kind.parent].code}:")


def test_each_group_of_systems_has_its_row_and_panel() -> None:
    gold = Signature.of("solved", {"rules": 1, "state": "gold"})
    plain = Signature.of("solved", {"rules": 1})
    values = [(50.0, plain), (90.0, gold), (60.0, plain), (80.0, gold)]
    systems = [
        with_scores(
            score("solved", value, signature=signature),
            score("solved", value, signature=signature, scope="lodging"),
            name=name,
        )
        for name, (value, signature) in zip("abcd", values, strict=True)
    ]
    rows = score_rows(systems, {}, ())
    assert [(row.setting, [cell and cell.value for cell in row.cells]) for row in rows] == [
        ("no state", ["50.00", None, "60.00", None]),
        ("state gold", [None, "90.00", None, "80.00"]),
    ]
    panels = panels_of(systems, {})
    assert [(panel.setting, [at for at, _ in panel.rows[0][2]]) for panel in panels] == [
        ("no state", [0, 2]),
        ("state gold", [1, 3]),
    ]
    page = to_html(systems, title="t")
    assert "solved: A, C (no state); B, D (state gold)" in page
    assert "(the best)" not in page


@pytest.mark.parametrize(
    ("values", "unit", "axis"),
    [
        ((40.0, 93.0), "%", ("0", "100")),
        ((11.2, 45.0), "%", ("0", "100")),
        ((-14.0, 13.0), "points", ("-20", "20")),
        ((11.2, 45.0), "exchanges", ("0", "50")),
        ((0.3, 0.7), "%", ("0", "1")),
        ((-14.0, 3.0), "%", ("-20", "5")),
        ((130.0,), "%", ("0", "200")),
        ((0.0, 0.0), "%", ("0", "1")),
        ((float("nan"), 2.0), "%", ("0", "2")),
        ((float("inf"), -2.0), "%", ("-2", "0")),
    ],
)
def test_an_axis_is_round_and_has_zero_on_it(
    values: tuple[float, ...], unit: str, axis: tuple[str, str]
) -> None:
    scores = (score("x", v, scope=f"part {i}", unit=unit) for i, v in enumerate(values))
    system = with_scores(*scores)
    [panel] = panels_of([system], {})
    assert (panel.low, panel.high) == axis
    for _, _, [(_, cell)] in panel.rows:
        assert cell is not None
        assert 0 <= cell.start <= cell.start + cell.width <= 1000


def test_an_interval_is_said_and_drawn() -> None:
    ends = Interval(20.0, 60.0, 0.95, "bootstrap")
    system = with_scores(score("x", 40.0, interval=ends), score("x", 40.0, scope="part"))
    page = to_html([system], title="t")
    assert "95 % bootstrap" in page
    assert "20.00 – 60.00" in page
    assert page.count('class="whisker"') == 1


def palettes() -> list[tuple[str, dict[str, str]]]:
    css = (ASSETS / "page.css").read_text(encoding="utf-8")
    screen = css[: css.index("@media print")]
    found = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", block))
        for block in re.findall(r":root[^{]*{([^}]*)}", screen)
    ]
    light, dark, chosen = (colours for colours in found if "ink" in colours)
    assert dark == chosen
    return [("light", light), ("dark", dark)]


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""Of linear RGB, as Machado, Oliveira and Fernandes (2009) simulate it at full severity."""
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def dot(row: Sequence[float], column: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(row, column, strict=True))


def as_seen(colour: str) -> tuple[float, float, float]:
    """Return a colour in CIELAB (D65) as people with deuteranopia see it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    seen = [min(1.0, max(0.0, dot(row, linear))) for row in DEUTERANOPIA]
    xyz = [dot(row, seen) for row in TO_XYZ]
    x, y, z = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
        for t in (value / white for value, white in zip(xyz, (0.9505, 1, 1.089), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colours_of_systems_differ_for_people_with_deuteranopia() -> None:
    for theme, colours in palettes():
        seen = [as_seen(colours[f"s{number}"]) for number in range(6)]
        for one, other in combinations(seen, 2):
            assert math.dist(one, other) > 15, theme


@pytest.mark.parametrize(
    ("theme", "colours"), palettes(), ids=lambda v: v if type(v) is str else ""
)
def test_text_has_the_contrast_that_people_need(theme: str, colours: dict[str, str]) -> None:
    # Who stands on what; 4.5 is the AA level of WCAG 2.2.
    grounds = ("paper", "surface", "sunk", "differs", "lost-tint")
    pairs = [(text, ground) for text in ("ink", "muted", "lost") for ground in grounds]
    pairs += [(text, ground) for text in ("kept", "focus") for ground in grounds[:3]]
    pairs += [("kept", "differs"), *(("on-badge", f"s{number}") for number in range(6))]
    for text, ground in pairs:
        lighter, darker = sorted((luminance(colours[text]), luminance(colours[ground])))[::-1]
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (theme, text, ground)
