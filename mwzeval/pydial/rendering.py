"""The current exchange of a dialogue for people: acts, what was heard, and what is believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mwzeval.errors import printable
from mwzeval.pydial.dialogue.ontology import METHODS
from mwzeval.pydial.dialogue.simulation import Simulation

VISIBLE = 0.005
"""Less probable than this is not shown."""


def exchange_text(simulation: Simulation) -> str:
    """Return a few lines about the current exchange, "" before the first dialogue."""
    if simulation.user is None:
        return ""
    return "\n".join(map(printable, _lines(simulation))) + "\n"


def _lines(simulation: Simulation) -> Iterator[str]:
    belief = simulation.belief
    yield f"exchange {simulation.exchange}{' (the last)' if simulation.ended else ''}"
    yield f"  system   {simulation.system_act}"
    if simulation.ended:
        return
    yield f"  user     {simulation.said}"
    for act, score in simulation.heard:
        yield f"  heard    {score:.2f} {act}"
    for slot, believed in belief.slots.items():
        shown = _ranked(believed.values)
        if shown:
            yield f"  {slot:8} {shown}"
    yield f"  method   {_ranked(dict(zip(METHODS, belief.methods, strict=True)))}"
    for title, of in (("act", belief.discourse_acts), ("asked", belief.requested)):
        if shown := _ranked(of):
            yield f"  {title:8} {shown}"


def _ranked(of: Mapping[str, float]) -> str:
    ranked = sorted(of.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{value} {p:.2f}" for value, p in ranked if p >= VISIBLE)
