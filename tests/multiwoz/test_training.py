"""Metrics and rewards in training loops, with a small tokenizer on the sample."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.scoring.reward import RewardWeights
from mwzeval.multiwoz.training import (
    best_tokens,
    completion_text,
    compute_metrics,
    flat_scores,
    generated_ids,
    reward_function,
)
from tests.places import ROOT, read_json, sample_predictions

pytestmark = pytest.mark.integration

torch.set_num_threads(1)
PREDICTIONS = {name: turns[:4] for name, turns in list(sample_predictions("good").items())[:6]}
EXAMPLES = [(name, turn) for name, turns in PREDICTIONS.items() for turn in range(len(turns))]
RESPONSES = [
    " ".join(re.findall(r"\[\w+\]|\w+|[^\w\s]", PREDICTIONS[name][turn]["response"])[:23])
    for name, turn in EXAMPLES
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A tokenizer with words as tokens and placeholders as special tokens."""
    words = sorted({word for text in RESPONSES for word in text.split()})
    vocabulary = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *words])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    placeholders = [word for word in words if word.startswith("[")]
    fast.add_special_tokens({"additional_special_tokens": placeholders})
    assert "[hotel_name]" not in fast.decode(fast("a [hotel_name]").input_ids, True)
    return fast


@pytest.fixture(scope="module")
def scorer() -> Evaluator:
    return Evaluator(bleu=True, success=True, richness=True, corpus="sample")


@pytest.fixture(scope="module")
def ids(tokenizer: Any) -> list[list[int]]:
    """Return the token ids of each response."""
    return [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in RESPONSES]


def padded(rows: list[list[int]], filler: int = 0) -> Any:
    width = max(map(len, rows))
    return np.array([[*row, *[filler] * (width - len(row))] for row in rows])


def as_logits(ids: Any, vocabulary: int) -> Any:
    return np.eye(vocabulary)[np.maximum(ids, 0)]


def scores(scorer: Evaluator, texts: list[str], **more: Any) -> dict[str, float]:
    """Return the scores of a response for each example."""
    dialogues: dict[str, list[dict[str, Any]]] = {}
    for (name, _), text in zip(EXAMPLES, texts, strict=True):
        dialogues.setdefault(name, []).append({"response": text, **more})
    return flat_scores(scorer.evaluate(dialogues))


@pytest.mark.parametrize("form", ["ids", "padded ids", "ids in a tuple", "logits", "causal"])
def test_metrics_equal_scores_of_the_decoded_responses(
    tokenizer: Any, scorer: Evaluator, ids: list[list[int]], form: str
) -> None:
    labels, predictions = padded(ids, -100), padded(ids)
    others = np.zeros((len(ids), 2, 3))
    match form:
        case "padded ids":
            predictions = np.pad(predictions, ((0, 0), (1, 3)), constant_values=-100)
            predictions[:, 0] = tokenizer.pad_token_id  # as in generated ids
        case "ids in a tuple":
            predictions = (predictions, others)
        case "logits" | "causal":
            # Predictions at positions without a label must not matter.
            predictions = np.where(labels < 0, 5, labels)
            if form == "causal":
                # Each position predicts the next; a prompt of two tokens has no labels.
                labels = np.pad(labels, ((0, 0), (2, 0)), constant_values=-100)
                predictions = np.pad(predictions, ((0, 0), (1, 1)), constant_values=7)
            predictions = (as_logits(predictions, len(tokenizer)), others)
    metrics = compute_metrics(scorer, tokenizer, EXAMPLES, shift_labels=form == "causal")
    found = metrics(transformers.EvalPrediction(predictions=predictions, label_ids=labels))
    assert found == scores(scorer, RESPONSES)
    assert found["bleu"] > 5
    # Decoding keeps placeholders, otherwise Inform would be that of empty responses.
    assert found["inform"] > scores(scorer, [""] * len(EXAMPLES))["inform"]
    assert all(type(score) is float for score in found.values())


def test_example_order_does_not_change_the_scores(
    tokenizer: Any, scorer: Evaluator, ids: list[list[int]]
) -> None:
    order = np.random.default_rng(0).permutation(len(EXAMPLES))
    rows = padded([ids[index] for index in order])
    metrics = compute_metrics(scorer, tokenizer, [EXAMPLES[index] for index in order])
    found = metrics(SimpleNamespace(predictions=rows, label_ids=None))
    # The windows of MSTTR depend on the order of dialogues.
    assert {**found, "msttr": 0} == {**scores(scorer, RESPONSES), "msttr": 0}


def test_states_are_parsed_from_generated_texts(
    tokenizer: Any, scorer: Evaluator, ids: list[list[int]]
) -> None:
    more: dict[str, Any] = {"state": {}, "active_domains": []}
    metrics = compute_metrics(
        scorer, tokenizer, EXAMPLES, parse=lambda text: {"response": text, **more}
    )
    found = metrics(SimpleNamespace(predictions=padded(ids), label_ids=None))
    assert found == scores(scorer, RESPONSES, **more)
    assert found["success"] == 0


@pytest.mark.parametrize(
    ("examples", "error", "message"),
    [
        ([], UsageError, ""),
        ([("smp0021", 1), ("smp0021", 0), ("smp0022", 1)], UsageError, "smp0022"),
        ([("smp0021", 0), ("smp0021", 0)], UsageError, "smp0021"),
        ([("smp0021", 0), ("smp9999", 0)], InputError, "smp9999"),
        ([("smp0021", turn) for turn in range(40)], InputError, "smp0021"),
    ],
)
def test_invalid_training_examples_are_errors_before_training(
    scorer: Evaluator, examples: list[tuple[str, int]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compute_metrics(scorer, None, examples)


def test_missing_metrics_and_mismatched_predictions_are_errors(
    tokenizer: Any, scorer: Evaluator
) -> None:
    with pytest.raises(UsageError):
        compute_metrics(Evaluator(corpus="sample"), tokenizer, EXAMPLES)
    metrics = compute_metrics(scorer, tokenizer, EXAMPLES)
    with pytest.raises(UsageError, match=str(len(EXAMPLES))):
        metrics(SimpleNamespace(predictions=np.zeros((3, 2), dtype=int), label_ids=None))


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        (np.zeros((2, 3)), None, "float64"),
        (np.zeros(4, dtype=int), None, r"\(4,\)"),
        (np.zeros((2, 3, 4)), np.zeros((2, 5)), r"\(2, 5\)"),
    ],
)
def test_predictions_with_invalid_shape_or_type_are_errors(
    predictions: Any, labels: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        generated_ids(predictions, labels)


def test_best_tokens_skip_positions_without_a_label() -> None:
    logits = torch.tensor(as_logits(np.array([[3, 1, 2], [2, 2, 0]]), 4))
    labels = torch.tensor([[3, 1, -100], [2, -100, -100]])
    expected = [[3, 1, -100], [2, -100, -100]]
    assert best_tokens((logits, None), labels).tolist() == expected
    assert generated_ids(best_tokens(logits, labels).numpy()) == expected


def test_training_example_saves_the_best_epoch(tmp_path: Path) -> None:
    program = ROOT / "examples" / "train_with_transformers.py"
    options = ("--output", str(tmp_path), "--epochs", "4", "--dialogues", "8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    epochs, last = printed[:-1], printed[-1]
    assert [entry["epoch"] for entry in epochs] == [1, 2, 3, 4]
    for entry in epochs:
        assert entry["callback"] == pytest.approx(entry["compute_metrics"])
    assert last["best"] == max(entry["callback"]["combined"] for entry in epochs)
    saved = read_json(tmp_path / "best" / "predictions.json")
    evaluator = Evaluator(bleu=True, success=True, corpus="sample", fold="dev")
    assert flat_scores(evaluator.evaluate(saved))["combined"] == last["best"]
    assert (tmp_path / "best" / "model.safetensors").exists()


def test_a_reward_function_has_the_signature_of_trl(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    names = list(predictions)[:5]
    previous = [predictions[name][:-1] for name in names]
    texts = [predictions[name][-1]["response"] for name in names]
    columns = {"dialogue_id": names, "previous_turns": previous, "unused": [0] * 5}
    weights = RewardWeights(0.1, 0.2, 0.7)
    expected = [
        evaluator.reward(name, [*before, {"response": text}], weights=weights)
        for name, before, text in zip(names, previous, texts, strict=True)
    ]
    reward = reward_function(evaluator, weights=weights)
    credit = reward_function(evaluator, weights=weights, credit_only=True)
    chat = [[{"role": "assistant", "content": text}] for text in texts]
    for completions in (texts, chat):
        found = reward(prompts=["…"] * 5, completions=completions, **columns)
        assert found == [result.value for result in expected]
        found = credit(prompts=["…"] * 5, completions=completions, **columns)
        assert found == [result.turns[-1].credit for result in expected]


def test_null_values_in_previous_turns_are_ignored(evaluator: Evaluator) -> None:
    name, turns = next(iter(sample_predictions("good").items()))
    domains = {domain for turn in turns for domain in turn["state"]}
    with_nulls = [
        {**turn, "bookings": None, "state": dict.fromkeys(domains) | turn["state"]}
        for turn in turns[:2]
    ]
    reward = reward_function(evaluator, weights=RewardWeights(1, 1, 1))
    values = [
        reward(completions=[turns[2]["response"]], dialogue_id=[name], previous_turns=[before])
        for before in (turns[:2], with_nulls, [], None)
    ]
    assert values[0] == values[1]
    assert values[2] == values[3]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "dialogue_id .*previous_turns"),
        ({"dialogue_id": ["smp0021"]}, "dialogue_id has 1"),
    ],
)
def test_reward_column_errors_name_the_column(
    evaluator: Evaluator, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        reward_function(evaluator)(completions=["a", "b"], **columns)


@pytest.mark.parametrize("completion", [None, [], [{"role": "assistant"}], ["text"], 7])
def test_completions_without_text_are_errors(completion: Any) -> None:
    with pytest.raises(UsageError):
        completion_text(completion)
