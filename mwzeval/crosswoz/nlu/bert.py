"""Fine-tuning of any BERT in a local folder for the same task: tags of characters, and classes.

Source: BERTNLU of Zhu et al., TACL 2020, section 5.1. Characters are given to the model as words,
so that its word pieces and our tags stay together whatever its vocabulary; context and utterance
are its two segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.nlu.examples import Labels, NluSettings, Utterance, lowered
from mwzeval.crosswoz.nlu.model import BETWEEN, MODEL_FILE, JointNlu
from mwzeval.crosswoz.nlu.training import NluLearner, training_examples
from mwzeval.crosswoz.nlu.variation import values_of
from mwzeval.crosswoz.simulation.protocols import USER
from mwzeval.errors import UsageError, shorten
from mwzeval.files.cache import checksums_of
from mwzeval.libraries import required
from mwzeval.neural.state import read_arrays, refused, set_weights, weights_of, write_arrays
from mwzeval.neural.training import Watch, reproducible, train

if TYPE_CHECKING:
    from torch import Tensor

KIND = "CrossWOZ BERT NLU"
EXTRA = "training"
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")
LOCAL = {"local_files_only": True, "trust_remote_code": False}
SIDE_MARKS = {True: "用", False: "系"}
"""The first character of a context says whose utterance follows: the user's or the system's."""
BERT_SETTINGS = NluSettings(learning_rate=3e-5, dropout=0.1, batch_size=20, epochs=5)


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
    required("torch")
    examples = training_examples(dialogues)
    labels = Labels.of(examples)
    with reproducible(settings):
        body, tokenizer = read_encoder(Path(encoder))
        network = bert_network(body, tokenizer, labels, settings)

    def save(folder: Path) -> None:
        body.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        about = {
            "tags": labels.tags,
            "classes": labels.classes,
            "settings": asdict(settings),
            "vocabulary": vocabulary_checksum(tokenizer),
        }
        write_arrays(folder / MODEL_FILE, KIND, weights_of(network.state_dict()), about)

    values = values_of(examples, database)
    of_encoder = [vocabulary_checksum(tokenizer)]
    of_encoder += [checksums_of(Path(encoder, name)).sha256 for name in (CONFIG_FILE, WEIGHTS_FILE)]
    learner = NluLearner(network, labels, examples, values, settings, save, of_encoder)
    train(learner, Path(folder), watch)
    return JointNlu(network, labels)


def read_encoder(folder: Path) -> tuple[Any, Any]:
    """Return the BERT of a folder and its tokeniser; nothing is downloaded, and no code is run.

    Raises `UsageError` for whatever else is there.
    """
    transformers = _transformers()
    missing = [name for name in (CONFIG_FILE, WEIGHTS_FILE) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in VOCABULARY_FILES):
        missing.append(" or ".join(VOCABULARY_FILES))
    if missing:
        raise _no_encoder(
            folder,
            f"there is no {', no '.join(missing)}. Nothing is downloaded: name the folder of a "
            "BERT in the format of Hugging Face. Pickled weights (pytorch_model.bin) can run code "
            "and are not read: convert them to safetensors",
        )
    try:
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        if config.model_type != "bert":
            raise _no_encoder(folder, f'its model_type is "{config.model_type}", not "bert"')
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
        raise _no_encoder(folder, shorten(str(error), 300)) from None
    if found["missing_keys"] or found["mismatched_keys"]:
        lost = sorted(map(str, [*found["missing_keys"], *found["mismatched_keys"]]))
        raise _no_encoder(
            folder, f"{WEIGHTS_FILE} lacks {len(lost)} of its weights, such as {lost[0]}"
        )
    if len(tokenizer) > config.vocab_size:
        raise _no_encoder(
            folder,
            f"its vocabulary has {len(tokenizer)} entries, the model {config.vocab_size}: they do "
            "not belong together",
        )
    return body, tokenizer


def _transformers() -> Any:
    """Return the library, without its progress bars: small files are read here."""
    transformers = required("transformers", EXTRA)
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _no_encoder(folder: Path, reason: str) -> UsageError:
    return UsageError(f"{shorten(str(folder), 300)} cannot be loaded as a model: {reason}")


def vocabulary_checksum(tokenizer: Any) -> str:
    """Return a checksum of the pieces that a tokeniser knows, and their numbers."""
    pieces = sorted(tokenizer.get_vocab().items())
    return blake2b(repr(pieces).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def load_bert(folder: str | Path) -> JointNlu:
    """Return the NLU of a folder that `train_bert` wrote.

    Raises `InputError` for anything else, `DependencyError` without transformers.
    """
    transformers = _transformers()
    required("torch")
    file = Path(folder, MODEL_FILE)
    arrays, about = read_arrays(file, KIND)
    try:
        settings = NluSettings(**about["settings"])
        labels = Labels.checked(about["tags"], about["classes"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        if vocabulary_checksum(tokenizer) != about["vocabulary"]:
            raise ValueError("its vocabulary is another than in training")
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        network = bert_network(
            transformers.AutoModel.from_config(config, add_pooling_layer=False),
            tokenizer,
            labels,
            settings,
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
            texts = [_characters(said.text[: chosen.longest]) for said in utterances]
            encoded = tokenizer(
                [_before(said, chosen) for said in utterances],
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


def _before(said: Utterance, settings: NluSettings) -> list[str]:
    """Return the first segment: the mark of a side and, if the model reads it, the context."""
    mark = SIDE_MARKS[said.side == USER]
    if not settings.context:
        return [mark]
    text = BETWEEN.join(said.context)[-(settings.longest - 1) :]
    return [mark, *_characters(text.replace(BETWEEN, "|"))]


def _characters(text: str) -> list[str]:
    """Return the characters in lower case; lone surrogates, which are no text, as �.

    BERT's tokeniser leaves that one out, too.
    """
    return ["\ufffd" if "\ud800" <= char <= "\udfff" else char for char in lowered(text)]
