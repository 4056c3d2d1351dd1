"""A trained NLU: tags of characters and classes of utterances.

Values of Inform and Recommend acts in an utterance are tagged by character (B and I); all other
acts are classes of the whole utterance. The network is a recurrent layer over the characters of
context and utterance, or a BERT from a local folder, which is then fine-tuned. The loss is the
cross-entropy of the tags plus the weighted cross-entropy of the classes. Without validation data,
the last weights are used.

Source: BERTNLU of Zhu et al., TACL 2020, section 5.1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, SEPARATOR, Act, Acts, parse_act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, check_characters
from mwzeval.crosswoz.corpus.file_shapes import ShapeError, checked_acts, is_texts
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    DEPARTURE,
    DEPARTURE_STATION,
    DESTINATION,
    DESTINATION_STATION,
    DISHES,
    NAME,
    NEARBY,
    NOTHING,
    PHONE,
    STATION,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
)
from mwzeval.crosswoz.protocols import CONTEXT, SYSTEM, USER, Side
from mwzeval.crosswoz.tracks import SYSTEM_ACTS_NLU, USER_ACTS
from mwzeval.crosswoz.training import BERT_SETTINGS, NluSettings
from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.files.cache import checksums_of
from mwzeval.libraries import required
from mwzeval.neural import (
    Arrays,
    Learner,
    Point,
    Watch,
    fingerprint,
    load_model,
    reproducible,
    train,
    weights_of,
    write_arrays,
)

OUTSIDE = "O"
BEGIN, INSIDE = "B-", "I-"
PADDING, UNKNOWN = 0, 1
SPECIAL = 2
BETWEEN = "\n"
"""The separator of the utterances of a context."""
IGNORED = -100
RAREST = 2
"""Characters that occur less often than this in training are unknown."""
MODEL_FILE = "nlu.safetensors"
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")
LOCAL = {"local_files_only": True, "trust_remote_code": False}
SIDE_MARKS = {True: "用", False: "系"}
"""The first character of BERT's context input, which shows whether the user or the system is
speaking."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance of one side, and the previous utterances, oldest first."""

    text: str
    context: tuple[str, ...]
    side: Side


@dataclass(frozen=True, slots=True)
class Example:
    """An utterance with the tag of each character and the classes of the whole utterance."""

    utterance: Utterance
    tags: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The tags and classes of a model, which are numbered by their indices."""

    tags: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Labels:
        """Return the tags and classes that occur in training examples."""
        kinds = {tag[len(BEGIN) :] for example in examples for tag in example.tags if tag[1:]}
        tags = [OUTSIDE, *(mark + kind for kind in sorted(kinds) for mark in (BEGIN, INSIDE))]
        classes = {spelling for example in examples for spelling in example.classes}
        return cls(tuple(tags), tuple(sorted(classes)))

    @classmethod
    def checked(cls, about: Any) -> Labels:
        """Return the labels in the description of a model file.

        Raises `ShapeError` if the listed tags or classes are invalid.
        """
        tags = about["tags"]
        if not is_texts(tags) or OUTSIDE not in tags or not all(map(_is_tag, tags)):
            raise ShapeError(f"tags: expected {OUTSIDE}, and B and I of intent+domain+slot")
        if len(set(tags)) < len(tags):
            raise ShapeError("tags: a tag occurs more than once")
        return cls(tuple(tags), checked_acts(about["classes"]))

    def acts(self, text: str, tags: Sequence[int], classes: Iterable[int]) -> Acts:
        """Return the acts that are predicted by the tags and classes of an utterance, in order."""
        acts = {parse_act(self.classes[number]) for number in classes}
        for start, end, kind in spans([self.tags[number] for number in tags]):
            acts.add(parse_act([*kind.split(SEPARATOR, 2), text[start:end]]))
        return tuple(sorted(acts))


def _is_tag(tag: str) -> bool:
    return tag == OUTSIDE or (tag.startswith((BEGIN, INSIDE)) and tag.count(SEPARATOR) == 2)


def utterances(dialogue: Dialogue) -> list[tuple[Utterance, Acts]]:
    """Return the utterances of a dialogue with their context and gold acts."""
    before: list[str] = []
    found = []
    for exchange in dialogue.exchanges:
        for side, turn in ((USER, exchange.user), (SYSTEM, exchange.system)):
            found.append((Utterance(turn.utterance, tuple(before[-CONTEXT:]), side), turn.acts))
            before.append(turn.utterance)
    return found


def example_of(utterance: Utterance, acts: Acts) -> Example:
    """Return a training example: an utterance, the tags of its characters and its classes.

    A value that the utterance does not contain is left out. If a value contains another value, the
    longer value is tagged.
    """
    text = lowered(utterance.text)
    tags = [OUTSIDE] * len(text)
    classes = []
    for act in sorted(acts, key=lambda act: -len(act.value)):
        if not is_tagged(act):
            classes.append(str(act))
            continue
        value, kind = lowered(act.value), SEPARATOR.join(act[:3])
        start = text.find(value)
        while start >= 0:
            end = start + len(value)
            if all(tag == OUTSIDE for tag in tags[start:end]):
                tags[start:end] = [BEGIN + kind, *[INSIDE + kind] * (len(value) - 1)]
                break
            start = text.find(value, start + 1)
    return Example(utterance, tuple(tags), tuple(sorted(classes)))


def is_tagged(act: Act) -> bool:
    """Return whether an act is predicted by tagging its value, not as a class."""
    sayable = act.intent in (INFORM, RECOMMEND) and not act.is_service
    return sayable and act.value not in ("", NOTHING)


def lowered(text: str) -> str:
    """Return a text in lower case, except characters whose lower case has another length."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and kind (intent, domain and slot) of tagged values.

    A tag I that does not follow a tag of the same kind also begins a value.
    """
    start, kind = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        if kind and tag != INSIDE + kind:
            yield start, place, kind
            kind = ""
        if not kind and tag != OUTSIDE:
            start, kind = place, tag[len(BEGIN) :]


def examples_of(dialogues: Iterable[Dialogue]) -> list[Example]:
    """Return the examples of dialogues, one for each utterance."""
    return [example_of(*utterance) for dialogue in dialogues for utterance in utterances(dialogue)]


def class_weights(examples: Sequence[Example], labels: Labels) -> list[float]:
    """Return the weight of positive cases by class: log10(negative / positive), at least 1.

    Source: the public code of BERTNLU.
    """
    counts = Counter(spelling for example in examples for spelling in example.classes)
    ratios = ((len(examples) - counts[name]) / counts[name] for name in labels.classes)
    return [max(1.0, math.log10(ratio)) if ratio else 1.0 for ratio in ratios]


Values = Mapping[tuple[str, str], Sequence[str]]
"""A mapping from (domain, slot) to the possible values; a value that occurs several times is more
likely."""


def values_of(examples: Iterable[Example], database: Database | None = None) -> Values:
    """Return the values that are tagged in the examples, and the database values of open slots.

    `varied` replaces values in training examples by other values, so that the model does not
    memorize names. A sentence is equally natural with the name of another venue.
    """
    values: dict[tuple[str, str], list[str]] = {}
    for example in examples:
        for start, end, kind in spans(example.tags):
            _, domain, slot = kind.split(SEPARATOR, 2)
            values.setdefault((domain, slot), []).append(example.utterance.text[start:end])
    for place, value in _open_values(database) if database is not None else ():
        values.setdefault(place, []).append(value)
    return values


def _open_values(database: Database) -> Iterator[tuple[tuple[str, str], str]]:
    for domain in VENUE_DOMAINS:
        for name, record in database.entities(domain):
            for slot in (NAME, ADDRESS, PHONE):
                if isinstance(text := record.get(slot), str) and text:
                    yield (domain, slot), text
            for dish in record.get(DISHES) or ():
                yield (domain, DISHES), dish
            for near in VENUE_DOMAINS:
                yield (near, NEARBY[domain]), name
            for trip in TRAFFIC_DOMAINS:
                yield (trip, DEPARTURE), name
                yield (trip, DESTINATION), name
            if isinstance(station := record.get(STATION), str) and station:
                yield (TRAFFIC_DOMAINS[0], DEPARTURE_STATION), station
                yield (TRAFFIC_DOMAINS[0], DESTINATION_STATION), station


def varied(example: Example, values: Values, share: float, draw: Iterator[float]) -> Example:
    """Return an example in which a share of the values is replaced by other values of their slots.

    `draw` yields random numbers in [0, 1). The context does not change.
    """
    text, tags = example.utterance.text, example.tags
    pieces: list[str] = []
    marks: list[str] = []
    before = 0
    for start, end, kind in spans(tags):
        if next(draw) >= share:
            continue
        _, domain, slot = kind.split(SEPARATOR, 2)
        choice = values[domain, slot]
        value = choice[int(next(draw) * len(choice))]
        pieces += [text[before:start], value]
        marks += [*tags[before:start], BEGIN + kind, *[INSIDE + kind] * (len(value) - 1)]
        before = end
    if not before:
        return example
    utterance = replace(example.utterance, text="".join([*pieces, text[before:]]))
    return replace(example, utterance=utterance, tags=(*marks, *tags[before:]))


def best_tags(
    logits: NDArray[Any], lengths: Sequence[int], tags: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Return the most probable tag of each character of each utterance, as a tag number.

    The Viterbi algorithm finds the most probable valid sequence of tags, in which an I follows a B
    or I of the same kind. Without this rule, a single uncertain character could split a name.
    `logits` has the shape (utterances, characters, tags); `lengths` has the number of valid
    characters.
    """
    places = {tag: number for number, tag in enumerate(tags)}
    pairs = [
        (places[BEGIN + tag[len(INSIDE) :]], number)
        for tag, number in places.items()
        if tag.startswith(INSIDE) and BEGIN + tag[len(INSIDE) :] in places
    ]
    begins, insides = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    scores = np.asarray(logits, dtype=np.float64)
    scores = scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)
    over = np.arange(scores.shape[1]) >= np.asarray(lengths)[:, None]
    scores[over] = -np.inf
    scores[over, places[OUTSIDE]] = 0.0  # after the end of an utterance, all tags are outside
    total = scores[:, 0].copy()
    total[:, insides] = -np.inf
    before = np.empty(scores.shape, dtype=np.int64)
    for place in range(1, scores.shape[1]):
        before[:, place] = total.argmax(axis=1)[:, None]
        reached = np.repeat(total.max(axis=1, keepdims=True), len(tags), axis=1)
        goes_on = total[:, insides] >= total[:, begins]
        before[:, place, insides] = np.where(goes_on, insides, begins)
        reached[:, insides] = np.maximum(total[:, insides], total[:, begins])
        total = reached + scores[:, place]
    best = np.empty(scores.shape[:2], dtype=np.int64)
    best[:, -1] = total.argmax(axis=1)
    rows = np.arange(len(best))
    for place in range(scores.shape[1] - 1, 0, -1):
        best[:, place - 1] = before[rows, place, best[:, place]]
    return [row[:length] for row, length in zip(best, lengths, strict=True)]


class NluNetwork(nn.Module):
    """Maps utterances to logits of tags, shape (utterances, characters, tags), and of classes."""

    kind: str
    """The kind of model in the header of its file."""
    about: Mapping[str, str]
    """The description of the network in the model file, in addition to labels and settings."""

    def save_body(self, folder: Path) -> None:
        """Write the other files that are needed to load the network."""


class CharacterNetwork(NluNetwork):
    """A recurrent layer over characters."""

    kind = "CrossWOZ character tagger"

    def __init__(self, characters: str, labels: Labels, settings: NluSettings) -> None:
        super().__init__()
        size, width = settings.embedding, settings.hidden
        self.about = {"characters": characters}
        self._numbers = {char: number for number, char in enumerate(characters, start=SPECIAL)}
        self._longest = settings.longest
        self.characters = nn.Embedding(SPECIAL + len(characters), size, padding_idx=PADDING)
        self.sides = nn.Embedding(2, size)
        self.context = nn.Conv1d(size, width, 3, padding=1) if settings.context else None
        self.onwards = nn.GRU(size, width, batch_first=True)
        self.backwards = nn.GRU(size, width, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        self.mix = nn.Linear((3 if settings.context else 2) * width + size, 2 * width)
        self.tags = nn.Linear(2 * width, len(labels.tags))
        self.tags_of_all = nn.Linear(2 * width, len(labels.tags), bias=False)
        self.classes = nn.Linear(2 * width, len(labels.classes))

    def forward(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
        """Return the logits."""
        texts = self._tensor([utterance.text[: self._longest] for utterance in utterances])
        sides = self.sides(torch.tensor([int(utterance.side == USER) for utterance in utterances]))
        read = self._dropped(self.characters(texts) + sides.unsqueeze(1))
        # The backward direction starts from the last character, not from padding; otherwise the
        # result would depend on the longest utterance in the batch.
        places, lengths = torch.arange(texts.shape[1]), (texts != PADDING).sum(dim=1, keepdim=True)
        turned = torch.where(places < lengths, lengths - 1 - places, places).unsqueeze(2)
        onwards, _ = self.onwards(read)
        back, _ = self.backwards(read.gather(1, turned.expand_as(read)))
        states = torch.cat([onwards, back.gather(1, turned.expand_as(back))], dim=2)
        hidden = (texts == PADDING).unsqueeze(2)
        known = [states.masked_fill(hidden, -1.0).amax(dim=1), sides]
        if self.context is not None:
            before = [BETWEEN.join(utterance.context)[-self._longest :] for utterance in utterances]
            read = self._dropped(self.characters(self._tensor(before)))
            known.append(self.context(read.transpose(1, 2)).amax(dim=2).relu())
        mixed = self.dropout(self.mix(self.dropout(torch.cat(known, dim=1))).relu())
        tags = self.tags(self._dropped(states)) + self.tags_of_all(mixed).unsqueeze(1)
        return tags, self.classes(mixed)

    def _dropped(self, states: Tensor) -> Tensor:
        """Return states in which the same units are dropped at all characters of an utterance."""
        kept: Tensor = self.dropout(torch.ones_like(states[:, :1]))
        return states * kept

    def _tensor(self, texts: Sequence[str]) -> Tensor:
        rows = [[self._numbers.get(char, UNKNOWN) for char in lowered(text)] for text in texts]
        width = max(1, *map(len, rows))
        return torch.tensor([row + [PADDING] * (width - len(row)) for row in rows])


class BertNetwork(NluNetwork):
    """A BERT and its tokenizer.

    Each character is a word for the tokenizer, so that word pieces of any vocabulary can be
    assigned to tags. BERT's first input segment is the context, and its second input segment is the
    utterance. Characters beyond the maximum length get the tag for characters outside of values.
    Raises `UsageError` if the tokenizer does not provide word indices.
    """

    kind = "CrossWOZ BERT NLU"

    def __init__(self, body: Any, tokenizer: Any, labels: Labels, settings: NluSettings) -> None:
        super().__init__()
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError(
                "a fast tokenizer is needed, which returns the positions of its pieces"
            )
        self._most_pieces = getattr(body.config, "max_position_embeddings", 512)
        self._longest = min(settings.longest, (self._most_pieces - 3) // 2)
        if self._longest < 2:
            raise UsageError(f"a model with {self._most_pieces} positions is too small")
        self._tokenizer, self._reads_context = tokenizer, settings.context
        self.about = {"vocabulary": vocabulary_checksum(tokenizer)}
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
                    places[row, words[place]] = place  # the first piece of a word remains
                    there[row, words[place]] = True
        around = states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2]))
        around = around.masked_fill(~there.unsqueeze(2), 0.0)
        return self.tags(around), self.classes(states[:, 0])

    def save_body(self, folder: Path) -> None:
        """Write the configuration of the BERT, and the tokenizer."""
        self.body.config.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _before(self, utterance: Utterance) -> list[str]:
        """Return the first segment: the mark of the side and, if the model uses it, the context."""
        mark = SIDE_MARKS[utterance.side == USER]
        if not self._reads_context:
            return [mark]
        text = BETWEEN.join(utterance.context)[-(self._longest - 1) :]
        return [mark, *_characters(text.replace(BETWEEN, "|"))]


def _characters(text: str) -> list[str]:
    """Return the characters in lower case; � replaces lone surrogates, which are not valid text.

    BERT's tokenizer also removes this character.
    """
    return ["\ufffd" if "\ud800" <= char <= "\udfff" else char for char in lowered(text)]


def read_encoder(folder: Path) -> tuple[Any, Any]:
    """Return the BERT in a folder and its tokenizer, without downloads or execution of code.

    Raises `UsageError` for other folders.
    """

    def refused(reason: str) -> UsageError:
        return UsageError(f"{shorten(str(folder), 300)} cannot be loaded as a model: {reason}")

    transformers = _transformers()
    missing = [name for name in (CONFIG_FILE, WEIGHTS_FILE) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in VOCABULARY_FILES):
        missing.append(" or ".join(VOCABULARY_FILES))
    if missing:
        raise refused(
            f"there is no {', no '.join(missing)}. Models are not downloaded: name the folder of "
            "a BERT model in the format of Hugging Face. Pickled weights (pytorch_model.bin) "
            "can run code and are not read: convert them to safetensors",
        )
    try:
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        if config.model_type != "bert":
            raise refused(f'the model_type is "{config.model_type}", not "bert"')
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
    except Exception as error:  # damaged files cause various errors in transformers
        raise refused(shorten(str(error), 300)) from None
    if lacking := sorted(map(str, [*found["missing_keys"], *found["mismatched_keys"]])):
        raise refused(f"{WEIGHTS_FILE} lacks {len(lacking)} of its weights, such as {lacking[0]}")
    if len(tokenizer) > config.vocab_size:
        raise refused(
            f"the vocabulary has {len(tokenizer)} entries, but the model has "
            f"{config.vocab_size}: they do not belong together",
        )
    return body, tokenizer


def _transformers() -> Any:
    """Return the library with progress bars disabled, because only small files are read."""
    transformers = required("transformers", "training")
    transformers.utils.logging.disable_progress_bar()
    return transformers


def vocabulary_checksum(tokenizer: Any) -> str:
    """Return a checksum of a tokenizer's vocabulary: its word pieces and their numbers."""
    return fingerprint([sorted(tokenizer.get_vocab().items())])


@dataclass(frozen=True, slots=True, eq=False)
class JointNlu:
    """Maps utterances to acts with a network of tags and classes."""

    network: NluNetwork
    labels: Labels
    batch_size: int = 64

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance. `context` has previous utterances, oldest first."""
        return self.predict([Utterance(utterance, tuple(context)[-CONTEXT:], side)])[0]

    def predict(self, utterances: Sequence[Utterance]) -> list[Acts]:
        """Return the acts of each utterance, in order and without repeats."""
        self.network.eval()
        acts: list[Acts] = [()] * len(utterances)
        lengths = [len(utterance.text) for utterance in utterances]
        # Utterances of similar length are batched, to reduce padding. Empty texts have no acts.
        order = sorted((i for i, length in enumerate(lengths) if length), key=lengths.__getitem__)
        with torch.inference_mode():
            for start in range(0, len(order), self.batch_size):
                chosen = order[start : start + self.batch_size]
                tags, classes = self.network([utterances[index] for index in chosen])
                read = [min(lengths[index], tags.shape[1]) for index in chosen]
                best = best_tags(tags.numpy(), read, self.labels.tags)
                for row, index in enumerate(chosen):
                    positive = (classes[row] > 0).nonzero().flatten().tolist()
                    text = utterances[index].text
                    acts[index] = self.labels.acts(text, best[row].tolist(), positive)
        return acts

    def exchanges(self, dialogue: Dialogue) -> list[dict[str, Any]]:
        """Return the exchanges of a dialogue for a predictions file of the NLU track."""
        acts = self.predict([utterance for utterance, _ in utterances(dialogue)])
        pairs = zip(acts[::2], acts[1::2], strict=True)
        return [{USER_ACTS: user, SYSTEM_ACTS_NLU: system} for user, system in pairs]


def train_nlu(
    dialogues: Sequence[Dialogue],
    folder: str | Path,
    settings: NluSettings | None = None,
    watch: Watch | None = None,
    database: Database | None = None,
    encoder: str | Path | None = None,
) -> JointNlu:
    """Train a character tagger, or fine-tune the BERT in the folder `encoder`; return the NLU.

    The NLU and a checkpoint after each epoch are written to `folder`. Calling this function again
    resumes an interrupted training and gives an identical result. `watch` gets the mean loss of
    each epoch. Values of the `database` are used to vary examples.

    Raises `InputError` if there are no utterances, a text is invalid Unicode or the checkpoint is
    damaged. Raises `UsageError` if `folder` contains other files or `encoder` is not a BERT. Raises
    `DependencyError` if a BERT is used without transformers.
    """
    examples = training_examples(dialogues)
    labels, values = Labels.of(examples), values_of(examples, database)
    network: NluNetwork
    checksums: list[str] = []
    if encoder is None:
        settings = settings or NluSettings()
        counts: Counter[str] = Counter(BETWEEN * RAREST)
        for text in chain((example.utterance.text for example in examples), *values.values()):
            counts.update(lowered(text))
        characters = "".join(sorted(char for char, count in counts.items() if count >= RAREST))
        with reproducible(settings):
            network = CharacterNetwork(characters, labels, settings)
    else:
        settings = settings or BERT_SETTINGS
        with reproducible(settings):
            network = BertNetwork(*read_encoder(Path(encoder)), labels, settings)
        files = (Path(encoder, name) for name in (CONFIG_FILE, WEIGHTS_FILE))
        checksums = [network.about["vocabulary"], *(checksums_of(file).sha256 for file in files)]
    learner = NluLearner(network, labels, examples, values, settings, checksums)
    train(learner, Path(folder), watch)
    return learner.nlu


def load_nlu(path: str | Path) -> JointNlu:
    """Return the NLU in a folder that training wrote, or in the file of a character tagger.

    Raises `InputError` if the path contains no trained NLU, and `DependencyError` if a required
    library is missing.
    """
    is_bert = Path(path, CONFIG_FILE).is_file()
    transformers = _transformers() if is_bert else None

    def made(about: Any, _: Arrays) -> JointNlu:
        labels, settings = Labels.checked(about), NluSettings(**about["settings"])
        if transformers is None:
            return JointNlu(CharacterNetwork(about["characters"], labels, settings), labels)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), **LOCAL)
        if vocabulary_checksum(tokenizer) != about["vocabulary"]:
            raise ValueError("the vocabulary differs from the one in training")
        config = transformers.AutoConfig.from_pretrained(str(path), **LOCAL)
        body = transformers.AutoModel.from_config(config, add_pooling_layer=False)
        return JointNlu(BertNetwork(body, tokenizer, labels, settings), labels)

    kind = BertNetwork.kind if is_bert else CharacterNetwork.kind
    return load_model(path, MODEL_FILE, kind, made)


def training_examples(dialogues: Sequence[Dialogue]) -> list[Example]:
    """Return the training examples.

    Raises `InputError` if the dialogues have no utterances or a text is invalid Unicode.
    """
    check_characters(dialogues)
    examples = [example for example in examples_of(dialogues) if example.utterance.text]
    if not any(example.classes for example in examples):
        raise InputError([Problem("no-training-data", "the dialogues have no acts to train on")])
    return examples


class NluLearner(Learner):
    """An NLU during training; `checksums` cover all training inputs except the examples."""

    model_file = MODEL_FILE
    longest_gradient = 5.0

    def __init__(
        self,
        network: NluNetwork,
        labels: Labels,
        examples: Sequence[Example],
        values: Values,
        settings: NluSettings,
        checksums: Sequence[str] = (),
    ) -> None:
        data = (fingerprint(examples), fingerprint(sorted(values.items())), *checksums)
        super().__init__(network, settings, len(examples), data)
        self.lengths = np.array([len(example.utterance.text) for example in examples])
        self.nlu = JointNlu(network, labels)
        self._examples, self._values, self._share = examples, values, settings.varied
        self._class_weights = torch.tensor(class_weights(examples, labels))

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean loss of an utterance: the cross-entropies of its tags and classes."""
        # The state of PyTorch's generator is saved in checkpoints.
        draw = iter(lambda: float(torch.rand(())), None)
        batch = [varied(self._examples[i], self._values, self._share, draw) for i in chosen]
        tags, classes = self.nlu.network.train()([example.utterance for example in batch])
        labels = self.nlu.labels
        tag_numbers = {tag: number for number, tag in enumerate(labels.tags)}
        class_numbers = {name: number for number, name in enumerate(labels.classes)}
        gold_tags = torch.full(tags.shape[:2], IGNORED)
        gold_classes = torch.zeros(classes.shape)
        for row, example in enumerate(batch):
            numbers = [tag_numbers[tag] for tag in example.tags[: tags.shape[1]]]
            gold_tags[row, : len(numbers)] = torch.tensor(numbers)
            for name in example.classes:
                gold_classes[row, class_numbers[name]] = 1.0
        of_tags = functional.cross_entropy(
            tags.transpose(1, 2), gold_tags, ignore_index=IGNORED, reduction="sum"
        )
        of_classes = functional.binary_cross_entropy_with_logits(
            classes, gold_classes, pos_weight=self._class_weights, reduction="sum"
        )
        loss: Tensor = (of_tags + of_classes) / len(batch)
        return loss

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        network, labels = self.nlu.network, self.nlu.labels
        network.save_body(folder)
        about = {**network.about, **asdict(labels), "settings": asdict(self.settings)}
        weights = weights_of(network.state_dict())
        write_arrays(folder / self.model_file, network.kind, weights, about)
