"""Single parts of the simulator with a text interface."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from mwzeval.pydial.acts import NULL, Act, parse_act
from mwzeval.pydial.domain import METHODS, Domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator import goals as g
from mwzeval.pydial.simulator.channel import _copy_true_act, transmit
from mwzeval.pydial.simulator.layout import DialogueRecord
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.system import (
    action_names,
    method_of,
    say_action,
    summarize,
    write_mask,
)
from mwzeval.pydial.simulator.tracker import begin_belief, track
from mwzeval.pydial.simulator.user import answer
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import TASKS, Task
from mwzeval.pydial.user_parameters import STANDARD

Scored = Iterable[tuple[Act, float]]
MASKED = TASKS["CR-1"]
named: Any = namedtuple
UserParameters = named("UserParameters", STANDARD)


def simulation_of(domain: Domain, *, legacy: bool = False, task: Task = MASKED) -> Simulation:
    return Simulation(domain, task, legacy=legacy)


class Tracker:
    """The tracker and the views and acts of a system, without users and the error channel."""

    def __init__(self, domain: Domain, *, legacy: bool = False, task: Task = MASKED) -> None:
        self.simulation = simulation_of(domain, legacy=legacy, task=task)
        self.names = action_names(domain.ontology)
        self.t, self.d, self.view = self.simulation.t, self.simulation.d, self.simulation.view
        self.begin()

    @property
    def belief(self) -> Belief:
        return Belief(self.view)

    def begin(self) -> None:
        begin_belief(self.t, self.d)
        self.d.alternative_awaited = False
        summarize(self.t, self.d)

    def update(self, last: Act, hypotheses: Scored) -> Belief:
        d = self.d
        self.view.put_system(last)
        d.now, d.hypotheses = 1 - d.now, 0
        for act, score in hypotheses:
            self.view.put_user(act)
            _copy_true_act(d, d.hypotheses)
            d.score[d.hypotheses] = score
            d.hypotheses += 1
        track(self.t, d)
        summarize(self.t, d)
        return self.belief

    def after(self, *exchanges: tuple[str, Iterable[tuple[str, float]]]) -> Tracker:
        for system, heard in exchanges:
            self.update(parse_act(system), [(parse_act(act), score) for act, score in heard])
        return self

    def method(self) -> str:
        return METHODS[method_of(self.t, self.d)]

    def accepted(self) -> list[str]:
        """Return the accepted slots, the most probable first."""
        return [self.view.codes.slots[slot] for slot in self.d.accepted_slot[: self.d.count]]

    def mask(self) -> list[bool]:
        allowed = [False] * len(self.names)
        write_mask(self.t, self.d, allowed)
        return list(map(bool, allowed))

    def allowed(self) -> set[str]:
        return {name for name, may in zip(self.names, self.mask(), strict=True) if may}

    def act(self, action: str, rng: Any) -> Act:
        """Take a summary action and return its act."""
        self.d.rng = rng
        say_action(self.t, self.d, self.names.index(action))
        return self.view.next_act


class TextUser:
    """The simulated user in a given state."""

    def __init__(
        self,
        simulation: Simulation,
        goal: Goal,
        patience: int,
        parameters: Any,
        rng: Any,
        *,
        used: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.simulation = simulation
        self.t, self.d, self.view = simulation.t, simulation.d, simulation.view
        self.view.forget()
        self.d.rng, self.d.ended = rng, False
        self.d.parameter = list(parameters)
        self.d.patience = self.d.max_patience = patience
        self.view.put_goal(goal)
        g.prepare_user(self.t, self.d)
        if used is not None:
            self.d.used = [0] * len(self.d.used)
            self.d.used_slot = [0] * len(self.d.used_slot)
            for slot, values in used.items():
                code = self.view.slot_code(slot)
                for value in values:
                    g.use(self.t, self.d, code, self.view.value_code(code, value))
        self.d.now = 0
        self.say_again(NULL)
        self.last_heard(NULL)

    def twin(self, rng: Any) -> TextUser:
        """Return a copy of the user with another random source."""
        other, d = copy(self), copy(self.d)
        for name in DialogueRecord.__slots__:
            if isinstance(numbers := getattr(d, name), list):
                setattr(d, name, [row[:] if isinstance(row, list) else row for row in numbers])
        other.d, other.view = d, copy(self.view)
        other.view.d, d.rng = d, rng
        return other

    def agenda(self) -> list[Act]:
        """Return the acts of the agenda from top to bottom."""
        d, acts, begin = self.d, [], 0
        for at in range(d.agenda):
            end = d.agenda_end[at]
            acts.append(self.view.act(d.agenda_act[at], d.agenda_item[begin:end], end - begin))
            begin = end
        return acts[::-1]

    def set_agenda(self, acts: Iterable[Act]) -> None:
        """Replace the agenda with acts, given from top to bottom."""
        d = self.d
        d.agenda = 0
        for act in reversed(list(acts)):
            self.view.put_user(act)
            g.push(d, d.user_act)
            for at in range(d.user_items):
                g.extend(d, self.view._item_code(act.items[at]))

    def say_again(self, act: Act) -> None:
        """Set the last act of the user."""
        d = self.d
        self.view.put_user(act)
        d.again_act, d.again_items = d.user_act, d.user_items
        d.again_item[: d.user_items] = d.user_item[: d.user_items]

    def last_heard(self, act: Act) -> None:
        self.view.put_system(act)
        self.d.now = 1 - self.d.now

    def answer(self, act: Act) -> Act:
        self.last_heard(act)
        answer(self.t, self.d)
        return self.view.user_act

    @property
    def last_said(self) -> Act:
        d = self.d
        return self.view.act(d.again_act, d.again_item, d.again_items)

    @property
    def used(self) -> dict[str, set[str]]:
        found, d = {}, self.d
        for slot, first in enumerate(self.t.first):
            if d.used_slot[slot]:
                most = len(self.view.codes.value_codes(slot)) + 1 + c.FOREIGN_VALUES
                codes = [code for code in range(1, most) if d.used[first + code]]
                name = self.view.codes.slots[slot]
                found[name] = {str(self.view.value(slot, code)) for code in codes}
        return found


def nbest(simulation: Simulation, act: Act, rng: Any) -> list[tuple[Act, float]]:
    """Return the hypotheses of the error channel for an act."""
    simulation.d.rng = rng
    simulation.view.put_user(act)
    transmit(simulation.t, simulation.d)
    return simulation.view.hypotheses
