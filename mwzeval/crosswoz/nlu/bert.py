"""Fine-tuning of any BERT of Hugging Face for the same task: tags of characters, and classes.

Source: BERTNLU of Zhu et al., TACL 2020, section 5.1. Characters are given to the model as words,
so that its word pieces and our tags stay together whatever its vocabulary; context and utterance
are its two segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.nlu.examples import Labels, NluSettings, Utterance, lowered
from mwzeval.crosswoz.nlu.model import BETWEEN, MODEL_FILE, JointNlu
from mwzeval.crosswoz.nlu.training import NluLearner, training_examples
from mwzeval.crosswoz.simulation.protocols import USER
from mwzeval.errors import UsageError, shorten
from mwzeval.libraries import required
from mwzeval.neural.state import read_arrays, refused, set_weights, weights_of, write_arrays
from mwzeval.neural.training import Watch, reproducible, train

if TYPE_CHECKING:
    from torch import Tensor

KIND = "CrossWOZ BERT NLU"
EXTRA = "training"
SIDE_MARKS = {True: "用", False: "系"}
"""The first character of a context says whose utterance follows: the user's or the system's."""
BERT_SETTINGS = NluSettings(learning_rate=3e-5, dropout=0.1, batch_size=20, epochs=5)


def train_bert(
    dialogues: Sequence[Dialogue],
    name_or_path: str | Path,
    folder: str | Path,
    settings: NluSettings = BERT_SETTINGS,
    watch: Watch | None = None,
) -> JointNlu:
    """Fine-tune a BERT, given by name or path, and return the NLU that `folder` then holds.

    Called again after it was interrupted, it goes on. Raises `InputError` for dialogues without
    utterances, `UsageError` when there is no such model or the folder holds something else,
    `DependencyError` without transformers.
    """
    transformers = required("transformers", EXTRA)
    required("torch")
    examples = training_examples(dialogues)
    labels = Labels.of(examples)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(name_or_path), use_fast=True)
        with reproducible(settings):
            body = transformers.AutoModel.from_pretrained(
                str(name_or_path), use_safetensors=None, weights_only=True
            )
    except Exception as error:  # whatever damaged files provoke in transformers and its libraries
        raise UsageError(
            f"{shorten(str(name_or_path), 300)} cannot be loaded as a model: "
            f"{shorten(str(error), 300)}"
        ) from None
    with reproducible(settings):
        network = bert_network(body, tokenizer, labels, settings)

    def save(folder: Path) -> None:
        body.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        about = {"tags": labels.tags, "classes": labels.classes, "settings": asdict(settings)}
        write_arrays(folder / MODEL_FILE, KIND, weights_of(network.state_dict()), about)

    train(NluLearner(network, labels, examples, settings, save), Path(folder), watch)
    return JointNlu(network, labels)


def load_bert(folder: str | Path) -> JointNlu:
    """Return the NLU of a folder that `train_bert` wrote.

    Raises `InputError` for anything else, `DependencyError` without transformers.
    """
    transformers = required("transformers", EXTRA)
    required("torch")
    file = Path(folder, MODEL_FILE)
    arrays, about = read_arrays(file, KIND)
    try:
        settings = NluSettings(**about["settings"])
        labels = Labels.checked(about["tags"], about["classes"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True)
        network = bert_network(
            transformers.AutoModel.from_config(config), tokenizer, labels, settings
        )
        set_weights(network.state_dict(), arrays)
    except Exception as error:  # as above
        raise refused(file, f"the model is damaged ({shorten(str(error), 300)})") from None
    return JointNlu(network, labels)


def bert_network(body: Any, tokenizer: Any, labels: Labels, settings: NluSettings) -> Any:
    """Return a module that turns utterances into logits of tags and classes.

    As the character network's; characters that the body has no place for get the tag outside.
    Raises `UsageError` for a tokeniser that does not tell where its pieces come from.
    """
    import torch
    from torch import nn

    if not getattr(tokenizer, "is_fast", False):
        raise UsageError("a fast tokeniser is needed, which tells where its pieces come from")
    room = getattr(body.config, "max_position_embeddings", 512)
    longest = min(settings.longest, (room - 3) // 2)
    if longest < 2:
        raise UsageError(f"a model with {room} positions is too small")
    chosen = replace(settings, longest=longest)

    class BertNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = body.config.hidden_size
            self.body = body
            self.dropout = nn.Dropout(settings.dropout)
            self.tags = nn.Linear(width, len(labels.tags))
            self.classes = nn.Linear(width, len(labels.classes))

        def forward(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
            texts = [list(lowered(said.text[: chosen.longest])) for said in utterances]
            encoded = tokenizer(
                [_context(said, chosen.longest) for said in utterances],
                texts,
                is_split_into_words=True,
                truncation=True,
                max_length=room,
                padding=True,
                return_tensors="pt",
            )
            states = self.dropout(self.body(**encoded).last_hidden_state)
            width = max(1, *map(len, texts))
            places = torch.zeros((len(texts), width), dtype=torch.long)
            there = torch.zeros((len(texts), width), dtype=torch.bool)
            for row in range(len(texts)):
                of_words, segments = encoded.word_ids(row), encoded.sequence_ids(row)
                for place in range(len(of_words) - 1, -1, -1):
                    if segments[place] == 1 and of_words[place] is not None:
                        places[row, of_words[place]] = place  # the first piece of it is left
                        there[row, of_words[place]] = True
            around = states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2]))
            around = around.masked_fill(~there.unsqueeze(2), 0.0)
            return self.tags(around), self.classes(states[:, 0])

    return BertNetwork()


def _context(said: Utterance, longest: int) -> list[str]:
    text = lowered(BETWEEN.join(said.context))[-(longest - 1) :]
    return [SIDE_MARKS[said.side == USER], *text.replace(BETWEEN, "|")]
