"""A trained NLU: a network, the labels it knows, and how its logits become acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.simulation.protocols import Side
from mwzeval.crosswoz.systems.nlu.examples import (
    CONTEXT,
    Example,
    Labels,
    Utterance,
    lowered,
    utterances,
)
from mwzeval.crosswoz.systems.nlu.network import BETWEEN, character_network
from mwzeval.crosswoz.systems.nlu.settings import NluSettings
from mwzeval.errors import UsageError
from mwzeval.files.tensor_files import Arrays, read_arrays, refused, write_arrays
from mwzeval.version import required

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
                best = tags.argmax(dim=2).tolist()
                for row, index in enumerate(chosen):
                    text = said[index].text
                    positive = (classes[row] > 0).nonzero().flatten().tolist()
                    acts[index] = self.labels.acts(text, best[row][: len(text)], positive)
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


def known_characters(examples: Sequence[Example]) -> str:
    """Return the characters that a tagger learns, sorted."""
    counts: Counter[str] = Counter(BETWEEN * RAREST)
    for example in examples:
        counts.update(lowered(example.utterance.text))
    return "".join(sorted(char for char, count in counts.items() if count >= RAREST))


def save_tagger(path: str | Path, nlu: JointNlu, characters: str, settings: NluSettings) -> None:
    """Write a character tagger as one safetensors file."""
    about = {
        "characters": characters,
        "tags": nlu.labels.tags,
        "classes": nlu.labels.classes,
        "settings": asdict(settings),
    }
    write_arrays(path, KIND, weights_of(nlu.network), about)


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
        set_weights(network, arrays)
    except (LookupError, TypeError, ValueError, RuntimeError, UsageError) as error:
        raise refused(file, f"the model is damaged ({error})") from None
    return JointNlu(network, labels)


def weights_of(network: Any) -> Arrays:
    """Return the weights of a network by their names."""
    return {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}


def set_weights(network: Any, arrays: Mapping[str, Any]) -> None:
    """Put weights into a network. Raises `ValueError` unless they are just those it has."""
    import torch

    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise ValueError("weights are missing, unknown or of another shape")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("weights that are not finite")
    network.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in arrays.items()})
