"""A trained TRADE: its network and vocabulary, how they are kept, and the states it writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, check_characters
from mwzeval.crosswoz.predictions.tracks import STATE
from mwzeval.crosswoz.trade.examples import SLOTS, Example, TradeSettings, Vocabulary
from mwzeval.crosswoz.trade.network import trade_network
from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.neural.state import read_arrays, refused, set_weights, weights_of, write_arrays

MODEL_FILE = "trade.safetensors"
KIND = "CrossWOZ TRADE"


@dataclass(frozen=True, slots=True, eq=False)
class TradeTracker:
    """Tracks the states of dialogues by their words alone."""

    network: Any
    vocabulary: Vocabulary
    settings: TradeSettings
    batch_size: int = 64

    def track(self, dialogue: Dialogue) -> list[State]:
        """Return the state after each user turn, without slots that have no value.

        Gold states are not looked at. Raises `InputError` for texts that cannot be written again.
        """
        check_characters([dialogue])
        return list(self.states(self.vocabulary.examples([dialogue], self.settings.longest_value)))

    def states(self, examples: Iterable[Example]) -> Iterator[State]:
        """Yield the state of each example."""
        import torch

        self.network.eval()
        left = iter(examples)
        while chosen := list(islice(left, self.batch_size)):
            with torch.inference_mode():
                found = self.network.states(chosen)
            for example, values in zip(chosen, found, strict=True):
                yield self._state(values, example.unknown)

    def _state(self, values: dict[int, list[int]], unknown: Sequence[str]) -> State:
        state: State = {}
        for number, words in values.items():
            domain, slot = SLOTS[number]
            state.setdefault(domain, {})[slot] = self.vocabulary.value(words, unknown)
        return state

    def predictions(self, dialogues: Iterable[Dialogue]) -> dict[str, list[dict[str, Any]]]:
        """Return the entries of a predictions file of the DST track.

        They are conditioned on `predicted_history`. Raises `InputError` as `track`.
        """
        return {
            dialogue.name: [
                {"turn": n, STATE: state} for n, state in enumerate(self.track(dialogue))
            ]
            for dialogue in dialogues
        }

    def save(self, path: Path) -> None:
        """Write it as one safetensors file. Raises `MwzevalError` when that cannot be done."""
        about = {"words": self.vocabulary.words, "settings": asdict(self.settings)}
        write_arrays(path, KIND, weights_of(self.network.state_dict()), about)

    @classmethod
    def load(cls, path: str | Path) -> TradeTracker:
        """Return the tracker of a file, or of a folder that training wrote.

        Raises `InputError` for anything else, `DependencyError` without PyTorch.
        """
        required("torch")
        file = Path(path, MODEL_FILE) if Path(path).is_dir() else Path(path)
        arrays, about = read_arrays(file, KIND)
        try:
            settings = TradeSettings(**about["settings"])
            vocabulary = Vocabulary.checked(about["words"], settings)
            # A network of another size may not fit into memory.
            if arrays["words.weight"].shape != (vocabulary.size, settings.hidden):
                raise ValueError("its width or the number of its words is another one")
            network = trade_network(vocabulary.size, settings)
            set_weights(network.state_dict(), arrays)
        except (LookupError, TypeError, ValueError, RuntimeError, UsageError) as error:
            raise refused(file, f"the model is damaged ({error})") from None
        return cls(network, vocabulary, settings)
