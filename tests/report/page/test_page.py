"""The page as text: its content, what it must not contain, and `mwzeval report`."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.reasons import kinds
from mwzeval.report.html import FOLDER, SCRIPTS, panels_of, to_html
from mwzeval.report.systems import kinds_of
from mwzeval.scores.score import Interval, Score, Signature, Words
from tests.command_lines import Run
from tests.places import GOOD, sample_file, sample_predictions, without, write_json
from tests.report.pages import Reader, data_of, readable
from tests.report.systems import (
    HOSTILE,
    claiming_systems,
    hostile_system,
    large_systems,
    live_systems,
    scored,
)
from tests.tables import present


@cache
def hostile_page() -> str:
    return to_html([hostile_system(0), hostile_system(1)], title=HOSTILE[0])


def score(name: str, value: float, **changes: Any) -> Score:
    return replace(Score(name, name, value, 10, Signature.of(name, {"rules": 1})), **changes)


@pytest.mark.integration
def test_a_page_of_four_systems_and_1000_items_stays_below_the_size_limit() -> None:
    page = to_html(large_systems(1000, ("a", "b", "c", "d")), title="large")
    assert len(page.encode()) < 6_500_000


def test_page_data_contain_the_explanations() -> None:
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


def test_hostile_text_never_becomes_markup() -> None:
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


def test_the_content_policy_allows_only_hashed_scripts_and_styles() -> None:
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


def test_the_script_includes_all_files_and_never_writes_markup() -> None:
    files = {file.stem: file.read_text(encoding="utf-8") for file in (FOLDER / "script").iterdir()}
    assert sorted(SCRIPTS) == sorted(files)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "</"):
        assert word not in "\n".join(files.values())
    assert "url(" not in (FOLDER / "page.css").read_text(encoding="utf-8")


def test_the_page_uses_the_vocabulary_of_the_benchmark() -> None:
    systems = [replace(system, warnings=()) for system in large_systems(2)]
    page = to_html(systems, title="t", words=Words("episode", "episodes", "task"))
    assert "episodes" in page
    assert "task" in page
    assert "ialogue" not in "".join(Reader(page).texts)


def test_reasons_are_counted_per_item_and_grouped_by_kind() -> None:
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


def test_each_group_of_systems_has_its_own_row_and_panel() -> None:
    gold = Signature.of("solved", {"rules": 1, "state": "gold"})
    plain = Signature.of("solved", {"rules": 1})
    values = {"a": (50.0, plain), "b": (90.0, gold), "c": (60.0, plain), "d": (80.0, gold)}
    systems = []
    for name, (v, sig) in values.items():
        scores = tuple(score("solved", v, signature=sig, scope=s) for s in ("total", "lodging"))
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
def test_axes_have_round_ends_and_include_zero(
    values: tuple[float, ...], unit: str, axis: tuple[float, float]
) -> None:
    scores = (score("x", v, scope=f"part {i}", unit=unit) for i, v in enumerate(values))
    [panel] = panels_of([scored("any", scores)], None, scopes=True)
    assert (panel.low, panel.high) == axis
    for _, _, bars in panel.rows:
        assert panel.low <= bars[0].length <= panel.high


def test_intervals_are_printed_and_drawn() -> None:
    ends = Interval(20.0, 60.0, 0.95, "bootstrap")
    scores = (score("x", 40.0, interval=ends), score("x", 40.0, scope="part"))
    page = to_html([scored("any", scores)], title="t")
    assert "20.00 – 60.00" in page
    assert page.count('class="whisker"') == 1


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_colours_have_sufficient_contrast() -> None:
    css = (FOLDER / "page.css").read_text(encoding="utf-8").partition("@media print")[0]
    defined = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    # Pairs of text colour and background colour; level AA of WCAG 2.2 requires a contrast of 4.5.
    grounds = ("paper", "surface", "sunk", "differs", "lost-tint")
    pairs = [(text, ground) for text in ("ink", "muted", "lost") for ground in grounds]
    pairs += [(text, ground) for text in ("kept", "focus") for ground in grounds[:3]]
    pairs += [("kept", "differs"), *(("on-badge", f"s{number}") for number in range(6))]
    for place, theme in ((1, "light"), (2, "dark")):
        colours = {names[0]: luminance(names[place]) for names in defined}
        for text, ground in pairs:
            darker, lighter = sorted((colours[text], colours[ground]))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (theme, text, ground)


WEAK, NO_PHONE, POLICY = map(sample_file, ("weak-tracker", "no-phone", "policy-only"))
Reported = Callable[..., str]


@pytest.fixture
def reported(run: Run, elsewhere: Path) -> Reported:
    """Return the page that `mwzeval report` writes."""

    def report(*arguments: str) -> str:
        code, out, err = run("report", *arguments, "-o", "page.html")
        assert (code, out) == (0, "")
        assert "page.html" in err
        return Path("page.html").read_text(encoding="utf-8")

    return report


def test_a_page_has_the_scores_with_intervals_and_all_dialogues(reported: Reported) -> None:
    page = reported(GOOD, WEAK)
    assert "<title>sample-good, sample-weak-tracker · sample test</title>" in page
    plain = unescape(page.replace("<wbr>", ""))
    scores = Evaluator(True, True, True, True, confidence=0.95).evaluate(sample_predictions("good"))
    for score in scores.scores:
        assert score.label in page
        assert f"{score.value:.{score.places}f}" in page
        assert str(score.signature) in plain
        assert f"{present(score.interval).low:.{score.places}f} – " in page
    data = data_of(page)
    assert "missing-constraint:area" in [kind["code"] for kind in data["kinds"]]
    assert [item["name"] for item in data["items"]] == list(sample_predictions("good"))
    assert reported(GOOD, WEAK) == page, "the page is reproducible"


def test_each_file_is_scored_with_the_metrics_its_content_allows(reported: Reported) -> None:
    states = write_json(Path("states.json"), without(sample_predictions("good"), "response"))
    page = reported(states)
    assert "Joint accuracy" in page
    assert "Inform</" not in page
    assert {kind["outcome"] for kind in data_of(page)["kinds"]} == {"dst.joint_accuracy"}
    assert '"gold state"' in readable(page)
    assert "Joint accuracy" not in reported(POLICY)
    page = reported(states, POLICY)
    assert "Joint accuracy" in page
    assert "BLEU (sample)" in page


def test_problems_of_all_files_are_reported_together_and_old_pages_kept(
    elsewhere: Path, run: Run
) -> None:
    Path("page.html").write_text("old")
    write_json(Path("many.json"), {f"smp9{n:03}": [{"response": "x"}] for n in range(50)})
    write_json(Path("other.json"), {"smp0021": [{"response": 3}]})
    files = ("many.json", GOOD, "other.json", "missing.json")
    for given, output, named in (
        (files, "page.html", ("smp9000", "(50 ", "other.json", "missing.json")),
        (("-", "-"), "page.html", ("error: ",)),
        ((GOOD,), str(elsewhere), (str(elsewhere),)),
    ):
        code, _, shown = run("report", *given, "-o", output)
        assert code == 2
        assert all(text in shown for text in named)
        assert Path("page.html").read_text() == "old"


def test_incomparable_systems_are_grouped_separately_in_the_report(run: Run) -> None:
    options = ("-o", "-", "--samples", "20", "--title", "mine & yours")
    code, page, _ = run("report", GOOD, WEAK, POLICY, *options)
    assert code == 0
    assert "<title>mine &amp; yours</title>" in page
    assert (
        "sample-good (state predicted, domains predicted); sample-weak-tracker (state predicted, "
        "domains estimated); sample-policy-only (state gold, domains predicted)."
    ) in page
    assert page.count('<th scope="row">Inform <span class="careful">') == 3
    assert '<th scope="row">BLEU (sample)</th>' in page


def texts_of(html: str, tag: str) -> list[str]:
    """Return the text of each element with this tag; such elements are not nested."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]*>", " ", inner)).split()) for inner in found]


def test_systems_without_common_dialogues_are_not_compared(reported: Reported) -> None:
    dialogues = list(sample_predictions("good").items())
    halves = [write_json(Path(f"{n}.json"), dict(dialogues[n::2])) for n in (0, 1)]
    page = reported(*halves, "--samples", "20")
    assert "&#34;1&#34; has" in page
    assert "(the best)" not in page


@pytest.mark.integration
def test_the_page_starts_with_the_verdict_and_folds_secondary_scores(
    reported: Reported, run: Run
) -> None:
    page = reported(GOOD, NO_PHONE)
    (sentence,) = json.loads(run("compare", GOOD, NO_PHONE, "-f", "json").out)["verdict"]
    lead = page[: page.index('id="page-scores"')]
    assert unescape(*re.findall('<p class="finding">(.*?)</p>', lead)) == sentence
    first, more = re.findall('<table class="scores sortable".*?</table>', page, re.DOTALL)
    headings = [text.split()[0] for text in texts_of(first, "th")[3:]]
    assert headings == ["Inform", "Success", "BLEU", "Combined"]
    assert "Distinct trigrams" in more
    assert page.index('<details class="more-scores">') < page.index(more)
    assert "Holm" not in page, "a single comparison has no correction"
    assert "Holm" in reported(GOOD, NO_PHONE, WEAK)


def test_only_warnings_that_affect_scores_are_at_the_top(reported: Reported) -> None:
    turns = sample_predictions("good")
    for turn in next(iter(turns.values())):
        turn["note"] = "x"
    page = reported(write_json(Path("noted.json"), turns), POLICY)
    lead = page[: page.index('id="page-scores"')]
    (alert,) = re.findall('<p class="note alert">(.*?)</p>', lead)
    assert "gold" in alert
    assert "note" not in re.sub("<[^>]*>", "", alert)
    assert "noted.json" in page[page.index('id="page-warnings"') :]


def test_reason_counts_include_the_meaning_of_each_reason(reported: Reported) -> None:
    page = reported(NO_PHONE)
    counted = page[page.index('id="page-reasons"') : page.index('id="page-warnings"')]
    codes = re.findall('<span class="reason-code">([a-z-]+)<span', counted)
    meanings = re.findall('<span class="reason-meaning">(.*?)</span>', counted)
    reasons = {code: kind.meaning for code, kind in kinds().items()}
    assert codes
    assert [unescape(text) for text in meanings] == [reasons[code] for code in codes]
