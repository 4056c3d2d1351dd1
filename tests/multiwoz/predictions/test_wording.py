"""Known placeholders and identifiers in text decide whether responses are delexicalized."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.census import Wording
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.words.numbers import has_identifier
from tests.command_lines import Run
from tests.parts import Predictions, cut
from tests.places import SAMPLE_SYSTEMS, read_json, sample_predictions, shared, write_json
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
def test_placeholders_and_identifiers_decide_the_response_type(
    responses: list[str], counts: tuple[int, int, int], lexicalized: bool
) -> None:
    wording = Wording.of(responses)
    assert (*wording, wording.lexicalized) == (*counts, lexicalized)


def scored(predictions: Predictions, **options: Any) -> dict[str, Any]:
    return Evaluator(success=True, corpus="sample", **options).evaluate(predictions).to_dict()


@pytest.mark.parametrize(
    ("turn", "bracket"),
    [(0, LINK), (-1, " [name]"), (0, " [odd]"), (-1, " [phone](tel:01632960123)")],
)
def test_a_single_bracket_does_not_change_the_response_type(turn: int, bracket: str) -> None:
    predictions = sample_predictions("lexicalized")
    expected = scored(predictions)
    predictions["smp0021"][turn]["response"] += bracket
    found = scored(predictions)
    assert found["success"]["inform"] == expected["success"]["inform"]
    assert found["meta"]["responses"]["taken_as"] == "lexicalized"
    # Links are not reported as unknown placeholders.
    kinds = {warning["kind"] for warning in found["meta"]["warnings"]}
    unknown = {"unknown-placeholder"} if "odd" in bracket else set()
    assert unknown <= kinds <= {"lexicalized", "mixed-responses", *unknown}


def test_venue_names_in_brackets_are_read_and_cause_a_warning() -> None:
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
def test_a_single_bracket_does_not_change_the_reward(bracket: str, turn: int) -> None:
    """The added placeholder is not requested, so it could only change the response type."""
    evaluator = Evaluator(corpus="sample")
    for name, turns in sample_predictions("lexicalized").items():
        expected = evaluator.reward(name, turns)
        turns[turn]["response"] += bracket
        found = evaluator.reward(name, turns)
        assert found.value == expected.value
        assert evaluator.evaluate_dialogue(name, turns).inform == expected.outcome.inform


def test_detection_reads_only_the_responses_that_decide() -> None:
    auto, known = (Evaluator(corpus="sample", responses=r) for r in ("auto", "delexicalized"))
    name, longest = max(sample_predictions("good").items(), key=lambda pair: len(pair[1]))
    assert len(longest) > 7

    def reading(text: str) -> int:
        """Return the number of calls that detect the type of eight responses."""
        turns = [
            {**turn, "response": f"{text}, {number}"} for number, turn in enumerate(longest[:8])
        ]
        return calls(lambda: auto.evaluate_dialogue(name, turns)) - calls(
            lambda: known.evaluate_dialogue(name, turns)
        )

    reading("hello")  # loads gold data
    in_words = reading("the phone of hotel aurelia is 01223 000001")  # reads all turns
    assert reading("the phone of [hotel_name] is [hotel_phone]") < in_words / 3


@pytest.mark.parametrize("system", [s for s in SAMPLE_SYSTEMS if s != "lexicalized"])
def test_detection_gives_delexicalized_rewards_for_single_dialogues(system: str) -> None:
    auto, told = (Evaluator(corpus="sample", responses=r) for r in ("auto", "delexicalized"))
    predictions = sample_predictions(system).items()
    assert auto.rewards(predictions) == told.rewards(predictions)


def test_turns_of_the_minority_response_type_are_reported() -> None:
    good, words = sample_predictions("good"), sample_predictions("lexicalized")
    some = "smp0021"
    name = next(n for n in words if any(has_identifier(turn["response"]) for turn in words[n]))
    evaluator = Evaluator(success=True, corpus="sample")
    for mixture, place, is_listed in (
        ({**good, name: words[name]}, name, has_identifier),
        ({**words, some: good[some]}, some, lambda response: "[" in response),
    ):
        problems = evaluator.validate(mixture)
        listed = [(p.dialogue, p.turn) for p in problems if p.kind == "mixed-response"]
        turns = enumerate(mixture[place])
        assert listed == [(place, i) for i, turn in turns if is_listed(turn["response"])]


def test_the_counts_behind_the_response_type_are_printed(tmp_path: Path, run: Run) -> None:
    mixture = {
        **sample_predictions("good"),
        **dict([*sample_predictions("lexicalized").items()][:9]),
    }
    path, report = write_json(tmp_path / "mixture.json", mixture), tmp_path / "report.json"
    shown = run("evaluate", path, "-s", "-o", str(report)).out.splitlines()[1]
    counts = read_json(report)["meta"]["responses"]
    kinds = ("with_placeholder", "identifier_as_placeholder", "identifier_in_words")
    placeholders, as_placeholders, in_words = (str(counts[kind]) for kind in kinds)
    assert re.findall(r"\d+", shown) == [placeholders, "452", as_placeholders, in_words]


@pytest.mark.parametrize("in_words", [20, 42])
def test_the_majority_decides_the_response_type_of_any_input(in_words: int) -> None:
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
def test_published_systems_are_clearly_delexicalized(system: str) -> None:
    path = shared("data", "multiwoz", "predictions", f"{system}.json")
    wording = Wording.of(turn["response"] for turns in read_json(path).values() for turn in turns)
    assert not wording.lexicalized
    assert wording.identifier_as_placeholder > 100 * wording.identifier_in_words
