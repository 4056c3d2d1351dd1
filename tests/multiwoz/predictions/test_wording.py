"""Only known placeholders, held against words by their number, make responses delexicalised."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.census import Wording
from mwzeval.multiwoz.words.numbers import has_identifier
from tests.parts import Predictions, cut
from tests.places import SAMPLE_SYSTEMS, read_json, sample_predictions, shared
from tests.work import calls

LINK = " See [our website](https://www.example.org)"
PUBLISHED = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")


@pytest.mark.parametrize(
    ("responses", "counts", "lexicalized"),
    [
        ([], (0, 0, 0), True),
        (["hello"], (0, 0, 0), True),
        (["[hotel_name]"], (1, 0, 0), False),
        (["[Hotel_Name]s", "[value_phone]", "call 01223456789"], (2, 1, 1), True),
        (["[phone]", "[train_id]", "cb12ab"], (2, 2, 1), False),
        (["it is on [our website](https://example.org)"], (0, 0, 0), True),
        (["[Phone](tel:01223456789)"], (0, 0, 1), True),
        (["[1] [x] [hotl_name] [] [ name]"], (0, 0, 0), True),
        (["[phone] is 01223456789"], (1, 1, 0), False),
        (["your reference is A1B2C3D4", "[ref]", "TR1234", "[name]"], (2, 1, 2), True),
    ],
)
def test_what_speaks_for_either(
    responses: list[str], counts: tuple[int, int, int], lexicalized: bool
) -> None:
    wording = Wording.of(responses)
    assert wording == counts
    assert wording.lexicalized is lexicalized


def said(turns: list[dict[str, Any]]) -> list[str]:
    return [turn["response"] for turn in turns]


def scored(predictions: Predictions, **options: Any) -> dict[str, Any]:
    return Evaluator(success=True, corpus="sample", **options).evaluate(predictions).to_dict()


@pytest.mark.parametrize(
    ("turn", "bracket"),
    [(0, LINK), (-1, " [name]"), (0, " [odd]"), (-1, " [phone](tel:01632960123)")],
)
def test_a_bracket_in_one_response_changes_nothing(turn: int, bracket: str) -> None:
    predictions = sample_predictions("lexicalized")
    expected = scored(predictions)
    predictions["smp0021"][turn]["response"] += bracket
    found = scored(predictions)
    assert found["success"]["inform"] == expected["success"]["inform"]
    assert found["meta"]["responses"]["taken_as"] == "lexicalized"
    assert {w["kind"] for w in found["meta"]["warnings"]} <= {
        "lexicalized", "mixed-responses", "unknown-placeholder"
    }  # fmt: skip


def test_links_are_not_told_as_placeholders_that_nobody_knows() -> None:
    predictions = sample_predictions("lexicalized")
    predictions["smp0021"][0]["response"] += f"{LINK} Call [01632 960123](tel:01632960123)."
    assert not scored(predictions, responses="lexicalized")["meta"]["warnings"]


def test_venues_in_brackets_are_read_and_the_warning_says_so() -> None:
    """Before, a name in brackets was dropped as a placeholder that nobody knows."""
    predictions = sample_predictions("lexicalized")
    expected = scored(predictions, responses="lexicalized")
    tables = Evaluator(corpus="sample").scorer("sample").gold.tables
    names = {str(row["name"]).title() for row in tables["restaurant"]}
    changed = 0
    for turns in predictions.values():
        for turn in turns:
            for name in names:
                changed += f"{name} " in turn["response"]
                turn["response"] = turn["response"].replace(f"{name} ", f"[{name}] ")
    assert changed > 10
    found = scored(predictions, responses="lexicalized")
    assert found["success"] == expected["success"]
    (warning,) = found["meta"]["warnings"]
    assert warning["count"] == changed


@pytest.mark.parametrize(
    ("turn", "bracket"),
    [(0, LINK), (-1, " [odd]"), (0, " [type](https://example.org)"), (-1, " [area]")],
)
def test_a_bracket_flips_no_reward(bracket: str, turn: int) -> None:
    """Placeholders stay, so one that no goal asks for changes nothing but the decision."""
    evaluator = Evaluator(corpus="sample")
    for name, turns in sample_predictions("lexicalized").items():
        expected = evaluator.reward(name, turns)
        turns[turn]["response"] += bracket
        found = evaluator.reward(name, turns)
        assert found.value == expected.value
        assert evaluator.evaluate_dialogue(name, turns).inform == expected.outcome.inform


def test_of_a_dialogue_alone_no_more_is_read_than_decides() -> None:
    """Where all turns have placeholders, one without a name in words is enough."""
    auto, known = (Evaluator(corpus="sample", responses=r) for r in ("auto", "delexicalized"))
    name, longest = max(sample_predictions("good").items(), key=lambda pair: len(pair[1]))
    assert len(longest) > 7

    def reading(text: str) -> int:
        """Return the work of deciding what eight responses are."""
        turns = [
            {**turn, "response": f"{text}, {number}"} for number, turn in enumerate(longest[:8])
        ]
        return calls(lambda: auto.evaluate_dialogue(name, turns)) - calls(
            lambda: known.evaluate_dialogue(name, turns)
        )

    reading("hello")  # prepares gold data
    in_words = reading("the phone of hotel aurelia is 01223 000001")  # all turns are read
    assert reading("the phone of [hotel_name] is [hotel_phone]") < in_words / 3


@pytest.mark.parametrize("system", [s for s in SAMPLE_SYSTEMS if s != "lexicalized"])
def test_a_dialogue_alone_is_what_it_is_among_others(system: str) -> None:
    auto, told = (Evaluator(corpus="sample", responses=r) for r in ("auto", "delexicalized"))
    predictions = sample_predictions(system).items()
    assert auto.rewards(predictions) == told.rewards(predictions)


def test_the_turns_of_the_smaller_kind_are_listed_and_the_counts_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixture, words = sample_predictions("good"), sample_predictions("lexicalized")
    name = next(n for n in words if Wording.of(said(words[n])).identifier_in_words)
    other = "smp0021"
    mixture[name] = words[name]
    evaluator = Evaluator(success=True, corpus="sample")

    def listed() -> list[tuple[str | None, int | None]]:
        problems = evaluator.validate(mixture)
        return [(p.dialogue, p.turn) for p in problems if p.kind == "mixed-response"]

    expected = [i for i, turn in enumerate(words[name]) if has_identifier(turn["response"])]
    assert expected
    assert listed() == [(name, turn) for turn in expected]

    path = tmp_path / "mixture.json"
    path.write_text(json.dumps(mixture))
    assert main(["evaluate", str(path), "-s", "-o", str(tmp_path / "report.json")]) == 0
    counts = read_json(tmp_path / "report.json")["meta"]["responses"]
    shown = re.findall(r"\d+", capsys.readouterr().out.splitlines()[1])
    kinds = ("with_placeholder", "identifier_as_placeholder", "identifier_in_words")
    placeholders, as_placeholders, in_words = (str(counts[kind]) for kind in kinds)
    assert shown == [placeholders, "452", as_placeholders, in_words]

    mixture = {**words, other: mixture[other]}
    expected = [i for i, turn in enumerate(mixture[other]) if "[" in turn["response"]]
    assert listed() == [(other, turn) for turn in expected]


@pytest.mark.parametrize("in_words", [20, 42])
def test_the_majority_decides_and_is_told_however_an_input_comes(in_words: int) -> None:
    mixture = sample_predictions("good")
    for name in list(mixture)[:in_words]:
        mixture[name] = sample_predictions("lexicalized")[name]
    evaluator = Evaluator(success=True, corpus="sample")
    found = evaluator.evaluate(mixture).to_dict()
    kind = "lexicalized" if in_words > 31 else "delexicalized"
    responses = found["meta"]["responses"]
    assert (responses["taken_as"], responses["said"]) == (kind, False)
    (warning,) = found["meta"]["warnings"]
    assert warning["kind"] == "mixed-responses"
    for count in ("with_placeholder", "identifier_as_placeholder", "identifier_in_words"):
        assert str(responses[count]) in warning["message"]
    told = scored(mixture, responses=kind)
    assert told["success"] == found["success"]
    assert told["meta"]["responses"] == {**responses, "said": True}

    parts = [evaluator.incremental() for _ in range(4)]
    for part, predictions in zip(parts, cut(mixture, [5, 20, 50]), strict=True):
        part.update(predictions)
    for later in parts[1:]:
        parts[0].merge(later)
    assert parts[0].compute().to_dict() == found


@pytest.mark.integration
@pytest.mark.parametrize("system", PUBLISHED)
def test_the_decision_for_published_systems_is_clear(system: str) -> None:
    path = shared("data", "multiwoz", "predictions", f"{system}.json")
    wording = Wording.of(turn["response"] for turns in read_json(path).values() for turn in turns)
    assert not wording.lexicalized
    assert wording.identifier_as_placeholder > 100 * wording.identifier_in_words
