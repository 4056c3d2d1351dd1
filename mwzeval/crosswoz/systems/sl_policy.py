"""The paper's policy: a small network that is trained on the wizards' acts ("SL policy").

The input is a vector of 328 zeros and ones; the output is a number for each act without value.
Source: Zhu et al., TACL 2020, section 4.3. The input vector, the vocabularies and the insertion of
values are the same as in the public code. Unlike in the public code, database queries are
independent of each other. In training, the loss is the mean sigmoid cross-entropy, and the epoch
with the lowest validation loss is chosen. Only training requires PyTorch.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    RECOMMEND,
    SEPARATOR,
    Act,
    Acts,
    parse_act,
)
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Dialogue, State
from mwzeval.crosswoz.corpus.file_shapes import checked_acts
from mwzeval.crosswoz.corpus.folds import read_vocabulary, vocabulary_files
from mwzeval.crosswoz.corpus.names import (
    LIST_SLOTS,
    METRO,
    NO,
    NOTHING,
    SERVICES,
    STATE_SLOTS,
    TAXI,
    YES,
)
from mwzeval.crosswoz.systems.rules import MARKS, UNITS, RuleTracker, items_of
from mwzeval.crosswoz.training import PolicySettings
from mwzeval.errors import InputError, Problem
from mwzeval.files.downloads import DataRoot
from mwzeval.libraries import required
from mwzeval.neural import (
    Learner,
    Point,
    Watch,
    fingerprint,
    read_arrays,
    refused,
    train,
    weights_of,
    write_arrays,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

Vector = NDArray[np.float32]
Weights = Mapping[str, NDArray[np.float32]]
NUMBERED = (INFORM, RECOMMEND)
"""Intents whose values are replaced by numbers: 1 for the first value, 2 for the second, etc."""
NUMBER = re.compile("[0-9]{1,9}")
RESULT_COUNTS = (0, 1, 4)
"""The upper limits of the intervals into which the number of results is divided; the last interval
has no limit."""
_FLAGS = tuple((domain, slot) for domain, slots in STATE_SLOTS.items() for slot in slots)
PAPER_ENDS = 2
"""The index of the exchange from which the paper's evaluation treats every turn as the last turn,
because it takes the number of fields of a dialogue (6) for the number of messages."""
MODEL_FILE = "policy.safetensors"
KIND = "CrossWOZ policy"
LAYERS = ("first", "second", "output")


def delexicalized(acts: Iterable[Act]) -> list[str]:
    """Return acts with numbers instead of values: the n-th value of a slot becomes n."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for act in acts:
        if act.intent in NUMBERED:
            kind = act[:3]
            seen[kind] += 1
            found.append(SEPARATOR.join((*kind, str(seen[kind]))))
        else:
            found.append(SEPARATOR.join(act))
    return found


def lexicalized(acts: Iterable[str], domain: str | None, results: Sequence[Entity]) -> Acts:
    """Return de-lexicalized system acts with the values of the current domain's query.

    As in the public code, an Inform with the number n is dropped if there are fewer than n results,
    although n counts the values of the first result. An Inform without a value and acts of other
    domains are dropped. As in the public code, a missing value of the database becomes `None`, as
    in `None元`.
    """
    found: list[Act] = []
    for act in map(parse_act, acts):
        if act.intent in (GENERAL, NO_OFFER):
            found.append(act)
        elif act.domain == domain and NUMBER.fullmatch(act.value):
            value = _value(act, int(act.value), results)
            if value is not None:
                found.append(act._replace(value=value))
    return tuple(found)


def _value(act: Act, number: int, results: Sequence[Entity]) -> str | None:
    if act.domain == METRO:
        mark = MARKS.get(act.slot, "")
        stations = (str(e.record.get(METRO)) for e in results if e.name.startswith(mark))
        return next(stations, NOTHING)
    if number > (1 if act.domain == TAXI and results else len(results)):
        return None
    if act.intent == RECOMMEND:
        return results[number - 1].name
    record = results[0].record
    if act.service is not None:
        return YES if act.service in (record.get(SERVICES) or ()) else NO
    value: Any = record.get(act.slot)
    if act.slot in LIST_SLOTS:
        items = items_of(act.slot, value)
        return items[number - 1] if number <= len(items) else None
    return f"{value}{UNITS.get(act.slot, '')}"


def multi_hot(rows: Sequence[Sequence[int]], width: int) -> Vector:
    """Return an array with a row for each set of indices: ones at the indices, zeros elsewhere."""
    array = np.zeros((len(rows), width), dtype=np.float32)
    for number, ones in enumerate(rows):
        array[number, ones] = 1
    return array


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The de-lexicalized acts of users and systems that a policy knows, in sorted order."""

    user: tuple[str, ...]
    system: tuple[str, ...]

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        user, system = ({act: n for n, act in enumerate(acts)} for acts in (self.user, self.system))
        return user, system

    @property
    def size(self) -> int:
        """The length of a policy's input vector (328 with the public vocabularies)."""
        return len(self.user) + len(self.system) + len(_FLAGS) + len(RESULT_COUNTS) + 2

    def situation(
        self,
        user_acts: Iterable[Act],
        system_acts: Iterable[Act],
        state: Mapping[str, Mapping[str, str]],
        results: int,
        *,
        ends: bool,
    ) -> list[int]:
        """Return the sorted indices of the ones in a policy's input vector for a situation.

        The input vector encodes the `user_acts`, the `system_acts` before them, the filled slots of
        the `state`, the number of `results` of the query of the current domain, and whether the
        dialogue `ends` with this turn.
        """
        user, system = self._numbers
        ones = {user[act] for act in delexicalized(user_acts) if act in user}
        offset = len(user)
        ones |= {offset + system[act] for act in delexicalized(system_acts) if act in system}
        offset += len(system)
        ones |= {offset + i for i, (domain, slot) in enumerate(_FLAGS) if state[domain][slot]}
        offset += len(_FLAGS)
        ones.add(offset + sum(results > most for most in RESULT_COUNTS))
        if ends:
            ones.add(offset + len(RESULT_COUNTS) + 1)
        return sorted(ones)

    def actions(self, system_acts: Iterable[Act]) -> list[int]:
        """Return the indices of system acts; unknown acts are left out."""
        _, numbers = self._numbers
        return sorted({numbers[act] for act in delexicalized(system_acts) if act in numbers})

    def vectors(self, situations: Sequence[Sequence[int]]) -> Vector:
        """Return one row of zeros and ones per situation."""
        return multi_hot(situations, self.size)

    @classmethod
    def mined(cls, dialogues: Iterable[Dialogue]) -> Vocabulary:
        """Return the vocabulary of all acts in dialogues."""
        user: set[str] = set()
        system: set[str] = set()
        for dialogue in dialogues:
            for exchange in dialogue.exchanges:
                user.update(delexicalized(exchange.user.acts))
                system.update(delexicalized(exchange.system.acts))
        return cls(tuple(sorted(user)), tuple(sorted(system)))


def load_vocabulary(root: DataRoot) -> Vocabulary:
    """Return the public vocabulary, which was extracted from the train fold. Raises `DataError`."""
    user, system = (root.require(*vocabulary_files(side)) for side in ("usr", "sys"))
    return Vocabulary(read_vocabulary(user), read_vocabulary(system))


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """A system turn as input of a policy: indices of ones, query results and gold acts.

    `domain` is the current domain, and `results` are the results of the query in this domain.
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
    """Yield the system turns of a `dialogue` as inputs of a policy with this `vocabulary`.

    The state is the gold state of the wizard's last query to the `database`. The current domain is
    the domain that RuleDST tracks from the gold acts. With `paper_compatible`, as in the paper's
    evaluation, all turns but the first two are marked as the last turn.
    """
    tracker = RuleTracker()
    before: Acts = ()
    last = len(dialogue.exchanges) - 1
    for number, exchange in enumerate(dialogue.exchanges):
        user_acts = exchange.user.acts
        tracker.update(user_acts, before)
        tracker.state = {d: dict(slots) for d, slots in exchange.system.last_query.items()}
        found = database.query(tracker.domain, tracker.state.get(tracker.domain or "", {}))
        ends = number >= PAPER_ENDS if paper_compatible else number == last
        situation = vocabulary.situation(user_acts, before, tracker.state, len(found), ends=ends)
        before = exchange.system.acts
        yield PolicyTurn(tuple(situation), tracker.domain, found, before)


@dataclass(frozen=True, slots=True, eq=False)
class SlPolicy:
    """A trained policy: its vocabulary and its weights."""

    vocabulary: Vocabulary
    weights: Weights

    def logits(self, vectors: Vector) -> Vector:
        """Return the logits of all system acts (columns) for each input vector (row)."""
        values = vectors
        for layer in LAYERS:
            values = values @ self.weights[f"{layer}.weight"].T + self.weights[f"{layer}.bias"]
            if layer != LAYERS[-1]:
                values = np.maximum(values, 0)
        return values

    def acts(self, situations: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the de-lexicalized acts with a probability above ½ in each situation."""
        names = self.vocabulary.system
        return [
            [names[number] for number in np.flatnonzero(row > 0)]
            for row in self.logits(self.vocabulary.vectors(situations))
        ]

    def save(self, path: str | Path, about: Any = None) -> None:
        """Write the policy to a file, with the metadata `about`."""
        user, system = list(self.vocabulary.user), list(self.vocabulary.system)
        description = {"user": user, "system": system, "training": about}
        write_arrays(path, KIND, self.weights, description)

    @classmethod
    def load(cls, path: str | Path) -> SlPolicy:
        """Return the policy in a file, or in a folder that training wrote.

        Raises `InputError` if the file is damaged, not a policy or not in safetensors format.
        Raises `DependencyError` if safetensors is not installed.
        """
        file = Path(path, MODEL_FILE) if Path(path).is_dir() else Path(path)
        arrays, about = read_arrays(file, KIND)
        try:
            vocabulary = Vocabulary(checked_acts(about["user"]), checked_acts(about["system"]))
            hidden = len(arrays["first.bias"])
        except (LookupError, TypeError, ValueError) as error:
            raise refused(file, f"the policy is damaged ({error})") from None
        found = {name: array.shape for name, array in arrays.items()}
        if found != shapes(vocabulary, hidden):
            raise refused(file, "the weights do not have the shapes of a policy of its vocabulary")
        if not all(a.dtype == np.float32 and np.isfinite(a).all() for a in arrays.values()):
            raise refused(file, "the weights are not all finite numbers of 32 bits")
        return cls(vocabulary, arrays)


def shapes(vocabulary: Vocabulary, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights: two hidden layers, and one logit per system act."""
    widths = (vocabulary.size, hidden, hidden, len(vocabulary.system))
    found: dict[str, tuple[int, ...]] = {}
    for layer, width, next_width in zip(LAYERS, widths[:-1], widths[1:], strict=True):
        found |= {f"{layer}.weight": (next_width, width), f"{layer}.bias": (next_width,)}
    return found


def predicted_acts(
    policy: SlPolicy, dialogue: Dialogue, database: Database, *, paper_compatible: bool = False
) -> list[Acts]:
    """Return the acts of a `policy` in each system turn that `policy_turns` yields."""
    vocabulary = policy.vocabulary
    turns = list(policy_turns(dialogue, database, vocabulary, paper_compatible=paper_compatible))
    predicted = policy.acts([turn.situation for turn in turns])
    return [
        lexicalized(acts, turn.domain, turn.results)
        for turn, acts in zip(turns, predicted, strict=True)
    ]


class SlSystem:
    """A system that consists of RuleDST, the database and the SL policy, for a single dialogue."""

    def __init__(self, policy: SlPolicy, database: Database) -> None:
        self._policy = policy
        self._database = database
        self._tracker = RuleTracker()
        self._acts: Acts = ()

    @property
    def state(self) -> State:
        """The constraints so far."""
        return self._tracker.state

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        """Return the system's answer."""
        user, tracker = tuple(user_acts), self._tracker
        tracker.update(user, self._acts)
        found = self._database.query(tracker.domain, tracker.state.get(tracker.domain or "", {}))
        leaves = any(act.intent == GENERAL and act.domain in ("thank", "bye") for act in user)
        vocabulary = self._policy.vocabulary
        situation = vocabulary.situation(user, self._acts, tracker.state, len(found), ends=leaves)
        (acts,) = self._policy.acts([situation])
        self._acts = lexicalized(acts, tracker.domain, found)
        return self._acts


def train_policy(
    training: Iterable[Dialogue],
    validation: Iterable[Dialogue],
    database: Database,
    vocabulary: Vocabulary,
    folder: str | Path,
    settings: PolicySettings | None = None,
    watch: Watch | None = None,
) -> tuple[SlPolicy, Sequence[Point]]:
    """Train a policy; return the best policy and its learning curve (a point per epoch).

    The policy (`policy.safetensors`) and a checkpoint are written to `folder`. Calling this
    function again resumes an interrupted training and gives an identical result. The losses of the
    curve are mean cross-entropies per act, in nats; the score `validation_loss` is the loss on
    `validation`. `watch` is called with each new point of the learning curve.

    Raises `InputError` if the training dialogues have no turns or the checkpoint is damaged. Raises
    `UsageError` if the folder contains other files, and `DependencyError` without PyTorch.
    """

    def examples(name: str, dialogues: Iterable[Dialogue]) -> Turns:
        turns = [turn for d in dialogues for turn in policy_turns(d, database, vocabulary)]
        if not turns:
            raise InputError([Problem("empty", f"the {name} dialogues have no system turn")])
        actions = [vocabulary.actions(turn.gold_acts) for turn in turns]
        situations = vocabulary.vectors([turn.situation for turn in turns])
        return situations, multi_hot(actions, len(vocabulary.system))

    required("torch")
    learns, checks = examples("training", training), examples("validation", validation)
    learner = PolicyLearner(learns, checks, vocabulary, settings or PolicySettings())
    curve = train(learner, Path(folder), watch)
    return SlPolicy.load(folder), curve


Turns = tuple[Vector, Vector]
"""Situations and their gold acts, as zeros and ones."""


class PolicyLearner(Learner):
    """A policy in training."""

    model_file = MODEL_FILE

    def __init__(
        self, training: Turns, validation: Turns, vocabulary: Vocabulary, settings: PolicySettings
    ) -> None:
        self._vocabulary, self._training, self._validation = vocabulary, training, validation
        self._network = policy_network(vocabulary, settings)
        seen = (np.packbits(array > 0).tobytes() for array in (*training, *validation))
        data = (fingerprint(seen), fingerprint((vocabulary.user, vocabulary.system)))
        super().__init__(self._network, settings, len(training[0]), data)

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean cross-entropy per act, in nats."""
        situations, actions = self._training
        return self._cross_entropy(situations[chosen], actions[chosen])

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the loss on the validation dialogues."""
        import torch

        with torch.no_grad():
            loss = self._cross_entropy(*self._validation).item()
        return {"validation_loss": loss}, -loss

    def save(self, folder: Path, point: Point) -> None:
        """Write the policy to a file, in which epochs are counted from 0."""
        policy = SlPolicy(self._vocabulary, weights_of(self._network.state_dict()))
        about = {"settings": asdict(self.settings), "best_epoch": point.epoch - 1}
        policy.save(folder / self.model_file, about)

    def _cross_entropy(self, situations: Vector, actions: Vector) -> Tensor:
        import torch
        from torch.nn import functional

        logits = self._network(torch.from_numpy(situations))
        return functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(actions))


def policy_network(vocabulary: Vocabulary, settings: PolicySettings) -> nn.Sequential:
    """Return the untrained network, with weights as in He et al. (2015) and biases of 0.

    With PyTorch's default initialization, which the paper used, F1 after training on 450 dialogues
    is about half a point lower.
    """
    import torch
    from torch import nn

    generator = np.random.Generator(np.random.PCG64(settings.seed))
    sizes = shapes(vocabulary, settings.hidden)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for name in LAYERS:
        next_width, width = sizes[f"{name}.weight"]
        layer = nn.Linear(width, next_width, device="meta")
        drawn = generator.standard_normal((next_width, width)) * (2 / width) ** 0.5
        layer.weight = nn.Parameter(torch.from_numpy(drawn.astype(np.float32)))
        layer.bias = nn.Parameter(torch.zeros(next_width))
        layers |= {name: layer, f"{name}, rectified": nn.ReLU()}
    layers.popitem()
    return nn.Sequential(layers)
