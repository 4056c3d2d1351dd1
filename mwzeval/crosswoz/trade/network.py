"""The network of TRADE: the likelihood of a state, and the likeliest state.

Source: Wu et al., ACL 2019. An encoder reads the history; a decoder, begun with a slot, looks back
at it: a gate says whether the slot has a value, and each word of the value is written from the
vocabulary or copied from the history. It is made inside a function, because PyTorch is imported
only where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mwzeval.crosswoz.corpus.names import DOMAINS
from mwzeval.crosswoz.trade.examples import (
    END,
    MARKS,
    PADDING,
    SLOTS,
    UNKNOWN,
    Example,
    TradeSettings,
)

if TYPE_CHECKING:
    from torch import Tensor

FILLED = 1
"""The gate's class of slots that have a value; 0: they have none."""
IMPOSSIBLE = -1e9
"""The score of what cannot be copied: finite, so that its gradient is 0."""


def trade_network(vocabulary: int, settings: TradeSettings) -> Any:
    """Return a module with random first weights, for a vocabulary of this size.

    `loss(examples)` is the mean negative log-likelihood of their states, in nats;
    `states(examples)` are the likeliest ones: for each example, slot → words.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    domain_numbers = torch.tensor([DOMAINS.index(domain) for domain, _ in SLOTS])
    names = list(dict.fromkeys(slot for _, slot in SLOTS))
    name_numbers = torch.tensor([names.index(slot) for _, slot in SLOTS])

    class Trade(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = settings.hidden
            self.words = nn.Embedding(vocabulary, width, padding_idx=PADDING)
            self.domains = nn.Embedding(len(DOMAINS), width)
            self.slots = nn.Embedding(len(names), width)
            for embedding in (self.words, self.domains, self.slots):
                nn.init.normal_(embedding.weight, std=0.1)
            # Two, because a packed bidirectional layer takes quadratic time to learn on CPUs.
            self.forwards = nn.GRU(width, width)
            self.backwards = nn.GRU(width, width)
            self.decoder = nn.GRU(width, width, batch_first=True)
            self.switch = nn.Linear(3 * width, 1)
            self.gate = nn.Linear(2 * width, 2)
            self.dropout = nn.Dropout(settings.dropout)

        def encode(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
            """Return histories as numbers, and as vectors of each word and of the whole."""
            lengths = torch.tensor([len(example.words) for example in examples])
            histories = torch.full((len(examples), int(lengths.max())), PADDING)
            for row, example in enumerate(examples):
                histories[row, : len(example.words)] = torch.from_numpy(example.words)
            read = histories.masked_fill(histories >= vocabulary, UNKNOWN)
            if self.training:
                # As in the public code: what may be unknown is learned by where it stands.
                is_kept = torch.rand(read.shape) >= settings.dropout
                read = read.where(is_kept | (read <= max(MARKS)), UNKNOWN)
            inputs = self.dropout(self.words(read)).transpose(0, 1)
            # Backwards each history begins with its last word, and its padding stays in place.
            places = torch.arange(len(inputs)).unsqueeze(1)
            turned = (lengths - 1 - places).where(places < lengths, places)
            rows = torch.arange(len(examples))
            forwards, _ = self.forwards(inputs)
            backwards, _ = self.backwards(inputs[turned, rows])
            whole = forwards[lengths - 1, rows] + backwards[lengths - 1, rows]
            encoded = forwards + backwards[turned, rows]
            return histories, encoded.transpose(0, 1), whole

        def begin(self, whole: Tensor) -> tuple[Tensor, Tensor]:
            """Return the decoder's first inputs and states, both (examples, slots, width)."""
            inputs = self.dropout(self.domains(domain_numbers) + self.slots(name_numbers))
            inputs = inputs.expand(len(whole), -1, -1)
            hidden = whole.repeat_interleave(len(SLOTS), dim=0).unsqueeze(0)
            states, _ = self.decoder(inputs.flatten(0, 1).unsqueeze(1), hidden)
            return inputs, states.view(inputs.shape)

        def attend(
            self, states: Tensor, encoded: Tensor, histories: Tensor
        ) -> tuple[Tensor, Tensor]:
            """Return logarithms of how much each state looks at each word, and what it sees."""
            scores = states @ encoded.transpose(1, 2)
            hidden = (histories == PADDING).unsqueeze(1)
            looks = scores.masked_fill(hidden, IMPOSSIBLE).log_softmax(dim=2)
            return looks, looks.exp() @ encoded

        def mixture(self, states: Tensor, seen: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
            """Return logarithms of the shares of vocabulary and history in the next word."""
            score = self.switch(torch.cat([states, seen, inputs], dim=-1))
            return functional.logsigmoid(score), functional.logsigmoid(-score)

        def loss(self, examples: Sequence[Example]) -> Tensor:
            histories, encoded, whole = self.encode(examples)
            inputs, states = self.begin(whole)
            _, seen = self.attend(states, encoded, histories)
            is_filled = torch.zeros(states.shape[:2], dtype=torch.long)
            written = [(row, slot) for row, e in enumerate(examples) for slot in e.values]
            for row, slot in written:
                is_filled[row, slot] = FILLED
            gates = self.gate(torch.cat([states, seen], dim=2)).transpose(1, 2)
            loss = functional.cross_entropy(gates, is_filled, reduction="sum")
            if written:
                rows, slots = torch.tensor(written).unbind(1)
                values = [examples[row].values[slot] for row, slot in written]
                first = inputs[rows, slots], states[rows, slots]
                likelihoods = self.likelihoods(values, *first, encoded[rows], histories[rows])
                loss = loss - likelihoods.sum()
            return loss / len(examples)

        def likelihoods(
            self,
            values: Sequence[Sequence[int]],
            inputs: Tensor,
            states: Tensor,
            encoded: Tensor,
            histories: Tensor,
        ) -> Tensor:
            """Return log-likelihoods of the words of values, given those before them.

            Logarithms throughout: what is unlikely has a gradient, too.
            """
            width = max(map(len, values)) + 1
            rows = [[*value, END] + [PADDING] * (width - 1 - len(value)) for value in values]
            words = torch.tensor(rows)
            inputs, states = inputs.unsqueeze(1), states.unsqueeze(1)
            if width > 1:
                before = words[:, :-1]
                read = before.masked_fill(before >= vocabulary, UNKNOWN)
                later = self.dropout(self.words(read))
                after, _ = self.decoder(later, states.transpose(0, 1).contiguous())
                inputs, states = torch.cat([inputs, later], 1), torch.cat([states, after], 1)
            looks, seen = self.attend(states, encoded, histories)
            is_there = words.unsqueeze(2) == histories.unsqueeze(1)
            copied = looks.masked_fill(~is_there, IMPOSSIBLE).logsumexp(dim=2)
            # The vocabulary is large: only what is no padding.
            real = words != PADDING
            words, states, seen, inputs, copied = (
                each[real] for each in (words, states, seen, inputs, copied)
            )
            in_vocabulary = words < vocabulary
            number = words.where(in_vocabulary, UNKNOWN).unsqueeze(1)
            spelled = (states @ self.words.weight.T).log_softmax(dim=1).gather(1, number).squeeze(1)
            of_vocabulary, of_history = self.mixture(states, seen, inputs)
            return torch.logaddexp(
                of_vocabulary.squeeze(1) + spelled.masked_fill(~in_vocabulary, IMPOSSIBLE),
                of_history.squeeze(1) + copied,
            )

        def states(self, examples: Sequence[Example]) -> list[dict[int, list[int]]]:
            histories, encoded, whole = self.encode(examples)
            inputs, states = self.begin(whole)
            _, seen = self.attend(states, encoded, histories)
            found: list[dict[int, list[int]]] = [{} for _ in examples]
            gates = self.gate(torch.cat([states, seen], dim=2))
            rows, slots = (gates.argmax(dim=2) == FILLED).nonzero().unbind(1)
            if not len(rows):
                return found
            words = self.write(
                inputs[rows, slots], states[rows, slots], encoded[rows], histories[rows]
            )
            for row, slot, value in zip(rows.tolist(), slots.tolist(), words, strict=True):
                if value:
                    found[row][slot] = value
            return found

        def write(
            self, inputs: Tensor, states: Tensor, encoded: Tensor, histories: Tensor
        ) -> list[list[int]]:
            """Return the likeliest words of values, one by one, all values at once."""
            size = max(vocabulary, int(histories.max()) + 1)
            values = np.full((len(inputs), settings.longest_value), END)
            is_open = torch.ones(len(inputs), dtype=torch.bool)
            states = states.unsqueeze(0)
            for place in range(settings.longest_value):
                now = states.squeeze(0)
                looks, seen = self.attend(now.unsqueeze(1), encoded, histories)
                of_vocabulary, of_history = self.mixture(now, seen.squeeze(1), inputs)
                spelled = (now @ self.words.weight.T).log_softmax(dim=1)
                chances = spelled.new_zeros(len(inputs), size)
                chances[:, :vocabulary] = (of_vocabulary + spelled).exp()
                chances.scatter_add_(1, histories, (of_history + looks.squeeze(1)).exp())
                chances[:, [PADDING, UNKNOWN, *MARKS]] = -1.0
                best = chances.argmax(dim=1)
                is_open &= best != END
                if not is_open.any():
                    break
                values[is_open.numpy(), place] = best[is_open].numpy()
                inputs = self.words(best.masked_fill(best >= vocabulary, UNKNOWN))
                _, states = self.decoder(inputs.unsqueeze(1), states.contiguous())
            return [[int(word) for word in value if word != END] for value in values]

    return Trade()
