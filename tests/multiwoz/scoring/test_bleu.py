"""Summed statistics give exactly the scores of sacreBLEU and NLTK for all segments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.crosswoz.scoring.text_scores import closest_length_bleu, segment_statistics
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.scoring.bleu import SIGNATURE, Bleu, tokenize
from tests.multiwoz import specification
from tests.places import ROOT, sample_predictions

BLEU = Bleu("gold", {})

PIECES = (
    *("the NAME", "is a", "FOOD", "restaurant", "in the AREA", ".", ",", "?!", "...", "-", "--"),
    *(" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u3000", "\x00", "\x1c", "\x85"),
    *("&amp;", "&quot;", "&lt;", "&gt;", "&amp;lt;", "&", "<skipped>", "{}", "~", "$5.50"),
    *("1,000", "12:30", "3.", ".5", "-\n", "é", "e\u0301", "ß", "日本", "\U0001f35c", "İ", "'s"),
)
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=20))


def scored(sums: Mapping[str, float]) -> float:
    return float(BLEU.of({column: np.array([number]) for column, number in sums.items()})[0])


def test_bleu_in_a_report_equals_sacrebleu() -> None:
    predictions = sample_predictions("good")
    normal = specification.normal_response
    folder = ROOT / "data" / "sample" / "data" / "MultiWOZ_2.2"
    hypotheses, references = [], []
    for name, turns in specification.annotated_turns(folder, "test"):
        hypotheses += [normal(turn["response"]) for turn in predictions[name]]
        references += [normal(turn["response"]) for turn in turns]
    expected = sacrebleu.corpus_bleu(hypotheses, [references]).score
    evaluator = Evaluator(bleu=True, corpus="sample", responses="delexicalized")
    found = evaluator.evaluate(predictions).metrics["bleu"]
    assert found == {"sample": pytest.approx(expected, rel=0, abs=1e-9)}


@given(texts)
def test_tokens_of_any_text_equal_those_of_sacrebleu(text: str) -> None:
    assert tokenize(text) == sacrebleu.BLEU().tokenizer(text.rstrip())


few_words = st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)
units = st.lists(st.tuples(st.sampled_from("xyz?"), st.lists(few_words, max_size=3)), max_size=5)


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(few_words, max_size=3)), units)
def test_bleu_statistics_of_a_unit_depend_only_on_its_segments(
    of_units: dict[str, list[str]], said: list[tuple[str, list[str]]]
) -> None:
    """A unit may be repeated, and may have fewer or more segments than references."""
    found = Bleu("gold", of_units).rows(said)
    assert [list(row.values()) for row in found] == [
        statistics(segments, of_units.get(unit, [])) for unit, segments in said
    ]
    assert all(tuple(row) == BLEU.columns for row in found)


def statistics(hypotheses: list[str], references: list[str]) -> list[int]:
    """Return sacreBLEU's statistics of the segments with a reference."""
    pairs = list(zip(hypotheses, references, strict=False))
    if not pairs:
        return [0] * len(BLEU.columns)
    found = sacrebleu.corpus_bleu([p[0] for p in pairs], [[p[1] for p in pairs]], tokenize="none")
    return [found.sys_len, found.ref_len, *found.counts, *found.totals]


counts = st.lists(st.integers(0, 300), min_size=4, max_size=4)


@given(counts, counts, st.integers(0, 2000), st.integers(0, 2000))
@example([0] * 4, [0] * 4, 0, 3)
@example([5, 2, 0, 0], [1, 3, 4, 3], 9, 10)
@example([0] * 4, [1] * 4, 3, 0)
def test_scores_from_statistics_equal_sacrebleu_exactly(
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


TOKENS = st.lists(st.sampled_from("甲乙丙丁"), max_size=9)
ManyReferences = tuple[list[str], list[list[str]]]


def nltk_bleu(segments: list[ManyReferences]) -> float:
    library = pytest.importorskip("nltk.translate.bleu_score")
    found: float = library.corpus_bleu(
        [references for _, references in segments],
        [tokens for tokens, _ in segments],
        smoothing_function=library.SmoothingFunction().method1,
    )
    return found


@given(st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=4)), min_size=1))
@example([(["a", "b", "c", "d"], [["a", "b", "c", "d"]])])
@example([(["a"], [["b"]])])
@example([([], [["b"]])])
@example([(["a"], [["a"]])])  # shorter than the longest n-gram
def test_bleu_with_several_references_equals_nltk(segments: list[ManyReferences]) -> None:
    rows = [segment_statistics([tokens], references)[0] for tokens, references in segments]
    statistics = list(np.stack(rows, axis=1).astype(np.float64))
    found = closest_length_bleu([row.sum() for row in statistics])
    assert found == pytest.approx(nltk_bleu(segments), abs=1e-12)
    alone = [nltk_bleu([segment]) for segment in segments]
    assert closest_length_bleu(statistics) == pytest.approx(alone, abs=1e-12)


@given(st.lists(TOKENS, min_size=1, max_size=5), st.lists(TOKENS, min_size=1, max_size=5))
def test_segments_sharing_references_are_counted_independently(
    hypotheses: list[list[str]], references: list[list[str]]
) -> None:
    together = segment_statistics(hypotheses, references).tolist()
    alone = [segment_statistics([tokens], references)[0].tolist() for tokens in hypotheses]
    assert together == alone == segment_statistics(hypotheses, references * 2).tolist()


def test_a_segment_needs_a_reference() -> None:
    with pytest.raises(ValueError, match="at least one reference"):
        segment_statistics([["a"]], [])
