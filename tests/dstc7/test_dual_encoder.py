"""The dual encoder: vocabulary, formula, learning and files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as read
from safetensors.numpy import save

from mwzeval.dstc7.baselines.dual_encoder import (
    MODEL_FILE,
    DualEncoder,
    Settings,
    Vocabulary,
    candidate_bags,
    context_bags,
    learned_vocabulary,
    train_dual_encoder,
    training_data,
    weight_shapes,
)
from mwzeval.dstc7.baselines.query import Query, Vectors
from mwzeval.errors import InputError, UsageError
from mwzeval.neural import set_weights
from tests.dstc7.conversations import SMALL, conversations

TRAINING, DEV = conversations(320, seed=1), conversations(40, seed=2)
COUNTS = {"b": 3, "a": 3, "the": 9, "once": 1, "d": 2}


@pytest.mark.parametrize(
    ("minimum_count", "largest", "expected"),
    [(2, 100, "the a b d"), (1, 100, "the a b d once"), (2, 2, "the a"), (10, 100, "")],
)
def test_vocabulary_contains_the_most_frequent_words(
    minimum_count: int, largest: int, expected: str
) -> None:
    settings = replace(SMALL, minimum_count=minimum_count, largest_vocabulary=largest, buckets=4)
    vocabulary, words = learned_vocabulary(COUNTS, settings), tuple(expected.split())
    assert (vocabulary.words, len(vocabulary)) == (words, len(words) + 4)
    assert vocabulary.numbers_of(expected) == list(range(len(words)))


def test_unknown_words_are_hashed_to_buckets_by_crc32() -> None:
    # "123456789" is the standard test string of CRC-32.
    vocabulary = Vocabulary(("the",), buckets=2**32)
    assert vocabulary.numbers_of("The 123456789 the") == [0, 1 + 0xCBF43926, 0]
    few = Vocabulary(("the",), buckets=50)
    assert few.numbers_of("123456789") == [1 + 0xCBF43926 % 50]


def test_contexts_keep_their_latest_words_with_message_ages() -> None:
    settings = replace(SMALL, context_words=4, ages=3)
    bags = context_bags([[[1, 2, 3], [4], [], [5, 6]], [[7]]], settings)
    # The last age, 2, means two or more messages ago.
    first = dict(zip(bags.words[:4].tolist(), bags.ages.tolist(), strict=False))
    assert first == {5: 0, 6: 0, 4: 2, 3: 2}
    assert (bags.words[4:].tolist(), bags.starts.tolist()) == ([7], [0, 4, 5])
    taken = bags.take(np.array([1, 0, 1]))
    assert taken.words.tolist() == [7, *bags.words[:4].tolist(), 7]
    assert (taken.ages.tolist()[1:5], taken.starts.tolist()) == ([0, 0, 2, 2], [0, 1, 5, 6])


def test_candidates_keep_their_first_words() -> None:
    bags = candidate_bags([[1, 2, 3], [], [4]], replace(SMALL, candidate_words=2))
    assert (bags.words.tolist(), bags.starts.tolist()) == ([1, 2, 4], [0, 2, 2, 3])
    assert not bags.ages.any()


@pytest.mark.parametrize("wrong", [{"dimensions": 0}, {"batch_size": 1}, {"shared": 1}])
def test_invalid_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


WORDS = 30
CONTEXTS: list[list[list[int]]] = [[[1, 2, 2], [3]], [[4], [], [5, 1]], [[]], [[9, 9, 9, 9]]]
CANDIDATES: list[list[int]] = [[1, 2], [5, 5, 7], [], [9, 29]]


def by_formula(
    weights: dict[str, np.ndarray], sides: Sequence[str], context: list[list[int]], reply: list[int]
) -> float:
    """Return the score of a context and a candidate, computed word by word."""
    words_of_sides = (
        [(word, min(age, 1)) for age, said in enumerate(reversed(context)) for word in said],
        [(word, 0) for word in reply],
    )
    score = 0.0
    for kind in ("dense", "sparse"):
        vectors = []
        for which, (side, words) in enumerate(zip(sides, words_of_sides, strict=True)):
            sums = np.zeros(WORDS)
            for word, age in words:
                factor = math.exp(weights[f"{side}.{kind}_ages"][age])
                sums[word] += weights[f"{side}.{kind}_words"][word] * factor
            power = 1 / (1 + math.exp(-weights[f"{kind}_lengths"][which]))
            if kind == "sparse":
                vector = np.log1p(np.maximum(sums, 0))
            else:
                vector = sums @ weights[f"{side}.word_vectors"]
            vectors.append(vector * (len(words) + 2) ** -power)
        score += float(vectors[0] @ vectors[1]) * math.exp(weights[f"{kind}_scale"])
    return score


def whole(vectors: Vectors) -> np.ndarray:
    """Return sparse and dense vectors as a single dense matrix."""
    assert vectors.dense is not None
    return np.hstack([vectors.sparse.toarray(), vectors.dense])


@pytest.mark.parametrize("is_shared", [True, False])
def test_training_and_ranking_scores_equal_the_formula(is_shared: bool) -> None:
    settings = replace(SMALL, shared=is_shared, ages=2)
    generator = np.random.default_rng(5)
    weights = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in weight_shapes(settings, WORDS).items()
    }
    model = DualEncoder(settings, Vocabulary((), WORDS))
    set_weights(model.state_dict(), weights)
    contexts, candidates = context_bags(CONTEXTS, settings), candidate_bags(CANDIDATES, settings)
    expected = [[by_formula(weights, model.sides, c, r) for r in CANDIDATES] for c in CONTEXTS]
    left, right = whole(model.encode(contexts, 0)), whole(model.encode(candidates, 1))
    np.testing.assert_allclose(left @ right.T, expected, rtol=1e-4, atol=1e-4)
    learned = model(contexts, candidates).detach().numpy()
    np.testing.assert_allclose(learned, expected, rtol=1e-4, atol=1e-4)


def test_shared_answers_are_excluded_from_the_negatives_of_a_pair() -> None:
    """Two pairs belong to the same example; two examples have equal answers."""
    data = training_data(
        [
            Query("1", ("hi",), answers=("yes", "sure")),
            Query("2", ("a",), answers=("ok",)),
            Query("3", ("b",), answers=("OK!",)),
            Query("4", ("nobody knows",)),
        ],
        SMALL,
    )
    assert len(data) == 4
    assert np.argwhere(data.twins(np.arange(4))).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert np.argwhere(data.twins(np.array([3, 0, 2]))).tolist() == [[0, 2], [2, 0]]


@pytest.mark.integration
def test_training_learns_word_associations_without_shared_words(tmp_path: Path) -> None:
    settings = replace(SMALL, epochs=20, learning_rate=0.02)
    model, curve = train_dual_encoder(TRAINING, DEV, tmp_path, settings)
    found = [point.scores["recall_at_1"] for point in curve]
    assert curve[0].step == 0
    assert found[0] < 0.3  # a random ranking has 0.05
    assert max(found) > 0.8
    losses = [point.loss for point in curve[1:] if point.loss is not None]
    assert losses[-1] < losses[0]
    assert set(model.vocabulary.words) >= {"ask7", "reply7"}


def trained(folder: Path, settings: Settings = SMALL, *, last: int = len(TRAINING)) -> bytes:
    train_dual_encoder(TRAINING[:last], DEV[:20], folder, settings)
    return (folder / MODEL_FILE).read_bytes()


@pytest.mark.integration
@pytest.mark.parametrize("is_shared", [True, False])
def test_model_files_are_deterministic_and_depend_on_the_seed(
    is_shared: bool, tmp_path: Path
) -> None:
    settings = replace(SMALL, shared=is_shared, epochs=2)
    first = trained(tmp_path / "first", settings)
    assert trained(tmp_path / "second", settings) == first
    assert trained(tmp_path / "third", replace(settings, seed=1)) != first
    with pytest.raises(UsageError, match="other settings or data"):
        trained(tmp_path / "first", settings, last=300)


@pytest.mark.parametrize(("training", "dev"), [(TRAINING[:1], DEV), (TRAINING, [])])
def test_too_few_training_pairs_and_empty_dev_data_are_errors(
    training: list[Query], dev: list[Query], tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        train_dual_encoder(training, dev, tmp_path, SMALL)


@pytest.mark.integration
def test_dev_examples_without_candidates_use_answers_of_other_examples(tmp_path: Path) -> None:
    bare = [replace(query, candidate_ids=(), candidates=()) for query in DEV]
    _, curve = train_dual_encoder(TRAINING, bare, tmp_path, replace(SMALL, epochs=1))
    assert 0 <= curve[0].scores["recall_at_1"] < 0.3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "trained"
    trained(folder, replace(SMALL, epochs=1), last=64)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        {"dense_scale": np.zeros(3, np.float32)},
        {"dense_scale": np.zeros((), np.float64)},
        {"dense_scale": np.array(np.nan, np.float32)},
        {"more": np.zeros(3, np.float32)},
        {"vocabulary": np.array([255], np.uint8)},
        {"vocabulary": np.zeros(0, np.uint8)},
    ],
)
def test_models_with_invalid_weights_are_errors(
    change: dict[str, np.ndarray], folder: Path, tmp_path: Path
) -> None:
    raw = (folder / MODEL_FILE).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    path = tmp_path / MODEL_FILE
    path.write_bytes(save({**read(raw), **change}, metadata=header["__metadata__"]))
    with pytest.raises(InputError, match=MODEL_FILE):
        DualEncoder.load(path)


@pytest.mark.parametrize("about", ["{}", '{"settings": {"x": 1}}', '{"settings": []}'])
def test_models_with_invalid_settings_are_errors(about: str, tmp_path: Path) -> None:
    metadata = {"mwzeval": f'{{"format": 1, "kind": "dual encoder", "about": {about}}}'}
    path = tmp_path / MODEL_FILE
    path.write_bytes(save({"vocabulary": np.zeros(1, np.uint8)}, metadata=metadata))
    with pytest.raises(InputError, match=MODEL_FILE):
        DualEncoder.load(path)


def test_saved_models_encode_contexts_identically_after_reload(
    folder: Path, tmp_path: Path
) -> None:
    model, messages = DualEncoder.load(folder), [query.messages for query in DEV[:10]]
    again = DualEncoder.load(model.save(tmp_path))
    assert (whole(model.contexts(messages)) == whole(again.contexts(messages))).all()
