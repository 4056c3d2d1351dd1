"""Fine-tuning of any BERT in a local folder as an NLU: tags of characters, and classes.

Source: BERTNLU of Zhu et al., TACL 2020, section 5.1. Characters are given to the model as words,
so that its word pieces and our tags stay together whatever its vocabulary; context and utterance
are its two segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.models.nlu import (
    BETWEEN,
    MODEL_FILE,
    JointNlu,
    Labels,
    NluLearner,
    Utterance,
    load_tagger,
    lowered,
    training_examples,
    values_of,
)
from mwzeval.crosswoz.protocols import USER
from mwzeval.crosswoz.settings import BERT_SETTINGS, NluSettings
from mwzeval.errors import UsageError, shorten
from mwzeval.files.cache import checksums_of
from mwzeval.libraries import required
from mwzeval.neural.state import Arrays, fingerprint, load_model, weights_of, write_arrays
from mwzeval.neural.training import Watch, reproducible, train

KIND = "CrossWOZ BERT NLU"
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")
LOCAL = {"local_files_only": True, "trust_remote_code": False}
SIDE_MARKS = {True: "用", False: "系"}
"""The first character of a context says whose utterance follows: the user's or the system's."""


class BertNetwork(nn.Module):
    """Turns utterances into logits of tags and classes, as the character network.

    Characters that the body has no place for get the tag outside. Raises `UsageError` for a
    tokeniser that does not say where its pieces come from.
    """

    def __init__(self, body: Any, tokenizer: Any, labels: Labels, settings: NluSettings) -> None:
        super().__init__()
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError("a fast tokeniser is needed, which tells where its pieces come from")
        self._most_pieces = getattr(body.config, "max_position_embeddings", 512)
        self._longest = min(settings.longest, (self._most_pieces - 3) // 2)
        if self._longest < 2:
            raise UsageError(f"a model with {self._most_pieces} positions is too small")
        self._tokenizer, self._reads_context = tokenizer, settings.context
        self.body = body
        self.dropout = nn.Dropout(settings.dropout)
        self.tags = nn.Linear(body.config.hidden_size, len(labels.tags))
        self.classes = nn.Linear(body.config.hidden_size, len(labels.classes))

    def forward(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
        """Return the logits."""
        texts = [_characters(utterance.text[: self._longest]) for utterance in utterances]
        encoded = self._tokenizer(
            [self._before(utterance) for utterance in utterances],
            texts,
            is_split_into_words=True,
            truncation=True,
            max_length=self._most_pieces,
            padding=True,
            return_tensors="pt",
        )
        states = self.dropout(self.body(**encoded).last_hidden_state)
        width = max(1, *map(len, texts))
        places = torch.zeros((len(texts), width), dtype=torch.long)
        there = torch.zeros((len(texts), width), dtype=torch.bool)
        for row in range(len(texts)):
            words, segments = encoded.word_ids(row), encoded.sequence_ids(row)
            for place in range(len(words) - 1, -1, -1):
                if segments[place] == 1 and words[place] is not None:
                    places[row, words[place]] = place  # the first piece of it is left
                    there[row, words[place]] = True
        around = states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2]))
        around = around.masked_fill(~there.unsqueeze(2), 0.0)
        return self.tags(around), self.classes(states[:, 0])

    def _before(self, utterance: Utterance) -> list[str]:
        """Return the first segment: the mark of a side and, if the model reads it, the context."""
        mark = SIDE_MARKS[utterance.side == USER]
        if not self._reads_context:
            return [mark]
        text = BETWEEN.join(utterance.context)[-(self._longest - 1) :]
        return [mark, *_characters(text.replace(BETWEEN, "|"))]


def _characters(text: str) -> list[str]:
    """Return the characters in lower case; lone surrogates, which are no text, as �.

    BERT's tokeniser leaves that one out, too.
    """
    return ["\ufffd" if "\ud800" <= char <= "\udfff" else char for char in lowered(text)]


def train_bert(
    dialogues: Sequence[Dialogue],
    encoder: str | Path,
    folder: str | Path,
    settings: NluSettings = BERT_SETTINGS,
    watch: Watch | None = None,
    database: Database | None = None,
) -> JointNlu:
    """Fine-tune the BERT of the folder `encoder`; return the NLU that `folder` then holds.

    The rest is as for `train_tagger`. Raises `InputError` for dialogues without utterances,
    `UsageError` when the encoder is no such folder or `folder` holds something else,
    `DependencyError` without transformers.
    """
    _transformers()
    examples = training_examples(dialogues)
    labels = Labels.of(examples)
    with reproducible(settings):
        body, tokenizer = read_encoder(Path(encoder))
        network = BertNetwork(body, tokenizer, labels, settings)
    vocabulary = vocabulary_checksum(tokenizer)
    about = {**asdict(labels), "settings": asdict(settings), "vocabulary": vocabulary}

    def save(folder: Path) -> None:
        body.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        write_arrays(folder / MODEL_FILE, KIND, weights_of(network.state_dict()), about)

    files = (Path(encoder, name) for name in (CONFIG_FILE, WEIGHTS_FILE))
    checksums = [vocabulary, *(checksums_of(file).sha256 for file in files)]
    values = values_of(examples, database)
    learner = NluLearner(network, labels, examples, values, settings, save, checksums)
    train(learner, Path(folder), watch)
    return learner.nlu


def read_encoder(folder: Path) -> tuple[Any, Any]:
    """Return the BERT of a folder and its tokeniser; nothing is downloaded, and no code is run.

    Raises `UsageError` for whatever else is there.
    """

    def refused(reason: str) -> UsageError:
        return UsageError(f"{shorten(str(folder), 300)} cannot be loaded as a model: {reason}")

    transformers = _transformers()
    missing = [name for name in (CONFIG_FILE, WEIGHTS_FILE) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in VOCABULARY_FILES):
        missing.append(" or ".join(VOCABULARY_FILES))
    if missing:
        raise refused(
            f"there is no {', no '.join(missing)}. Nothing is downloaded: name the folder of a "
            "BERT in the format of Hugging Face. Pickled weights (pytorch_model.bin) can run code "
            "and are not read: convert them to safetensors",
        )
    try:
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        if config.model_type != "bert":
            raise refused(f'its model_type is "{config.model_type}", not "bert"')
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), use_fast=True, **LOCAL)
        body, found = transformers.AutoModel.from_pretrained(
            str(folder),
            config=config,
            add_pooling_layer=False,
            use_safetensors=True,
            output_loading_info=True,
            **LOCAL,
        )
    except UsageError:
        raise
    except Exception as error:  # whatever damaged files provoke in transformers and its libraries
        raise refused(shorten(str(error), 300)) from None
    if lacking := sorted(map(str, [*found["missing_keys"], *found["mismatched_keys"]])):
        raise refused(f"{WEIGHTS_FILE} lacks {len(lacking)} of its weights, such as {lacking[0]}")
    if len(tokenizer) > config.vocab_size:
        raise refused(
            f"its vocabulary has {len(tokenizer)} entries, the model {config.vocab_size}: they do "
            "not belong together",
        )
    return body, tokenizer


def _transformers() -> Any:
    """Return the library, without its progress bars: small files are read here."""
    transformers = required("transformers", "training")
    transformers.utils.logging.disable_progress_bar()
    return transformers


def vocabulary_checksum(tokenizer: Any) -> str:
    """Return a checksum of the pieces that a tokeniser knows, and their numbers."""
    return fingerprint([sorted(tokenizer.get_vocab().items())])


def load_bert(folder: str | Path) -> JointNlu:
    """Return the NLU of a folder that `train_bert` wrote.

    Raises `InputError` for anything else, `DependencyError` without transformers.
    """
    transformers = _transformers()

    def made(about: Any, _: Arrays) -> JointNlu:
        labels, settings = Labels.checked(about), NluSettings(**about["settings"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        if vocabulary_checksum(tokenizer) != about["vocabulary"]:
            raise ValueError("its vocabulary is another than in training")
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        body = transformers.AutoModel.from_config(config, add_pooling_layer=False)
        return JointNlu(BertNetwork(body, tokenizer, labels, settings), labels)

    return load_model(folder, MODEL_FILE, KIND, made)


def load_nlu(path: str | Path) -> JointNlu:
    """Return the NLU of a folder that training wrote, or of a tagger's file.

    Raises `InputError` for anything else, `DependencyError` without the libraries that it needs.
    """
    is_bert = Path(path, CONFIG_FILE).is_file()
    return load_bert(path) if is_bert else load_tagger(path)
