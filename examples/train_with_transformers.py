"""Fine-tune with transformers, score Inform, Success and BLEU every epoch, and keep the best model.

    pip install '.[training]'
    python examples/train_with_transformers.py --output tiny-model

There are two ways to the same scores: `compute_metrics` for a `Seq2SeqTrainer` that generates, and
a callback that generates by itself and works with any Trainer. The model is a tiny random T5 with a
vocabulary of whole words from the embedded sample corpus. It needs no download and no GPU, but its
responses are bad. For a real model, replace `tiny_model` and `word_tokenizer` with
`from_pretrained` and the corpus with `multiwoz-2.2`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from mwzeval import Evaluator
from mwzeval.multiwoz import Fold
from mwzeval.multiwoz.ceiling import gold_predictions
from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.training import compute_metrics, decoded_responses, flat_scores

WORDS = 32
"""Longest input and response, in tokens."""


@dataclass(frozen=True)
class Example:
    """A system turn: the previous utterances, and the delexicalized gold response."""

    dialogue: str
    turn: int
    utterance: str
    response: str


def examples_of(corpus: str, fold: Fold, dialogues: int | None = None) -> list[Example]:
    """Return the system turns of a fold, or of its first dialogues, in order."""
    gold = load_fold(corpus, fold, corpus_root(corpus, None, offline=True))
    responses = gold_predictions(gold)
    return [
        Example(name, number, utterance, turn["response"])
        for name in list(gold.dialogues)[:dialogues]
        for number, (utterance, turn) in enumerate(
            zip(gold.dialogues[name].user_utterances, responses[name], strict=True)
        )
    ]


def word_tokenizer(examples: list[Example]) -> PreTrainedTokenizerFast:
    """Return a tokenizer of whole words with placeholders as special tokens."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["<pad>", "</s>", "<unk>", *(f"[{name}]" for name in PLACEHOLDERS)]
    texts = (text.lower() for e in examples for text in (e.utterance, e.response))
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def encoded(examples: list[Example], tokenizer: PreTrainedTokenizerFast) -> Any:
    """Return a data set for a Trainer with a row for each example."""
    end = tokenizer.eos_token_id
    return [
        {
            "input_ids": [*tokenizer(e.utterance.lower()).input_ids[: WORDS - 1], end],
            "labels": [*tokenizer(e.response.lower()).input_ids[: WORDS - 1], end],
        }
        for e in examples
    ]


def tiny_model(tokenizer: PreTrainedTokenizerFast) -> T5ForConditionalGeneration:
    """Return a T5 of a few hundred thousand parameters with random weights."""
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,  # type: ignore[call-arg]
        )
    )


class KeepBestResponses(TrainerCallback):
    """Generates and scores all responses after each epoch; saves the best model and responses."""

    def __init__(
        self,
        evaluator: Evaluator,
        tokenizer: PreTrainedTokenizerFast,
        examples: list[Example],
        folder: Path,
        metric: str = "combined",
        batch_size: int = 32,
    ) -> None:
        self.evaluator = evaluator
        self.tokenizer = tokenizer
        self.examples = examples
        self.folder = folder
        self.metric = metric
        self.batch_size = batch_size
        self.best: float | None = None
        self.history: list[dict[str, float]] = []

    def on_epoch_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Score the current model."""
        predictions: dict[str, list[dict[str, str]]] = {}
        for example, response in zip(self.examples, self.responses(model), strict=True):
            predictions.setdefault(example.dialogue, []).append({"response": response})
        scores = flat_scores(self.evaluator.evaluate(predictions))
        self.history.append(scores)
        if self.best is None or scores[self.metric] > self.best:
            self.best = scores[self.metric]
            model.save_pretrained(self.folder)
            (self.folder / "predictions.json").write_text(json.dumps(predictions, indent=1))
            (self.folder / "scores.json").write_text(json.dumps(scores, indent=1))

    def responses(self, model: Any) -> Iterator[str]:
        """Yield the response of each example, in order."""
        model.eval()
        collate = DataCollatorForSeq2Seq(self.tokenizer, model=model)
        rows = [{"input_ids": row["input_ids"]} for row in encoded(self.examples, self.tokenizer)]
        for start in range(0, len(rows), self.batch_size):
            batch = collate(rows[start : start + self.batch_size]).to(model.device)
            with torch.no_grad():
                generated = model.generate(**batch, max_length=WORDS)
            yield from decoded_responses(self.tokenizer, generated.tolist())


def main() -> int:
    """Train, and print the scores of each epoch as JSON Lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="keep the best model in this folder")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--dialogues", type=int, help="train and evaluate on so few dialogues")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.output is not None:
        return train(arguments, arguments.output)
    with TemporaryDirectory() as folder:  # checkpoints are temporary
        return train(arguments, Path(folder))


def train(arguments: argparse.Namespace, output: Path) -> int:
    """Train and save the best model in a folder; return the exit code."""
    torch.manual_seed(arguments.seed)

    evaluator = Evaluator(bleu=True, success=True, corpus="sample", fold="dev")
    of_train = examples_of("sample", "train", arguments.dialogues)
    dev = examples_of("sample", "dev", arguments.dialogues)
    tokenizer = word_tokenizer(of_train)
    model = tiny_model(tokenizer)
    keep_best = KeepBestResponses(evaluator, tokenizer, dev, output / "best")
    trainer = Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            output_dir=str(output),
            num_train_epochs=arguments.epochs,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=32,
            learning_rate=5e-3,
            predict_with_generate=True,
            generation_max_length=WORDS,
            eval_strategy="epoch",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            seed=arguments.seed,
            use_cpu=True,
        ),
        train_dataset=encoded(of_train, tokenizer),
        eval_dataset=encoded(dev, tokenizer),
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
        compute_metrics=compute_metrics(
            evaluator, tokenizer, [(example.dialogue, example.turn) for example in dev]
        ),
        callbacks=[keep_best],
    )
    trainer.train()
    of_trainer = [entry for entry in trainer.state.log_history if "eval_combined" in entry]
    for epoch, (own, theirs) in enumerate(zip(keep_best.history, of_trainer, strict=True), start=1):
        print(
            json.dumps(
                {
                    "epoch": epoch,
                    "callback": own,
                    "compute_metrics": {name: theirs[f"eval_{name}"] for name in own},
                }
            )
        )
    saved = None if arguments.output is None else str(keep_best.folder)
    print(json.dumps({"best": keep_best.best, "saved": saved}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
