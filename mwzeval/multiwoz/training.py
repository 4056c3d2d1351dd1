"""Functions for training loops: `compute_metrics` for the Trainer of transformers, and a reward
function for TRL.

This module does not import transformers or TRL, and only reads attributes of their objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.scoring.reward import DEFAULT_WEIGHTS, RewardWeights
from mwzeval.scores.report import Report

TurnDict = Mapping[str, Any]
Parse = Callable[[str], TurnDict]
IGNORED_LABEL = -100
"""The label of ignored positions in transformers, and the padding value of predictions."""


def response_only(text: str) -> TurnDict:
    """Convert a generated text to a turn whose response is the whole text.

    The turn has no state, so the gold state is used for scoring.
    """
    return {"response": text.strip()}


def compute_metrics(
    evaluator: Evaluator,
    tokenizer: Any,
    examples: Iterable[tuple[str, int]],
    *,
    parse: Parse = response_only,
    shift_labels: bool = False,
) -> Callable[[Any], dict[str, float]]:
    """Return a `compute_metrics` for transformers' `Trainer` or `Seq2SeqTrainer`.

    The function decodes the predictions, assembles dialogues and returns the scores of
    `evaluator.evaluate` as a flat dictionary (see `flat_scores`). `examples` has an item for each
    row of the evaluation data set, in the same order. An item consists of a dialogue id and the
    index of a system turn (from 0). The rows of a dialogue's turns may be in any order, but no turn
    before the last may be missing. `parse` converts a decoded text to a turn; by default the whole
    text is the response.

    Predictions may be token ids (`predict_with_generate=True`) or logits, as an array or as the
    first item of a tuple. Logits are predicted from the gold prefix (teacher forcing), so their
    most likely tokens only approximate a generated response. Only logits at positions with labels
    are used. For causal language models (`shift_labels=True`), labels are shifted by one position.

    Before training starts, raises `UsageError` if the examples do not form dialogues, and
    `InputError` if a dialogue is not in the corpus. The returned function raises `UsageError` if
    the predictions do not match the examples.
    """
    rows = [(str(name), int(turn)) for name, turn in examples]
    turns: dict[str, list[int]] = {}
    for name, turn in rows:
        turns.setdefault(name, []).append(turn)
    wrong = [
        f'"{shorten(name)}" has the turns {", ".join(map(str, sorted(indices)))}'
        for name, indices in turns.items()
        if sorted(indices) != list(range(len(indices)))
    ]
    if wrong or not turns:
        raise UsageError(
            "examples must name each system turn of a dialogue once, (dialogue id, 0), "
            f"(dialogue id, 1), …; {'; '.join(wrong[:5]) or 'there are none'}"
        )
    evaluator.check_metrics()
    # The check with empty responses finds turns that are not in the corpus.
    evaluator.checked({name: [{"response": ""}] * len(indices) for name, indices in turns.items()})

    def metrics_of(prediction: Any) -> dict[str, float]:
        predicted = generated_ids(
            prediction.predictions, prediction.label_ids, shift_labels=shift_labels
        )
        if len(predicted) != len(rows):
            raise UsageError(
                f"got {len(predicted)} predictions for {len(rows)} examples: compute_metrics "
                "was created for another evaluation data set"
            )
        dialogues: dict[str, list[TurnDict]] = {
            name: [{}] * len(indices) for name, indices in turns.items()
        }
        texts = decoded_responses(tokenizer, predicted)
        for (name, turn), text in zip(rows, texts, strict=True):
            dialogues[name][turn] = parse(text)
        return flat_scores(evaluator.evaluate(dialogues))

    return metrics_of


def decoded_responses(tokenizer: Any, rows: Iterable[Iterable[int]]) -> list[str]:
    """Return the text of each row of token ids, without padding, -100 and special tokens.

    Placeholders are often added as special tokens. Unlike `skip_special_tokens`, this function
    retains special tokens that are known placeholders.
    """
    dropped = {*tokenizer.all_special_ids, tokenizer.pad_token_id}
    for token in [*tokenizer.all_special_ids]:
        name = str(tokenizer.convert_ids_to_tokens(token)).strip().lower()
        if name.startswith("[") and name.endswith("]") and name[1:-1] in PLACEHOLDERS:
            dropped.discard(token)
    kept = ([int(token) for token in row if token >= 0 and token not in dropped] for row in rows)
    return [str(tokenizer.decode(tokens, skip_special_tokens=False)) for tokens in kept]


def flat_scores(report: Report) -> dict[str, float]:
    """Return the main scores of a report as a flat dictionary.

    The keys `inform` and `success` also exist for each domain (`inform_hotel`). `bleu` is the score
    for the first reference set, and `bleu_NAME` is the score for the set NAME; `combined` is
    (Inform + Success) / 2 + BLEU for the first set. Further keys are `joint_accuracy`, `slot_f1`
    and the names of richness scores. Scores that were not computed are omitted.
    """
    metrics = report.metrics
    success, bleu = metrics.get("success") or {}, metrics.get("bleu") or {}
    flat: dict[str, Any] = {
        name if scope == "total" else f"{name}_{scope}": rate
        for name, rates in success.items()
        for scope, rate in rates.items()
    }
    if bleu:
        flat["bleu"] = next(iter(bleu.values()))
    flat |= {f"bleu_{name}": score for name, score in bleu.items()}
    if success and bleu:
        flat["combined"] = (flat["inform"] + flat["success"]) / 2 + flat["bleu"]
    flat |= metrics.get("dst") or {}
    flat |= metrics.get("richness") or {}
    return {name: float(score) for name, score in flat.items()}


def generated_ids(
    predictions: Any, labels: Any = None, *, shift_labels: bool = False
) -> list[list[int]]:
    """Return the token ids of each example from a Trainer's predictions.

    `predictions` are ids (examples × length) or logits (examples × length × vocabulary), as an
    array or as the first item of a tuple. For logits, the most likely tokens are returned at
    positions whose label is not -100, or at all positions if there are no `labels`. If
    `shift_labels` is true, the logits at a position predict the next label. Raises `UsageError` if
    the predictions have another shape.
    """
    if isinstance(predictions, tuple | list) and predictions and np.ndim(predictions[0]) > 1:
        predictions = predictions[0]  # logits or ids; hidden states and other items are ignored
    array = np.asarray(predictions)
    if array.ndim == 2 and np.issubdtype(array.dtype, np.integer):
        return [[int(token) for token in row] for row in array]
    if array.ndim != 3:
        raise UsageError(
            "predictions must be token ids (examples × length) or logits (examples × length × "
            f"vocabulary); these have the shape {array.shape} and are of type {array.dtype}"
        )
    best = array.argmax(axis=-1)
    counts = np.ones(best.shape, dtype=bool)
    if labels is not None:
        labels = np.asarray(labels[0] if isinstance(labels, tuple) else labels)
        if labels.shape != best.shape:
            raise UsageError(
                f"labels have the shape {labels.shape} and predictions {best.shape}: they must "
                "be padded in the same way"
            )
        counts = labels != IGNORED_LABEL
    if shift_labels:
        best, counts = best[:, :-1], counts[:, 1:]
    return [
        [int(token) for token in row[counting]] for row, counting in zip(best, counts, strict=True)
    ]


def best_tokens(logits: Any, labels: Any) -> Any:
    """Return the most likely token at each position with a label, and -100 at other positions.

    Use this function as `preprocess_logits_for_metrics` for seq2seq models; otherwise, a Trainer
    stores all logits of the whole data set. The computation runs on the device of the tensors.
    """
    if isinstance(logits, tuple):
        logits = logits[0]
    best = logits.argmax(-1)
    best[labels == IGNORED_LABEL] = IGNORED_LABEL
    return best


def reward_function(
    evaluator: Evaluator,
    *,
    weights: RewardWeights = DEFAULT_WEIGHTS,
    parse: Parse = response_only,
    credit_only: bool = False,
) -> Callable[..., list[float]]:
    """Return a reward function with TRL's signature: `f(prompts, completions, **columns)`.

    The training data set needs the columns `dialogue_id` and `previous_turns`. `previous_turns` has
    the system turns before the completion, each in the form of predictions. A completion is text,
    or a list of messages, whose last message is used. The reward is the value of the dialogue up to
    and including this turn, or, with `credit_only`, the credit of this turn (see
    `mwzeval.multiwoz.scoring.reward`). Nulls in `previous_turns` are ignored, because tables such
    as those of `datasets` add missing keys to every turn. Raises `UsageError` for weights that the
    evaluator does not support (see `Evaluator.reward`). The returned function raises `UsageError`
    if columns are missing or lengths differ, and `InputError` if turns cannot be scored.
    """
    evaluator.check_weights(weights)

    def rewards_of(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        *,
        dialogue_id: Sequence[str] = (),
        previous_turns: Sequence[Sequence[TurnDict]] = (),
        **_: Any,
    ) -> list[float]:
        lengths = {"dialogue_id": len(dialogue_id), "previous_turns": len(previous_turns)}
        wrong = [f"{k} has {n} items" for k, n in lengths.items() if n != len(completions)]
        if wrong:
            raise UsageError(
                f"the data set's columns do not fit {len(completions)} completions: "
                f"{', '.join(wrong)}"
            )
        turns = [
            [*_without_nulls(before or ()), parse(completion_text(completion))]
            for before, completion in zip(previous_turns, completions, strict=True)
        ]
        rewards = evaluator.rewards(zip(dialogue_id, turns, strict=True), weights=weights)
        return [reward.turns[-1].credit if credit_only else reward.value for reward in rewards]

    return rewards_of


def _without_nulls(value: Any) -> Any:
    """Return lists and dicts without keys whose value is null."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def completion_text(completion: Any) -> str:
    """Return the text of a completion: the completion itself, or the content of its last message.

    Raises `UsageError` if the completion has another type.
    """
    text = completion
    if isinstance(completion, Sequence) and not isinstance(completion, str) and completion:
        text = completion[-1].get("content") if isinstance(completion[-1], Mapping) else None
    if not isinstance(text, str):
        raise UsageError(
            "a completion must be text or a list of messages that ends with text, not "
            f"{shorten(repr(completion))}"
        )
    return text
