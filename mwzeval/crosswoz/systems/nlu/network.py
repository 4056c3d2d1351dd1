"""The network of the character tagger: a recurrent layer over characters, and the context.

Made inside functions, because PyTorch is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mwzeval.crosswoz.simulation.protocols import USER
from mwzeval.crosswoz.systems.nlu.examples import Labels, Utterance, lowered
from mwzeval.crosswoz.systems.nlu.settings import NluSettings

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
            self.context = nn.Conv1d(size, 2 * width, 3, padding=1)
            self.recurrent = nn.GRU(size, width, batch_first=True, bidirectional=True)
            self.dropout = nn.Dropout(settings.dropout)
            self.mix = nn.Linear(4 * width + size, 2 * width)
            self.tags = nn.Linear(4 * width, len(labels.tags))
            self.classes = nn.Linear(2 * width, len(labels.classes))

        def forward(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
            texts = self._numbers([utterance.text for utterance in utterances], last=False)
            before = [BETWEEN.join(utterance.context) for utterance in utterances]
            side = torch.tensor([int(utterance.side == USER) for utterance in utterances])
            sides = self.sides(side)
            states, _ = self.recurrent(self.dropout(self.characters(texts) + sides.unsqueeze(1)))
            contexts = self._numbers(before, last=True)
            seen = self.context(self.dropout(self.characters(contexts)).transpose(1, 2)).relu()
            context = seen.amax(dim=2)
            hidden = (texts == PADDING).unsqueeze(2)
            summary = states.masked_fill(hidden, -1.0).amax(dim=1)
            mixed = self.mix(self.dropout(torch.cat([summary, context, sides], dim=1))).relu()
            around = mixed.unsqueeze(1).expand(-1, states.shape[1], -1)
            tags = self.tags(self.dropout(torch.cat([states, around], dim=2)))
            return tags, self.classes(self.dropout(mixed))

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
