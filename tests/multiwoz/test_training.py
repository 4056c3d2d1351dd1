"""In real training loops, with a tiny random model and a tokenizer made here, on the sample."""

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
    decoded_responses,
    flat_scores,
    generated_ids,
    reward_function,
)
from tests.places import ROOT, sample_predictions

pytestmark = pytest.mark.integration

torch.set_num_threads(1)
PREDICTIONS = {name: turns[:4] for name, turns in list(sample_predictions("good").items())[:6]}
EXAMPLES = [(name, turn) for name, turns in PREDICTIONS.items() for turn in range(len(turns))]
LENGTH = 24
RESPONSES = [
    " ".join(re.findall(r"\[\w+\]|\w+|[^\w\s]", PREDICTIONS[name][turn]["response"])[: LENGTH - 1])
    for name, turn in EXAMPLES
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Whole words between blanks; `[hotel_name]` and the like are special tokens."""
    words = sorted({word for text in RESPONSES for word in text.split()})
    vocabulary = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *words])}
    of_words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    of_words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=of_words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    placeholders = [word for word in words if word.startswith("[")]
    fast.add_special_tokens({"additional_special_tokens": placeholders})
    assert len(fast) == len(vocabulary)
    assert "[hotel_name]" not in fast.decode(fast("a [hotel_name]").input_ids, True)
    return fast


@pytest.fixture(scope="module")
def scorer() -> Evaluator:
    return Evaluator(bleu=True, success=True, richness=True, corpus="sample")


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return [*tokenizer(text).input_ids, tokenizer.eos_token_id]


def padded(rows: list[list[int]], filler: int) -> Any:
    width = max(map(len, rows))
    return np.array([[*row, *[filler] * (width - len(row))] for row in rows])


def as_logits(ids: Any, vocabulary: int) -> Any:
    return np.eye(vocabulary)[np.maximum(ids, 0)]


def regrouped(texts: list[str]) -> dict[str, list[dict[str, str]]]:
    dialogues: dict[str, list[dict[str, str]]] = {}
    for (name, _), text in zip(EXAMPLES, texts, strict=True):
        dialogues.setdefault(name, []).append({"response": text})
    return dialogues


@pytest.mark.parametrize("form", ["ids", "padded ids", "ids in a tuple", "logits", "causal"])
def test_known_predictions_get_the_scores_of_evaluate(
    tokenizer: Any, scorer: Evaluator, form: str
) -> None:
    rows = [ids_of(tokenizer, text) for text in RESPONSES]
    labels = padded(rows, -100)
    predictions: Any = padded(rows, tokenizer.pad_token_id)
    if form == "padded ids":
        predictions = np.pad(predictions, ((0, 0), (1, 3)), constant_values=-100)
        predictions[:, 0] = tokenizer.pad_token_id  # how generated ids begin
    elif form == "ids in a tuple":
        predictions = (predictions, np.zeros((len(rows), 2, 3)))
    elif form != "ids":
        # What is predicted where no label counts must not matter.
        predictions = np.where(labels < 0, 5, labels)
        if form == "causal":
            # One predicts the next: behind a prompt of two tokens whose labels do not count.
            labels = np.pad(labels, ((0, 0), (2, 0)), constant_values=-100)
            predictions = np.pad(predictions, ((0, 0), (1, 1)), constant_values=7)
        predictions = (as_logits(predictions, len(tokenizer)), np.zeros((len(rows), 2, 3)))
    metrics = compute_metrics(scorer, tokenizer, EXAMPLES, shift_labels=form == "causal")
    found = metrics(transformers.EvalPrediction(predictions=predictions, label_ids=labels))
    assert found == flat_scores(scorer.evaluate(regrouped(RESPONSES)))
    assert found["bleu"] > 5
    # Placeholders have come through: a system that says nothing informs less.
    silent = flat_scores(scorer.evaluate(regrouped([""] * len(EXAMPLES))))
    assert found["inform"] > silent["inform"]
    assert all(type(score) is float for score in found.values())


def test_examples_may_come_in_any_order(tokenizer: Any, scorer: Evaluator) -> None:
    order = np.random.default_rng(0).permutation(len(EXAMPLES))
    rows = padded([ids_of(tokenizer, RESPONSES[index]) for index in order], 0)
    metrics = compute_metrics(scorer, tokenizer, [EXAMPLES[index] for index in order])
    found = metrics(SimpleNamespace(predictions=rows, label_ids=None))
    in_order = compute_metrics(scorer, tokenizer, EXAMPLES)
    rows = padded([ids_of(tokenizer, text) for text in RESPONSES], 0)
    expected = in_order(SimpleNamespace(predictions=rows, label_ids=None))
    # The words are in another order, and so are the windows of MSTTR.
    assert {**found, "msttr": 0} == {**expected, "msttr": 0}


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
def test_examples_that_make_no_dialogues_are_refused_before_training(
    tokenizer: Any,
    scorer: Evaluator,
    examples: list[tuple[str, int]],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        compute_metrics(scorer, tokenizer, examples)


def test_an_evaluator_without_metrics_is_refused_before_training(tokenizer: Any) -> None:
    with pytest.raises(UsageError):
        compute_metrics(Evaluator(corpus="sample"), tokenizer, EXAMPLES)


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        (np.zeros((2, 3)), None, "float64"),
        (np.zeros(4, dtype=int), None, r"\(4,\)"),
        (np.zeros((2, 3, 4)), np.zeros((2, 5)), r"\(2, 5\)"),
    ],
)
def test_predictions_of_another_shape_are_refused(
    predictions: Any, labels: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        generated_ids(predictions, labels)


def test_predictions_of_another_data_set_are_refused(tokenizer: Any, scorer: Evaluator) -> None:
    metrics = compute_metrics(scorer, tokenizer, EXAMPLES)
    with pytest.raises(UsageError, match=str(len(EXAMPLES))):
        metrics(SimpleNamespace(predictions=np.zeros((3, 2), dtype=int), label_ids=None))


def test_best_tokens_keep_the_labels_out() -> None:
    logits = torch.tensor(as_logits(np.array([[3, 1, 2], [2, 2, 0]]), 4))
    labels = torch.tensor([[3, 1, -100], [2, -100, -100]])
    expected = [[3, 1, -100], [2, -100, -100]]
    assert best_tokens((logits, None), labels).tolist() == expected
    assert generated_ids(best_tokens(logits, labels).numpy()) == expected


def test_the_example_keeps_the_best_epoch_and_both_ways_agree(tmp_path: Path) -> None:
    program = ROOT / "examples" / "train_with_transformers.py"
    options = ("--output", str(tmp_path), "--epochs", "4", "--dialogues", "8")
    done = subprocess.run(
        [sys.executable, str(program), *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    epochs, last = printed[:-1], printed[-1]
    assert [entry["epoch"] for entry in epochs] == [1, 2, 3, 4]
    for entry in epochs:
        assert entry["callback"] == pytest.approx(entry["compute_metrics"])
    assert last["best"] == max(entry["callback"]["combined"] for entry in epochs)
    saved = json.loads((tmp_path / "best" / "predictions.json").read_text())
    evaluator = Evaluator(bleu=True, success=True, corpus="sample", fold="dev")
    assert flat_scores(evaluator.evaluate(saved))["combined"] == last["best"]
    assert (tmp_path / "best" / "model.safetensors").exists()


def test_nulls_of_previous_turns_are_what_is_not_there(evaluator: Evaluator) -> None:
    name, turns = next(iter(sample_predictions("good").items()))
    domains = {domain for turn in turns for domain in turn["state"]}
    assert len(turns) > 2
    as_in_a_table = [
        {**turn, "bookings": None, "state": dict.fromkeys(domains) | turn["state"]}
        for turn in turns[:2]
    ]
    reward = reward_function(evaluator, weights=RewardWeights(1, 1, 1))
    text = turns[2]["response"]
    plain, filled = (
        reward(completions=[text], dialogue_id=[name], previous_turns=[before])
        for before in (turns[:2], as_in_a_table)
    )
    assert plain == filled
    assert reward(completions=[text], dialogue_id=[name], previous_turns=[None]) == reward(
        completions=[text], dialogue_id=[name], previous_turns=[[]]
    )


def test_a_reward_function_has_the_signature_of_trl(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    names = list(predictions)[:5]
    turns = [predictions[name] for name in names]
    columns = {"dialogue_id": names, "previous_turns": [t[:-1] for t in turns], "unused": [0] * 5}
    texts = [t[-1]["response"] for t in turns]
    weights = RewardWeights(0.1, 0.2, 0.7)
    expected = [
        evaluator.reward(name, [*t[:-1], {"response": t[-1]["response"]}], weights=weights)
        for name, t in zip(names, turns, strict=True)
    ]

    of_dialogue = reward_function(evaluator, weights=weights)
    prompts = ["…"] * 5
    found = of_dialogue(prompts=prompts, completions=texts, **columns)
    assert found == [each.value for each in expected]
    chat = [[{"role": "assistant", "content": text}] for text in texts]
    assert of_dialogue(prompts=prompts, completions=chat, **columns) == found
    of_turn = reward_function(evaluator, weights=weights, credit_only=True)
    credits = of_turn(prompts=prompts, completions=texts, **columns)
    assert credits == [each.turns[-1].credit for each in expected]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "dialogue_id .*previous_turns"),
        ({"dialogue_id": ["smp0021"]}, "dialogue_id has 1"),
    ],
)
def test_columns_that_do_not_fit_are_named(
    evaluator: Evaluator, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        reward_function(evaluator)(completions=["a", "b"], **columns)


@pytest.mark.parametrize("completion", [None, [], [{"role": "assistant"}], ["text"], 7])
def test_a_completion_without_text_is_refused(completion: Any) -> None:
    with pytest.raises(UsageError):
        completion_text(completion)


def test_a_text_may_hold_a_state_too(tokenizer: Any, scorer: Evaluator) -> None:
    def parse(text: str) -> dict[str, Any]:
        return {"response": text, "state": {}, "active_domains": []}

    rows = padded([ids_of(tokenizer, text) for text in RESPONSES], 0)
    metrics = compute_metrics(scorer, tokenizer, EXAMPLES, parse=parse)
    without_state = metrics(SimpleNamespace(predictions=rows, label_ids=None))
    texts = decoded_responses(tokenizer, rows)
    dialogues = {n: [parse(t["response"]) for t in ts] for n, ts in regrouped(texts).items()}
    assert without_state == flat_scores(scorer.evaluate(dialogues))
    assert without_state["success"] == 0
