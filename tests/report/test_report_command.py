"""`mwzeval report`: files in, one page out."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.reasons import kinds
from tests.places import ROOT, read_json, sample_predictions
from tests.report.pages import data_of, readable

GOOD = str(ROOT / "predictions" / "sample-good.json")
WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
NO_PHONE = str(ROOT / "predictions" / "sample-no-phone.json")
POLICY = str(ROOT / "predictions" / "sample-policy-only.json")


def reported(folder: Path, *arguments: str) -> str:
    page = folder / "page.html"
    assert main(["report", *arguments, "-o", str(page)]) == 0
    return page.read_text(encoding="utf-8")


def written(folder: Path, name: str, predictions: object) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(predictions), encoding="utf-8")
    return str(path)


def without(key: str) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{k: v for k, v in turn.items() if k != key} for turn in turns]
        for name, turns in sample_predictions("good").items()
    }


def test_a_page_has_the_scores_with_intervals_and_all_dialogues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = reported(tmp_path, GOOD, WEAK)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert str(tmp_path / "page.html") in shown.err
    assert "<title>sample-good, sample-weak-tracker · sample test</title>" in page
    plain = unescape(page.replace("<wbr>", ""))
    scores = Evaluator(True, True, True, True, confidence=0.95).evaluate(sample_predictions("good"))
    for score in scores.scores:
        assert score.label in page
        assert f"{score.value:.{score.places}f}" in page
        assert score.interval is not None
        assert str(score.signature) in plain
        assert f"{score.interval.low:.{score.places}f} – " in page
    data = data_of(page)
    assert "missing-constraint:area" in [kind["code"] for kind in data["kinds"]]
    assert [item["name"] for item in data["items"]] == list(sample_predictions("good"))
    assert reported(tmp_path, GOOD, WEAK) == page, "it is the same whenever it is made"


def test_each_file_is_scored_with_the_metrics_it_allows(tmp_path: Path) -> None:
    states = written(tmp_path, "states.json", without("response"))
    page = reported(tmp_path, states)
    assert "Joint accuracy" in page
    assert "Inform</" not in page
    data = data_of(page)
    assert {kind["outcome"] for kind in data["kinds"]} == {"dst.joint_accuracy"}
    assert '"gold state"' in readable(page)
    assert "Joint accuracy" not in reported(tmp_path, POLICY)
    page = reported(tmp_path, states, POLICY)
    assert "Joint accuracy" in page
    assert "BLEU (sample)" in page


def test_the_problems_of_all_files_come_together_and_an_old_page_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    many = written(tmp_path, "many.json", {f"smp9{n:03}": [{"response": "x"}] for n in range(50)})
    other = written(tmp_path, "other.json", {"smp0021": [{"response": 3}]})
    missing = str(tmp_path / "missing.json")
    for files, output, named in (
        ((many, GOOD, other, missing), page, ("smp9000", "(50 ", "other.json", "missing.json")),
        (("-", "-"), page, ("error: ",)),
        ((GOOD,), tmp_path, (str(tmp_path),)),
    ):
        assert main(["report", *files, "-o", str(output)]) == 2
        shown = capsys.readouterr().err
        assert all(text in shown for text in named)
        assert page.read_text() == "old"


def test_systems_that_cannot_be_compared_are_told_apart_on_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["-o", "-", "--samples", "20", "--title", "mine & yours"]
    assert main(["report", GOOD, WEAK, POLICY, *arguments]) == 0
    page = capsys.readouterr().out
    assert "<title>mine &amp; yours</title>" in page
    assert (
        "sample-good (state predicted, domains predicted); sample-weak-tracker (state predicted, "
        "domains estimated); sample-policy-only (state gold, domains predicted)."
    ) in page
    assert page.count('<th scope="row">Inform <span class="careful">') == 3
    assert '<th scope="row">BLEU (sample)</th>' in page


def texts_of(html: str, tag: str) -> list[str]:
    """Return the text of each element with this tag, which has no other one of the kind in it."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]*>", " ", inner)).split()) for inner in found]


def test_systems_without_a_dialogue_in_common_are_not_compared(tmp_path: Path) -> None:
    predictions = sample_predictions("good")
    names = list(predictions)
    halves = [
        written(tmp_path, f"{half}.json", {name: predictions[name] for name in names[half::2]})
        for half in (0, 1)
    ]
    page = reported(tmp_path, *halves, "--samples", "20")
    assert "&#34;1&#34; has" in page
    assert "(the best)" not in page


@pytest.mark.integration
def test_the_page_begins_with_the_verdict_of_compare_and_folds_other_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = reported(tmp_path, GOOD, NO_PHONE)
    capsys.readouterr()
    assert main(["compare", GOOD, NO_PHONE, "-f", "json"]) == 0
    (sentence,) = json.loads(capsys.readouterr().out)["verdict"]
    lead = page[: page.index('id="page-scores"')]
    assert unescape(*re.findall('<p class="finding">(.*?)</p>', lead)) == sentence
    first, more = re.findall('<table class="scores sortable".*?</table>', page, re.DOTALL)
    assert [text.split()[0] for text in texts_of(first, "th")[3:]] == [
        *("Inform", "Success", "BLEU", "Combined")
    ]
    assert "Distinct trigrams" in more
    assert page.index('<details class="more-scores">') < page.index(more)
    assert "Holm" not in page, "one comparison is not corrected"
    assert "Holm" in reported(tmp_path, GOOD, NO_PHONE, WEAK)


def test_only_warnings_that_bear_on_scores_are_at_the_top(tmp_path: Path) -> None:
    turns = read_json(Path(GOOD))
    for turn in next(iter(turns.values())):
        turn["note"] = "x"
    page = reported(tmp_path, written(tmp_path, "noted.json", turns), POLICY)
    lead = page[: page.index('id="page-scores"')]
    alerts = re.findall('<p class="note alert">(.*?)</p>', lead)
    assert len(alerts) == 1
    assert "gold" in alerts[0]
    assert "note" not in "".join(re.sub("<[^>]*>", "", text) for text in alerts)
    assert "noted.json" in page[page.index('id="page-warnings"') :]


def test_reasons_are_explained_where_they_are_counted(tmp_path: Path) -> None:
    page = reported(tmp_path, NO_PHONE)
    counted = page[page.index('id="page-reasons"') : page.index('id="page-warnings"')]
    codes = re.findall('<span class="reason-code">([a-z-]+)<span', counted)
    meanings = re.findall('<span class="reason-meaning">(.*?)</span>', counted)
    reasons = {code: kind.meaning for code, kind in kinds().items()}
    assert codes
    assert [unescape(text) for text in meanings] == [reasons[code] for code in codes]
