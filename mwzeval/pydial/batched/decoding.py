"""Dialogues of a batched simulation as the scalar one has them: acts, beliefs, goals."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.layout import DISCOURSE_ACTS
from mwzeval.pydial.batched.simulation import BatchedSimulation
from mwzeval.pydial.dialogue.acts import Act
from mwzeval.pydial.dialogue.belief import NOTHING, Belief, Ranked
from mwzeval.pydial.dialogue.goals import Agenda, Goal
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.dialogue.user_parameters import UserParameters


def decoded(batch: BatchedSimulation, place: int) -> Simulation:
    """Return a scalar simulation in the state of one dialogue, to be read; it cannot go on."""
    simulation = batch.process.simulation.sibling()
    d: Any = batch.dialogues[place]
    if d["max_patience"] == 0:
        return simulation
    simulation.exchange, simulation.ended = int(d["exchange"]), bool(d["ended"])
    # An act that ended the dialogue was said, but not heard.
    now = d["now"] if not d["ended"] or d["out_of_time"] else 1 - d["now"]
    items = d["system_item"][now]
    simulation.system_act = _act(batch, d["system_act"][now], items, d["system_items"][now])
    simulation.said = _act(batch, d["said_act"], d["said_item"], d["said_items"])
    simulation.heard = [
        (
            _act(batch, d["heard_act"][rank], d["heard_item"][rank], d["heard_items"][rank]),
            float(d["score"][rank]),
        )
        for rank in range(d["hypotheses"])
    ]
    parameters = UserParameters._make(d["parameters"].tolist())
    user = simulation.users.user(_goal(batch, d), int(d["max_patience"]), parameters, Rng(0))
    user.state.patience = int(d["patience"])
    user.state.agenda = _agenda(batch, d)
    user.state.first_offer_pending = bool(d["first_offer_pending"])
    user.state.last_said = _act(batch, d["again_act"], d["again_item"], d["again_items"])
    simulation.user = user
    simulation.tracker.offered_before = bool(d["offered_before"])
    _fill(batch, d, simulation.tracker.belief)
    return simulation


def _act(batch: BatchedSimulation, name: int, items: Any, number: int) -> Act:
    return batch.codes.decoded(int(name), items[:number].tolist())


def _goal(batch: BatchedSimulation, d: Any) -> Goal:
    codes = batch.codes
    slots, values = d["request_slot"].tolist(), d["request_value"].tolist()
    used: dict[str, set[str]] = {}
    for slot, texts in enumerate(codes.values):
        if d["used_slot"][slot]:
            first = batch.shared[0]["first"][slot]
            used[codes.slots[slot]] = {
                text for value, text in enumerate(texts) if d["used"][first + value]
            }
    return Goal(
        constraints=[
            codes.decoded_item(item) for item in d["constraint"][: d["constraints"]].tolist()
        ],
        requests={
            codes.slots[slots[at]]: codes.text(slots[at], values[at]) for at in range(d["requests"])
        },
        used=used,
        told_nothing_matches=bool(d["told_nothing_matches"]),
    )


def _agenda(batch: BatchedSimulation, d: Any) -> Agenda:
    acts, begin = [], 0
    for index in range(d["agenda"]):
        end = int(d["agenda_end"][index])
        items = d["agenda_item"][begin:end].tolist()
        acts.append(batch.codes.decoded(int(d["agenda_act"][index]), items))
        begin = end
    return Agenda(reversed(acts))


def _fill(batch: BatchedSimulation, d: Any, belief: Belief) -> None:
    codes = batch.codes
    for slot, believed in belief.slots.items():
        code = codes.slot[slot]
        first, number = int(batch.shared[0]["first"][code]), int(d["believed"][code])
        values = [codes.text(code, v) or "" for v in d["value"][first : first + number].tolist()]
        mass = d["mass"][first : first + number].tolist()
        believed.values = dict(zip(values, mass, strict=True))
        believed.none = float(d["none"][code])
        believed.best = _ranked(batch, code, d["best"][code], d["best_mass"][code])
        believed.second = _ranked(batch, code, d["second"][code], d["second_mass"][code])
        believed.accepted = believed.best.value if d["accepted"][code] else None
    belief.methods = d["methods"].tolist()
    said = zip(DISCOURSE_ACTS, d["discourse"].tolist(), strict=True)
    belief.discourse_acts = {act: mass for act, mass in said if mass}
    asked = d["requested"].tolist()
    belief.requested = {
        slot: asked[codes.slot[slot]]
        for slot in batch.process.simulation.domain.ontology.requestable
        if asked[codes.slot[slot]]
    }
    name = codes.slot["name"]
    belief.last_offered = codes.text(name, int(d["last_offered"])) or ""
    offers = d["offer"][: d["offers"]].tolist()
    belief.offered_since_none = [codes.text(name, offer) or "" for offer in offers]
    belief.nothing_found, belief.offered = bool(d["nothing_found"]), bool(d["offered"])
    belief.revision += 1


def _ranked(batch: BatchedSimulation, slot: int, value: int, mass: float) -> Ranked:
    text = batch.codes.text(slot, int(value))
    return NOTHING if text is None else Ranked(text, float(mass))
