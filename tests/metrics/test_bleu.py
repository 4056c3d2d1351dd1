"""Summed rows score exactly what sacreBLEU makes of all segments at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.bleu import FIELDS, SIGNATURE, Bleu, tokenize
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.table import Table
from tests.multiwoz import specification
from tests.places import ROOT, SAMPLE_SYSTEMS, sample_predictions

BLEU = Bleu("gold", {})
Segment = tuple[str, str]

pieces = st.sampled_from(
    [
        *[
            "the NAME",
            "is a",
            "FOOD",
            "restaurant",
            "in the AREA",
            ".",
            ",",
            "?!",
            "...",
            "-",
            "--",
        ],
        *[" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u3000", "\x00", "\x1c", "\x85"],
        *["&amp;", "&quot;", "&lt;", "&gt;", "&amp;lt;", "&", "<skipped>", "{}", "~", "$5.50"],
        *[
            "1,000",
            "12:30",
            "3.",
            ".5",
            "-\n",
            "é",
            "e\u0301",
            "ß",
            "日本",
            "\U0001f35c",
            "İ",
            "'s",
        ],
    ]
)
texts = st.one_of(st.lists(pieces, max_size=12).map("".join), st.text(max_size=20))
segments = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)


def row(segments: list[Segment]) -> dict[str, float]:
    hypotheses, references = zip(*segments, strict=True) if segments else ((), ())
    bleu = Bleu("gold", {"unit": list(map(tokenize, references))})
    (found,) = bleu.rows([("unit", list(map(tokenize, hypotheses)))])
    return found


def score(*rows: dict[str, float]) -> float:
    table = Table.from_rows(BLEU.columns, [(str(index), r) for index, r in enumerate(rows)])
    return scored(table.sums())


def scored(sums: Mapping[str, float]) -> float:
    return float(BLEU.of({column: np.array([number]) for column, number in sums.items()})[0])


def oracle(segments: list[Segment]) -> float:
    hypotheses, references = zip(*segments, strict=True)
    return sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score


@cache
def references() -> dict[str, list[str]]:
    folder = ROOT / "data" / "sample" / "data" / "MultiWOZ_2.2"
    return {
        name: [specification.normal_response(turn["response"]) for turn in turns]
        for name, turns in specification.annotated_turns(folder, "test")
    }


@cache
def sample_segments(system: str) -> dict[str, list[Segment]]:
    return {
        name: [
            (specification.normal_response(turn["response"]), reference)
            for turn, reference in zip(turns, references()[name], strict=True)
        ]
        for name, turns in sample_predictions(system).items()
    }


@pytest.mark.parametrize(
    "system",
    ["good", *(pytest.param(s, marks=pytest.mark.integration) for s in SAMPLE_SYSTEMS[1:])],
)
def test_the_bleu_of_a_report_is_that_of_sacrebleu(system: str) -> None:
    evaluator = Evaluator(bleu=True, corpus="sample", responses="delexicalized")
    dialogues = sample_segments(system).values()
    expected = oracle([segment for segments in dialogues for segment in segments])
    found = evaluator.evaluate(sample_predictions(system))["bleu"]
    assert found == {"sample": pytest.approx(expected, rel=0, abs=1e-9)}


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_rows_of_a_system_score_as_sacrebleu_scores_all_its_turns(system: str) -> None:
    dialogues = sample_segments(system)
    expected = oracle([segment for segments in dialogues.values() for segment in segments])
    assert 1 < expected < 99
    assert score(*map(row, dialogues.values())) == pytest.approx(expected, rel=0, abs=1e-9)
    backwards = reversed(list(dialogues.values()))
    assert score(*map(row, backwards)) == score(*map(row, dialogues.values()))


@given(segments)
def test_any_texts_score_as_sacrebleu_scores_them(segments: list[Segment]) -> None:
    assert score(row(segments)) == pytest.approx(oracle(segments), rel=0, abs=1e-9)


@given(texts)
def test_any_text_has_the_tokens_that_sacrebleu_finds(text: str) -> None:
    assert tokenize(text) == sacrebleu.BLEU().tokenizer(text.rstrip())


few_words = st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)
units = st.lists(st.tuples(st.sampled_from("xyz?"), st.lists(few_words, max_size=3)), max_size=5)


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(few_words, max_size=3)), units)
def test_units_have_the_statistics_of_their_own_segments_whatever_stands_beside_them(
    of_units: dict[str, list[str]], said: list[tuple[str, list[str]]]
) -> None:
    """A unit may come several times, lack segments, or have more than there are references."""
    found = Bleu("gold", of_units).rows(said)
    assert [list(row.values()) for row in found] == [
        statistics(segments, of_units.get(unit, [])) for unit, segments in said
    ]
    assert all(tuple(row) == BLEU.columns for row in found)
    assert len(BLEU.columns) == len(FIELDS)


def statistics(hypotheses: list[str], references: list[str]) -> list[int]:
    """Return the statistics of a unit, counted n-gram by n-gram."""
    pairs = list(zip(hypotheses, references, strict=False))
    system, reference = (sum(len(texts[side].split()) for texts in pairs) for side in (0, 1))
    correct, total = [0] * 4, [0] * 4
    for order in range(1, 5):
        for hypothesis, wanted in pairs:
            mine, theirs = (
                Counter(zip(*(text.split()[start:] for start in range(order)), strict=False))
                for text in (hypothesis, wanted)
            )
            correct[order - 1] += (mine & theirs).total()
            total[order - 1] += mine.total()
    return [system, reference, *correct, *total]


counts = st.lists(st.integers(0, 300), min_size=4, max_size=4)


@given(counts, counts, st.integers(0, 2000), st.integers(0, 2000))
def test_the_formula_is_that_of_sacrebleu_to_the_last_bit(
    found: list[int], missed: list[int], system: int, reference: int
) -> None:
    total = [a + b for a, b in zip(found, missed, strict=True)]
    sums = dict(zip(BLEU.columns, [system, reference, *found, *total], strict=True))
    expected = sacrebleu.BLEU.compute_bleu(
        found.copy(), total.copy(), system, reference, smooth_method="exp"
    )
    assert scored(sums) == expected.score


def test_the_signature_names_the_defaults_of_sacrebleu() -> None:
    library = sacrebleu.BLEU()
    assert SIGNATURE["tok"] == library.tokenizer.signature()
    assert SIGNATURE["smooth"] == library.smooth_method
    assert (library.lowercase, SIGNATURE["case"]) == (False, "mixed")
    assert (library.effective_order, SIGNATURE["eff"]) == (False, "no")


@given(st.lists(texts, min_size=1, max_size=6))
def test_a_system_that_says_the_references_scores_as_sacrebleu_says(texts: list[str]) -> None:
    same = [(text, text) for text in texts]
    assert score(row(same)) == pytest.approx(oracle(same), rel=0, abs=1e-9)


@given(segments, st.data())
def test_neither_order_nor_splitting_changes_the_score(
    segments: list[Segment], data: st.DataObject
) -> None:
    whole = score(row(segments))
    mixed = data.draw(st.permutations(segments))
    cut = data.draw(st.integers(0, len(segments)))
    assert score(row(mixed)) == whole
    assert score(row(segments[:cut]), row(segments[cut:])) == whole
    assert score(*(row([segment]) for segment in mixed)) == whole


@pytest.mark.parametrize("segments", [[("", "")], [("", "a b c")], [("a b c", "")]])
def test_nothing_said_scores_nothing(segments: list[Segment]) -> None:
    assert score(row(segments)) == oracle(segments) == 0
    assert score(row([])) == 0


def test_columns_carry_the_name_of_the_reference_set() -> None:
    assert len(BLEU.columns) == len(set(BLEU.columns)) == 10
    assert all(column.startswith("bleu.gold.") for column in BLEU.columns)
    assert not set(BLEU.columns) & set(Bleu("other", {}).columns)
