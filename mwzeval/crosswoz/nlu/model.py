"""A trained NLU: a network, the labels it knows, and how its logits become acts.

The network is a recurrent layer over characters, with the context. It is made inside a function,
because PyTorch is imported only where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.nlu.decoding import best_tags
from mwzeval.crosswoz.nlu.examples import (
    CONTEXT,
    Labels,
    NluSettings,
    Utterance,
    lowered,
    utterances,
)
from mwzeval.crosswoz.simulation.protocols import USER, Side
from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.neural.state import read_arrays, refused, set_weights, weights_of, write_arrays

if TYPE_CHECKING:
    from torch import Tensor


PADDING, UNKNOWN = 0, 1
SPECIAL = 2
BETWEEN = "\n"
"""Stands between the utterances of a context."""


def character_network(characters: str, labels: Labels, settings: NluSettings) -> Any:
    """Return a module that turns utterances into logits, with random first weights.

    Called with utterances it returns the logits of tags, shape (utterances, characters, tags), and
    of classes, shape (utterances, classes). `characters` are those that it knows.
    """
    import torch
    from torch import nn

    numbers = {char: number for number, char in enumerate(characters, start=SPECIAL)}

    class CharacterNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            size, width = settings.embedding, settings.hidden
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
            texts = self._numbers([utterance.text for utterance in utterances], last=False)
            side = torch.tensor([int(utterance.side == USER) for utterance in utterances])
            sides = self.sides(side)
            read = self._dropped(self.characters(texts) + sides.unsqueeze(1))
            # Backwards from the last character: padding must not be read before it, or the
            # length of a neighbour in the batch would change what is understood.
            places, lengths = torch.arange(texts.shape[1]), (texts != PADDING).sum(dim=1)
            turned = torch.where(
                places < lengths.unsqueeze(1), lengths.unsqueeze(1) - 1 - places, places
            ).unsqueeze(2)
            onwards, _ = self.onwards(read)
            back, _ = self.backwards(read.gather(1, turned.expand_as(read)))
            states = torch.cat([onwards, back.gather(1, turned.expand_as(back))], dim=2)
            hidden = (texts == PADDING).unsqueeze(2)
            known = [states.masked_fill(hidden, -1.0).amax(dim=1), sides]
            if self.context is not None:
                before = [BETWEEN.join(utterance.context) for utterance in utterances]
                read = self._dropped(self.characters(self._numbers(before, last=True)))
                known.append(self.context(read.transpose(1, 2)).amax(dim=2).relu())
            mixed = self.dropout(self.mix(self.dropout(torch.cat(known, dim=1))).relu())
            tags = self.tags(self._dropped(states)) + self.tags_of_all(mixed).unsqueeze(1)
            return tags, self.classes(mixed)

        def _dropped(self, states: Tensor) -> Tensor:
            """Return states with the same numbers left out at all characters of an utterance."""
            kept: Tensor = self.dropout(torch.ones_like(states[:, :1]))
            return states * kept

        def _numbers(self, texts: Sequence[str], *, last: bool) -> Tensor:
            """Return characters as numbers; of too long a text the first or the last ones."""
            longest = settings.longest
            cut = [lowered(text[-longest:] if last else text[:longest]) for text in texts]
            width = max(1, *map(len, cut))
            rows = [
                [numbers.get(char, UNKNOWN) for char in text] + [PADDING] * (width - len(text))
                for text in cut
            ]
            return torch.tensor(rows)

    return CharacterNetwork()


MODEL_FILE = "nlu.safetensors"
KIND = "CrossWOZ character tagger"
RAREST = 2
"""Characters that come less often in training are unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class JointNlu:
    """Understands utterances: a network of tags and classes with its labels."""

    network: Any
    labels: Labels
    batch_size: int = 64

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance of a side, given those before it, oldest first."""
        return self.predict([Utterance(utterance, tuple(context)[-CONTEXT:], side)])[0]

    def predict(self, said: Sequence[Utterance]) -> list[Acts]:
        """Return the acts of many utterances, without repetition and in order."""
        import torch

        self.network.eval()
        acts: list[Acts] = [()] * len(said)
        # Utterances of one length together: less is padded. Empty ones have no acts.
        order = sorted((i for i, u in enumerate(said) if u.text), key=lambda i: len(said[i].text))
        with torch.inference_mode():
            for start in range(0, len(order), self.batch_size):
                chosen = order[start : start + self.batch_size]
                tags, classes = self.network([said[index] for index in chosen])
                read = [min(len(said[index].text), tags.shape[1]) for index in chosen]
                best = best_tags(tags.numpy(), read, self.labels.tags)
                for row, index in enumerate(chosen):
                    positive = (classes[row] > 0).nonzero().flatten().tolist()
                    acts[index] = self.labels.acts(said[index].text, best[row].tolist(), positive)
        return acts

    def predictions(self, dialogues: Iterable[Dialogue]) -> dict[str, list[dict[str, Any]]]:
        """Return the entries of a prediction file of the NLU track."""
        predicted = {}
        for dialogue in dialogues:
            acts = self.predict([utterance for utterance, _ in utterances(dialogue)])
            plain = [[list(act) for act in of_turn] for of_turn in acts]
            predicted[dialogue.name] = [
                {"turn": number, "user_acts": user, "system_acts_nlu": system}
                for number, (user, system) in enumerate(zip(plain[::2], plain[1::2], strict=True))
            ]
        return predicted


def known_characters(texts: Iterable[str]) -> str:
    """Return the characters that a tagger learns, sorted."""
    counts: Counter[str] = Counter(BETWEEN * RAREST)
    for text in texts:
        counts.update(lowered(text))
    return "".join(sorted(char for char, count in counts.items() if count >= RAREST))


def save_tagger(path: str | Path, nlu: JointNlu, characters: str, settings: NluSettings) -> None:
    """Write a character tagger as one safetensors file at `path`.

    `characters` are those that the network of `nlu` knows, `settings` those of its training.
    Raises `DependencyError` without safetensors, `MwzevalError` when the place cannot be written.
    """
    about = {
        "characters": characters,
        "tags": nlu.labels.tags,
        "classes": nlu.labels.classes,
        "settings": asdict(settings),
    }
    write_arrays(path, KIND, weights_of(nlu.network.state_dict()), about)


def load_tagger(path: str | Path) -> JointNlu:
    """Return the character tagger of a file, or of a folder that training wrote.

    Raises `InputError` for anything else, `DependencyError` without PyTorch.
    """
    required("torch")
    file = Path(path, MODEL_FILE) if Path(path).is_dir() else Path(path)
    arrays, about = read_arrays(file, KIND)
    try:
        settings = NluSettings(**about["settings"])
        labels = Labels.checked(about["tags"], about["classes"])
        network = character_network(about["characters"], labels, settings)
        set_weights(network.state_dict(), arrays)
    except (LookupError, TypeError, ValueError, RuntimeError, UsageError) as error:
        raise refused(file, f"the model is damaged ({error})") from None
    return JointNlu(network, labels)
