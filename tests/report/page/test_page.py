"""The page as text: what is in it, what can never be, and that colours can be read."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

import pytest

from mwzeval.report.html import FOLDER, SCRIPTS, panels_of, to_html
from mwzeval.report.systems import kinds_of
from mwzeval.scores.score import Interval, Score, Signature, Words
from tests.report.page.conversations import live_systems
from tests.report.pages import Reader, data_of
from tests.report.systems import HOSTILE, claiming_systems, hostile_system, large_systems, scored


@cache
def hostile_page() -> str:
    return to_html([hostile_system(0), hostile_system(1)], title=HOSTILE[0])


def score(name: str, value: float, **changes: Any) -> Score:
    return replace(Score(name, name, value, 10, Signature.of(name, {"rules": 1})), **changes)


@pytest.mark.integration
def test_a_thousand_items_of_four_systems_fit() -> None:
    page = to_html(large_systems(1000, ("a", "b", "c", "d")), title="large")
    assert len(page.encode()) < 6_500_000


def test_the_data_are_the_explanations() -> None:
    systems = (*live_systems(), *claiming_systems())
    found = {
        item["name"]: item["explanations"] for item in data_of(to_html(systems, title="t"))["items"]
    }
    for place, system in enumerate(systems):
        for expected in system.explanations:
            item = found[expected.unit][place]
            outcomes = {scope: dict(named) for scope, named in item["outcomes"]}
            assert outcomes == expected.outcomes
            assert [tuple(fact) for fact in item["goal"]] == list(expected.goal)
            assert item["reached"] == (expected.reached and list(expected.reached))
            assert [reason["text"] for reason in item["reasons"]] == [
                r.text for r in expected.reasons
            ]
            for (utterances, facts, claims, calls), turn in zip(
                item["turns"], expected.turns, strict=True
            ):
                assert [tuple(utterance) for utterance in utterances] == list(turn.utterances)
                assert [tuple(fact) for fact in facts] == list(turn.facts)
                assert [claim["verdict"] for claim in claims] == [c.verdict for c in turn.claims]
                assert [call["result"] for call in calls] == [c.result for c in turn.calls]
    assert found["sng1"][2] is None


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
    assert all(char.isprintable() or char == "\n" for char in hostile_page().encode().decode())
    assert [item["name"] for item in data_of(hostile_page())["items"]] == list(HOSTILE)


def test_the_policy_lets_nothing_run_but_what_it_knows_by_hash() -> None:
    reader = Reader(hostile_page())
    text = next(a["content"] for tag, a in reader.tags if tag == "meta" and "http-equiv" in a)
    assert text is not None
    policy = {name: rest for name, *rest in (part.split() for part in text.split(";"))}
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    for directive, content in (
        ("script-src", reader.raw["script"][1]),
        ("style-src", reader.raw["style"][0]),
    ):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert policy[directive] == [f"'sha256-{digest}'"]


def test_the_script_has_all_files_and_never_makes_markup_of_text() -> None:
    files = {file.stem: file.read_text(encoding="utf-8") for file in (FOLDER / "script").iterdir()}
    assert sorted(SCRIPTS) == sorted(files)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "</"):
        assert word not in "\n".join(files.values())
    assert "url(" not in (FOLDER / "page.css").read_text(encoding="utf-8")


def test_the_page_has_the_words_of_the_benchmark() -> None:
    systems = [replace(system, warnings=()) for system in large_systems(2)]
    page = to_html(systems, title="t", words=Words("episode", "episodes", "task"))
    assert "episodes" in page
    assert "task" in page
    assert "ialogue" not in "".join(Reader(page).texts)


def test_reasons_are_counted_by_item_with_details_under_their_kind() -> None:
    systems = large_systems(300)
    kinds = kinds_of(systems)
    assert [sum(kind.counts) for kind in kinds if kind.outcome == "found"] == sorted(
        (sum(kind.counts) for kind in kinds if kind.outcome == "found"), reverse=True
    )
    assert any(kind.details for kind in kinds)
    for kind in kinds:
        for shown in (kind, *kind.details):
            assert shown.code.startswith(kind.code)
            for system, count in zip(systems, shown.counts, strict=True):
                assert count == sum(
                    any(
                        reason.outcome == kind.outcome
                        and (reason.code == shown.code or reason.code.startswith(f"{shown.code}:"))
                        for reason in explanation.reasons
                    )
                    for explanation in system.explanations
                )


def test_each_group_of_systems_has_its_row_and_panel() -> None:
    gold = Signature.of("solved", {"rules": 1, "state": "gold"})
    plain = Signature.of("solved", {"rules": 1})
    values = {"a": (50.0, plain), "b": (90.0, gold), "c": (60.0, plain), "d": (80.0, gold)}
    systems = []
    for name, (v, of) in values.items():
        scores = tuple(score("solved", v, signature=of, scope=s) for s in ("total", "lodging"))
        systems.append(scored(name, scores))
    for scopes in (False, True):
        assert [
            (panel.setting, [(at, bar.cell.text) for at, bar in panel.rows[0][2].items()])
            for panel in panels_of(systems, None, scopes=scopes)
        ] == [
            ("no state", [(0, "50.00"), (2, "60.00")]),
            ("state gold", [(1, "90.00"), (3, "80.00")]),
        ]
    page = to_html(systems, title="t")
    assert "solved: a, c (no state); b, d (state gold)" in page
    assert "(the best)" not in page


@pytest.mark.parametrize(
    ("values", "unit", "axis"),
    [
        ((40.0, 93.0), "%", (0, 100)),
        ((-14.0, 13.0), "points", (-20, 20)),
        ((0.3, 0.7), "%", (0, 1)),
        ((0.0, 0.0), "%", (0, 1)),
        ((float("nan"), 2.0), "%", (0, 2)),
        ((float("inf"), -2.0), "%", (-2, 0)),
    ],
)
def test_an_axis_is_round_and_has_zero_on_it(
    values: tuple[float, ...], unit: str, axis: tuple[float, float]
) -> None:
    scores = (score("x", v, scope=f"part {i}", unit=unit) for i, v in enumerate(values))
    [panel] = panels_of([scored("any", scores)], None, scopes=True)
    assert (panel.low, panel.high) == axis
    for _, _, bars in panel.rows:
        assert panel.low <= bars[0].length <= panel.high


def test_an_interval_is_written_and_drawn() -> None:
    ends = Interval(20.0, 60.0, 0.95, "bootstrap")
    scores = (score("x", 40.0, interval=ends), score("x", 40.0, scope="part"))
    page = to_html([scored("any", scores)], title="t")
    assert "20.00 – 60.00" in page
    assert page.count('class="whisker"') == 1


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_has_the_contrast_that_people_need() -> None:
    css = (FOLDER / "page.css").read_text(encoding="utf-8").partition("@media print")[0]
    defined = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    # Colours of texts and of what is behind them; 4.5 is the AA level of WCAG 2.2.
    grounds = ("paper", "surface", "sunk", "differs", "lost-tint")
    pairs = [(text, ground) for text in ("ink", "muted", "lost") for ground in grounds]
    pairs += [(text, ground) for text in ("kept", "focus") for ground in grounds[:3]]
    pairs += [("kept", "differs"), *(("on-badge", f"s{number}") for number in range(6))]
    for place, theme in ((1, "light"), (2, "dark")):
        colours = {names[0]: luminance(names[place]) for names in defined}
        for text, ground in pairs:
            darker, lighter = sorted((colours[text], colours[ground]))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (theme, text, ground)
