"""The policy of the paper: a small network that learned what the wizards said ("SL policy").

Source: Zhu et al., TACL 2020, section 4.3; the situations in which it acts on a corpus are those of
the public training code. It is trained with PyTorch (`sl_training.py`); to speak it needs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import GENERAL, Act, Acts
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Dialogue, State
from mwzeval.crosswoz.corpus.file_shapes import checked_acts
from mwzeval.crosswoz.systems.policy_vector import Vector, Vocabulary, lexicalized
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.neural.state import Arrays, read_arrays, refused, write_arrays

PAPER_ENDS = 2
"""(odd) From this exchange on the paper's evaluation takes every turn for the last one: it counts
the fields of a dialogue (6) instead of its messages."""


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """A turn of a policy: where the ones of its vector are, what it can offer, what is right.

    `domain` and `results` are the current domain and what its query returns.
    """

    situation: tuple[int, ...]
    domain: str | None
    results: tuple[Entity, ...]
    gold_acts: Acts


def policy_turns(
    dialogue: Dialogue,
    database: Database,
    vocabulary: Vocabulary,
    *,
    paper_compatible: bool = False,
) -> Iterator[PolicyTurn]:
    """Yield the system turns of a `dialogue` as a policy of a `vocabulary` sees them.

    The state is the gold one of the wizard's last query to the `database`; the current domain is
    that of RuleDST on the gold acts. `paper_compatible` raises the flag of the last turn where the
    paper's evaluation did: in all turns but the first two.
    """
    tracker = RuleTracker()
    said: Acts = ()
    last = len(dialogue.exchanges) - 1
    for number, exchange in enumerate(dialogue.exchanges):
        tracker.update(exchange.user.acts, said)
        tracker.state = {d: dict(slots) for d, slots in exchange.system.last_query.items()}
        results = current_results(database, tracker)
        ends = number >= PAPER_ENDS if paper_compatible else number == last
        situation = vocabulary.situation(
            exchange.user.acts, said, tracker.state, len(results), ends=ends
        )
        said = exchange.system.acts
        yield PolicyTurn(tuple(situation), tracker.domain, results, said)


def current_results(database: Database, tracker: RuleTracker) -> tuple[Entity, ...]:
    """Return what the current domain's constraints find; nothing without a current domain."""
    domain = tracker.domain
    return database.query(domain, tracker.state.get(domain, {})) if domain is not None else ()


MODEL_FILE = "policy.safetensors"
KIND = "CrossWOZ policy"
LAYERS = ("first", "second", "output")
Weights = Mapping[str, NDArray[np.float32]]


def shapes(vocabulary: Vocabulary, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of weights: two hidden layers, one logit per act."""
    widths = (vocabulary.size, hidden, hidden, len(vocabulary.system))
    found: dict[str, tuple[int, ...]] = {}
    for layer, width, next_width in zip(LAYERS, widths[:-1], widths[1:], strict=True):
        found |= {f"{layer}.weight": (next_width, width), f"{layer}.bias": (next_width,)}
    return found


@dataclass(frozen=True, slots=True, eq=False)
class SlPolicy:
    """A trained policy: the acts that it knows, and its weights."""

    vocabulary: Vocabulary
    weights: Weights

    def logits(self, vectors: Vector) -> Vector:
        """Return one row of logits per row of zeros and ones, one column per system act."""
        values = vectors
        for layer in LAYERS:
            values = values @ self.weights[f"{layer}.weight"].T + self.weights[f"{layer}.bias"]
            if layer != LAYERS[-1]:
                values = np.maximum(values, 0)
        return values

    def acts(self, situations: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the de-lexicalised acts of each situation: those with a probability above ½."""
        names = self.vocabulary.system
        return [
            [names[number] for number in np.flatnonzero(row > 0)]
            for row in self.logits(self.vocabulary.vectors(situations))
        ]

    def save(self, path: str | Path, about: Any = None) -> None:
        """Write the policy; `about` is kept with it."""
        description = {
            "user": list(self.vocabulary.user),
            "system": list(self.vocabulary.system),
            "training": about,
        }
        write_arrays(path, KIND, self.weights, description)

    @classmethod
    def load(cls, path: str | Path) -> SlPolicy:
        """Return the policy of a file, or of a folder that training wrote.

        Raises `InputError` when it is damaged, no policy or no safetensors, `DependencyError`
        without safetensors.
        """
        file = Path(path, MODEL_FILE) if Path(path).is_dir() else Path(path)
        arrays, about = read_arrays(file, KIND)
        try:
            vocabulary = Vocabulary(checked_acts(about["user"]), checked_acts(about["system"]))
        except (LookupError, TypeError, ValueError) as error:
            raise refused(file, f"the description of the policy is damaged ({error})") from None
        return cls(vocabulary, checked_weights(arrays, vocabulary, file))


def checked_weights(arrays: Arrays, vocabulary: Vocabulary, file: str | Path) -> Weights:
    """Return weights of the right names, shapes and kind. Raises `InputError` for others."""
    bias = arrays.get("first.bias")
    hidden = len(bias) if bias is not None and bias.ndim == 1 else 0
    expected = shapes(vocabulary, hidden)
    found = {name: array.shape for name, array in arrays.items()}
    if found != expected or any(array.dtype != np.float32 for array in arrays.values()):
        raise refused(file, "the weights do not have the shapes of a policy of its vocabulary")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise refused(file, "the weights are not all finite")
    return arrays


def predicted_acts(
    policy: SlPolicy, dialogue: Dialogue, database: Database, *, paper_compatible: bool = False
) -> list[Acts]:
    """Return what a `policy` says in each of the system turns that `policy_turns` yields."""
    turns = list(
        policy_turns(dialogue, database, policy.vocabulary, paper_compatible=paper_compatible)
    )
    spoken = policy.acts([turn.situation for turn in turns])
    return [
        lexicalized(acts, turn.domain, turn.results)
        for turn, acts in zip(turns, spoken, strict=True)
    ]


class SlSystem:
    """RuleDST, the database and the SL policy: a system, one dialogue long."""

    def __init__(self, policy: SlPolicy, database: Database) -> None:
        self._policy = policy
        self._database = database
        self._tracker = RuleTracker()
        self._said: Acts = ()

    @property
    def state(self) -> State:
        """The constraints so far."""
        return self._tracker.state

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        """Return what the system says."""
        heard = tuple(user_acts)
        self._tracker.update(heard, self._said)
        results = current_results(self._database, self._tracker)
        leaves = any(act.intent == GENERAL and act.domain in ("thank", "bye") for act in heard)
        situation = self._policy.vocabulary.situation(
            heard, self._said, self._tracker.state, len(results), ends=leaves
        )
        (acts,) = self._policy.acts([situation])
        self._said = lexicalized(acts, self._tracker.domain, results)
        return self._said
