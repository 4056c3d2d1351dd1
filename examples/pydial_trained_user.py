"""Train a neural user for PyDial by imitation of the agenda user, and let policies talk to it.

    python examples/pydial_trained_user.py CR-3 --dialogues 1000 --seed 1
    mwzeval live --benchmark pydial --agent handcrafted --goals CR-3:500 -o trained.jsonl \
        --user examples/pydial_trained_user.py:TrainedUser

The user reads the file that TRAINED_USER names, or `trained_user.safetensors`. Its acts are drawn
from a network, whose input describes the last turns relative to the goal, without slots and values.
Therefore it also works in other domains. Training needs mwzeval[neural], dialogues only NumPy.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required
from mwzeval.neural import read_arrays, refused, write_arrays
from mwzeval.pydial.acts import BYE, DONTCARE, HELLO, NONE, NULL, Act, Item
from mwzeval.pydial.domain import NAME, Domain, load_domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.recording import MIXED, behaviour_named, user_seed
from mwzeval.pydial.simulator.codes import TYPE
from mwzeval.pydial.simulator.goals import FURTHER_REQUESTS
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.tables import CONSTRAINTS
from mwzeval.pydial.tasks import task_named
from mwzeval.pydial.users import update_goal

FILE, VARIABLE = "trained_user.safetensors", "TRAINED_USER"
KIND = "trained-user"
ADVICE = "Train it again with examples/pydial_trained_user.py"
SYSTEM = ("hello", "bye", "repeat", "reqmore", "request", "confirm", "select", "inform")
USER = ("null", "hello", "inform", "request", "affirm", "negate", "deny", "confirm", "reqalts")
REQUESTS = 1 + FURTHER_REQUESTS
MEMORY = 3
"""Number of turns, including the current one, that are input of the network."""
SELDOM = 3
"""Acts with a lower count in training are merged to one act, which is never drawn."""
ELSE = "else"
Features = NDArray[np.float32]


class Account:
    """The state of a dialogue: features for the network, and acts relative to the goal."""

    def __init__(self, goal: Goal, domain: Domain) -> None:
        self.goal = goal
        self.heard = NULL
        self._domain = domain
        self._said = NULL
        self._told: set[str] = set()
        self._exchange = self._fruitless = 0
        self._seen: list[list[float]] = []

    def hear(self, act: Act) -> Features:
        """Return the network's input after a system act, shape (features,)."""
        again = act.says_the_same(self.heard)
        self._fruitless += again
        before = self.goal.recommended
        update_goal(self.goal, act)
        self.heard = act
        items = {item.slot: item for item in act.items}
        known = {item.slot for item in self.goal.constraints} | self.goal.requests.keys()
        now = [
            *(act.name == name for name in SYSTEM),
            *(self._said.name == name for name in USER),
            Item(NAME, NONE) in act.items,
            before is not None,
            self.goal.recommended is not None,
            before not in (None, self.goal.recommended),
            any(item.negated for item in act.items),
            any(slot not in known for slot in items),
            again,
            self._fruitless / 5,
            self._exchange / 25,
        ]
        for at in range(CONSTRAINTS):
            mine = self.goal.constraints[at] if at < len(self.goal.constraints) else None
            other = None if mine is None else items.get(mine.slot)
            now += [
                mine is not None,
                mine is not None and mine.value == DONTCARE,
                mine is not None and mine.slot in self._told,
                mine is not None and any(mine.slot == item.slot for item in self._said.items),
                other is not None,
                other is not None and mine is not None and other.value == mine.value,
            ]
        for at in range(REQUESTS):
            asked = list(self.goal.requests)[at : at + 1]
            now += [
                bool(asked),
                bool(asked) and self.goal.requests[asked[0]] is not None,
                bool(asked) and asked[0] in items,
                bool(asked) and any(asked[0] == item.slot for item in self._said.items),
            ]
        self._seen.append([float(value) for value in now])
        self._exchange += 1
        empty = [0.0] * len(now)
        recent = [*[empty] * MEMORY, *self._seen][-MEMORY:]
        return np.array([value for exchange in recent for value in exchange], dtype=np.float32)

    def say(self, act: Act) -> None:
        """Record the user's act; a new value of a slot changes the goal."""
        self._said = act
        if act.name in ("inform", "affirm", "negate"):
            now = {item.slot: item for item in act.items if item.value and not item.negated}
            self._told |= now.keys()
            # The position is kept, because acts and features number the constraints.
            self.goal.constraints[:] = [now.get(i.slot, i) for i in self.goal.constraints]

    def relative(self, act: Act) -> str:
        """Return an act without slots and values, such as `inform(c0,c2)`."""
        parts = [self._part(item) for item in act.items]
        return ELSE if ELSE in parts else f"{act.name}({','.join(parts)})"

    def _part(self, item: Item) -> str:
        slot, value, negated = item
        slots = [constraint.slot for constraint in self.goal.constraints]
        requests = list(self.goal.requests)
        if negated:
            return ELSE
        if slot in slots and value is not None:
            mine = self.goal.constraints[slots.index(slot)].value
            if value == mine:
                return f"c{slots.index(slot)}"
            if Item(slot, value) in self.heard.items:
                return f"heard{slots.index(slot)}"
            return f"{'free' if value == DONTCARE else 'new'}{slots.index(slot)}"
        if slot in requests and value is None:
            return f"r{requests.index(slot)}"
        known = {
            Item(TYPE, self._domain.ontology.entity_type): "type",
            Item("", DONTCARE): "any",
            Item(NAME, self.goal.recommended): "offer",
        }
        asked = [Item(question.slot, DONTCARE) for question in self.heard.items[:1]]
        return known.get(item, "asked" if item in asked else ELSE)

    def act(self, text: str, rng: Rng) -> Act | None:
        """Return the act of a text from `relative`, None if it is impossible now."""
        name, _, rest = text.partition("(")
        parts = [part for part in rest.rstrip(")").split(",") if part]
        items = [self._item(part, rng) for part in parts]
        said = tuple(item for item in items if item is not None)
        return Act(name, said) if len(said) == len(items) else None

    def _item(self, part: str, rng: Rng) -> Item | None:
        ontology = self._domain.ontology
        kind, at = part.rstrip("0123456789"), int(part.lstrip("abcdefghijklmnopqrstuvwxyz") or 0)
        requests, constraints = list(self.goal.requests), self.goal.constraints
        if kind == "r":
            return Item(requests[at]) if at < len(requests) else None
        if kind in ("c", "free", "new", "heard"):
            if at >= len(constraints):
                return None
            slot, value, _ = constraints[at]
            if kind == "heard":
                return next((item for item in self.heard.items if item.slot == slot), None)
            if kind == "new":
                others = [other for other in ontology.informable[slot] if other != value]
                return Item(slot, rng.choose(others)) if others else None
            return Item(slot, value if kind == "c" else DONTCARE)
        if kind == "type":
            return Item(TYPE, ontology.entity_type)
        if kind == "any":
            return Item("", DONTCARE)
        if kind == "offer":
            name = self.goal.recommended
            return None if name is None else Item(NAME, name)
        slots = [item.slot for item in self.heard.items[:1]]
        return Item(slots[0], DONTCARE) if slots and slots[0] in ontology.informable else None


class Turn(NamedTuple):
    """The network's input and the user's relative act in a turn."""

    features: Features
    act: str


def agenda_turns(task_name: str, numbers: Iterable[int], seed: int) -> list[Turn]:
    """Return the turns of the agenda user with the handcrafted policy and with random actions."""
    task = task_named(task_name)
    domain = load_domain(task.domain)
    behaviour = behaviour_named(MIXED, domain, task)
    simulation = behaviour.process.simulation
    turns = []
    for number in numbers:
        rng = rng_from(np.random.default_rng(user_seed(seed, number)))
        choose = behaviour.policies[number % len(behaviour.policies)][1]
        simulation.forget()
        behaviour.process.begin(rng)
        account = Account(simulation.goal, domain)
        ended = False
        while not ended:
            features = account.hear(simulation.view.system_act)
            turns.append(Turn(features, account.relative(simulation.view.user_act)))
            account.say(simulation.view.user_act)
            ended = behaviour.process.step(choose(rng)).ended
    return turns


class Network(NamedTuple):
    """The learned relative acts, and the layers that compute their probabilities."""

    acts: tuple[str, ...]
    layers: tuple[NDArray[np.float32], ...]

    def log_probabilities(self, features: Features) -> NDArray[np.float64]:
        """Return log-probabilities, shape (…, acts), given features, shape (…, features)."""
        weight, bias, second, last = self.layers
        scores = np.maximum(features @ weight + bias, 0) @ second + last
        scores = scores.astype(np.float64) - scores.max(axis=-1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))

    def number_of(self, act: str) -> int:
        """Return the number of a relative act."""
        return self.acts.index(act if act in self.acts else ELSE)

    def log_likelihood(self, turns: Sequence[Turn]) -> float:
        """Return the mean log-likelihood of a turn, in nats."""
        given = self.log_probabilities(np.stack([turn.features for turn in turns]))
        return float(
            np.mean([row[self.number_of(t.act)] for row, t in zip(given, turns, strict=True)])
        )


def trained(turns: Sequence[Turn], *, seed: int = 0, epochs: int = 20, hidden: int = 64) -> Network:
    """Return a network that imitates the turns. Raises `DependencyError` without PyTorch."""
    torch = required("torch")
    counts = Counter(turn.act for turn in turns)
    acts = (ELSE, *sorted(a for a, n in counts.items() if n >= SELDOM and a != ELSE))
    empty = Network(acts, ())
    x = torch.from_numpy(np.stack([turn.features for turn in turns]))
    y = torch.tensor([empty.number_of(turn.act) for turn in turns])
    generator = torch.Generator().manual_seed(seed)
    sizes = ((x.shape[1], hidden), (hidden,), (hidden, len(acts)), (len(acts),))
    layers = []
    for size in sizes:
        scale = size[0] ** -0.5 if len(size) == 2 else 0.0
        layers.append((torch.randn(size, generator=generator) * scale).requires_grad_())
    optimizer = torch.optim.Adam(layers, lr=2e-3, weight_decay=1e-5)
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=generator).split(64):
            scores = torch.relu(x[rows] @ layers[0] + layers[1]) @ layers[2] + layers[3]
            loss = torch.nn.functional.cross_entropy(scores, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Network(acts, tuple(layer.detach().numpy() for layer in layers))


def frequencies(network: Network, turns: Sequence[Turn], held_out: Sequence[Turn]) -> float:
    """Return the mean log-likelihood of a model that uses only the frequencies of acts."""
    counts = Counter(network.number_of(turn.act) for turn in turns)
    total = len(turns) + len(network.acts)
    return float(
        np.mean([np.log((counts[network.number_of(t.act)] + 1) / total) for t in held_out])
    )


def saved(path: str, network: Network, task: str, seed: int, dialogues: int) -> None:
    """Write a network as a checkpoint. Raises `MwzevalError` if this fails."""
    arrays: dict[str, Any] = {f"layer{at}": layer for at, layer in enumerate(network.layers)}
    about = {"task": task, "seed": seed, "dialogues": dialogues, "acts": list(network.acts)}
    write_arrays(path, KIND, arrays, about)


@cache
def loaded(path: str) -> Network:
    """Return the network in a file. Raises `InputError` for anything else."""
    arrays, about = read_arrays(path, KIND)
    try:
        acts = about["acts"]
        layers = tuple(arrays[f"layer{at}"] for at in range(4))
        account = Account(Goal([], {NAME: None}), load_domain("Demo-CR"))
        network = Network(tuple(acts), layers)
        if network.log_probabilities(account.hear(HELLO)).shape != (len(acts),):
            raise ValueError("not one probability for each act")
        if any(not isinstance(text, str) for text in acts) or ELSE not in acts:
            raise ValueError("its acts are no acts")
        account.act(f"null({','.join(_parts(acts))})", Rng(0))
    except (LookupError, TypeError, ValueError) as error:
        raise refused(path, f"{error}. {ADVICE}") from None
    return network


def _parts(acts: Sequence[str]) -> list[str]:
    return [part for act in acts if act != ELSE for part in act[act.index("(") + 1 : -1].split(",")]


class TrainedUser:
    """A user with acts drawn from the network, which may change its goal."""

    def __init__(self, goal: Goal, domain: Domain, rng: Rng) -> None:
        self._network = loaded(os.environ.get(VARIABLE, FILE))
        self._account = Account(deepcopy(goal), domain)
        self._rng = rng

    @property
    def goal(self) -> Goal:
        """The current goal with the received answers, by which success is judged."""
        return self._account.goal

    def answer(self, act: Act) -> Act:
        """Return the user's answer to a system act."""
        given = np.exp(self._network.log_probabilities(self._account.hear(act)))
        given[self._network.acts.index(ELSE)] = 0.0
        said = None
        while said is None and given.sum() > 0:
            drawn = self._rng.random() * given.sum()
            at = min(int(np.searchsorted(np.cumsum(given), drawn, "right")), len(given) - 1)
            said = self._account.act(self._network.acts[at], self._rng)
            given[at] = 0.0  # an impossible act is not drawn again
        said = said or BYE
        self._account.say(said)
        return said


def main() -> None:
    """Train a user, print its likelihood on other dialogues, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("--dialogues", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("-o", "--output", default=FILE, metavar="FILE")
    given = parser.parse_args()
    if given.dialogues < 1:
        parser.error("--dialogues is 1 or more")
    turns = agenda_turns(given.task, range(given.dialogues), given.seed)
    more = range(given.dialogues, given.dialogues + max(given.dialogues // 4, 2))
    held_out = agenda_turns(given.task, more, given.seed)
    network = trained(turns, seed=given.seed)
    saved(given.output, network, given.task, given.seed, given.dialogues)
    own, frequent = network.log_likelihood(held_out), frequencies(network, turns, held_out)
    print(f"Perplexity of an act on {len(more)} other dialogues, {len(network.acts)} acts")
    print(f"{'network':<12} {np.exp(-own):7.2f}")
    print(f"{'frequencies':<12} {np.exp(-frequent):7.2f}")


if __name__ == "__main__":
    main()
