"""Delexicalized human responses score like their annotation."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from mwzeval.multiwoz import LEXICALIZED
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.report import Report
from tests.golden.annotated_spans import SpanScore, annotated_turns, count
from tests.places import shared

pytestmark = pytest.mark.integration

FOLD = "test"


@cache
def evaluator() -> Evaluator:
    data = shared("data", "multiwoz")
    return Evaluator(True, True, corpus="multiwoz-2.2", data=data, responses=LEXICALIZED)


@cache
def report() -> Report:
    turns = annotated_turns(FOLD)
    return evaluator().evaluate(
        {name: [{"response": t.response} for t in talk] for name, talk in turns.items()}
    )


@cache
def span_scores() -> dict[str, SpanScore]:
    turns = annotated_turns(FOLD)
    predictions = {name: [{"response": t.response} for t in talk] for name, talk in turns.items()}
    checked = evaluator().checked(predictions)
    sources = checked.sources
    scores: dict[str, SpanScore] = {}
    for name, dialogue in checked.dialogues.items():
        found = checked.scorer.delexicalized(name, dialogue, sources)
        for turn, delexicalized in zip(turns[name], found, strict=True):
            count(scores, turn, delexicalized.mentions)
    return scores


@pytest.mark.parametrize(
    ("slot", "least"),
    [
        ("NAME", 0.95),
        ("PHONE", 0.95),
        ("POST", 0.95),
        ("REFERENCE", 0.95),
        ("TRAINID", 0.95),
        ("ADDRESS", 0.85),
        ("AREA", 0.90),
        ("FOOD", 0.90),
        ("TIME", 0.90),
        ("PRICE", 0.85),
        ("COUNT", 0.85),
        ("PLACE", 0.85),
        ("TYPE", 0.80),
        ("DAY", 0.85),
    ],
)
def test_annotated_spans_are_found(slot: str, least: float) -> None:
    score = span_scores()[slot]
    assert score.annotated > 200
    assert score.f1 >= least, score
    assert score.exact_f1 >= 0.75, score


def test_annotated_turns_of_the_fold_are_complete() -> None:
    assert sum(map(len, annotated_turns(FOLD).values())) == 7372
    assert sum(score.annotated for score in span_scores().values()) > 11_000


def test_human_responses_score_like_annotated_placeholders() -> None:
    metrics = report().metrics
    assert metrics["success"]["inform"]["total"] >= 91.5
    assert metrics["success"]["success"]["total"] >= 87
    assert metrics["bleu"]["mwz22"] >= 92


SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
FIRST_WORD = re.compile(r"^[\w']+")
MARKDOWN: dict[str, Callable[[list[str]], str]] = {
    "plain": " ".join,
    "bullets": lambda sentences: "\n".join(f"- {sentence}" for sentence in sentences),
    "bold first words in bullets": lambda sentences: "\n".join(
        f"- {FIRST_WORD.sub(lambda word: f'**{word[0]}**', sentence)}" for sentence in sentences
    ),
    "bold": lambda sentences: " ".join(f"**{sentence}**" for sentence in sentences),
    "headings": lambda sentences: "\n".join(["## " + sentences[0], *sentences[1:]]),
    "tables": lambda sentences: "\n".join(
        ["| Answer |", "|---|", *(f"| {sentence} |" for sentence in sentences)]
    ),
}


@cache
def grounded(layout: str) -> dict[str, float]:
    data = shared("data", "multiwoz")
    evaluator = Evaluator(grounded=True, corpus="multiwoz-2.2", data=data, responses=LEXICALIZED)
    scores = evaluator.evaluate(
        {
            name: [{"response": MARKDOWN[layout](SENTENCE_END.split(t.response))} for t in talk]
            for name, talk in annotated_turns(FOLD).items()
        }
    ).metrics["grounded"]
    names = ("hallucination", "consistency", "grounded_inform", "grounded_success")
    return {name: scores[name]["total"] for name in names}


@pytest.mark.parametrize("layout", list(MARKDOWN)[1:])
def test_markdown_layouts_do_not_change_grounded_scores(layout: str) -> None:
    for name, value in grounded(layout).items():
        assert value == pytest.approx(grounded("plain")[name], abs=0.2 + 1e-9), name


def test_the_report_records_that_responses_were_lexicalized() -> None:
    # Some of the shared files differ from the published files.
    assert {warning.kind for warning in report().warnings} <= {"other-corpus-files", "gold-states"}
    for score in report().scores:
        assert dict(score.signature.choices)["responses"] == LEXICALIZED
        assert "rapidfuzz" in dict(score.signature.choices)
