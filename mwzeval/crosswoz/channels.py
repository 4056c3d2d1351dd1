"""How the two sides of a simulation reach each other: by acts, or by words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.draws import Draws
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Nlu, System, TextSystem
from mwzeval.crosswoz.simulation.record import (
    SimulatedExchange,
    as_acts,
    as_text,
    selected_of,
    state_of,
)

CONTEXT = 3
"""How many utterances before one an NLU is given."""


@dataclass(slots=True)
class ActChannel:
    """The user's acts reach the system as they are, and its acts the user."""

    system: System

    def exchange(self, user_acts: Acts) -> tuple[Acts, SimulatedExchange]:
        """Return what the user hears, and what is kept of the exchange."""
        said = as_acts(self.system.answer(user_acts), "the system")
        kept = SimulatedExchange(
            user_acts, said, state=state_of(self.system), selected=selected_of(self.system)
        )
        return said, kept


@dataclass(slots=True)
class Pipeline:
    """A system of words made of an NLU, a system of acts and an NLG.

    `understood` and `said` are the acts that it heard and said last.
    """

    system: System
    nlu: Nlu
    nlg: Nlg
    draws: Draws
    understood: Acts = ()
    said: Acts = ()
    _before: list[str] = field(default_factory=list)

    @property
    def state(self) -> Any:
        """The state of the system of acts."""
        return getattr(self.system, "state", None)

    @property
    def selected(self) -> Any:
        """What the system of acts has selected."""
        return getattr(self.system, "selected", None)

    def respond(self, utterance: str) -> str:
        """Return what the system says."""
        understood = self.nlu.understand(utterance, self._before[-CONTEXT:], USER)
        self.understood = as_acts(understood, "the NLU")
        self.said = as_acts(self.system.answer(self.understood), "the system")
        text = self.nlg.say(self.said, SYSTEM, self.draws) or ""
        self._before += [utterance, text]
        return text


@dataclass(slots=True)
class TextChannel:
    """The user speaks in words, and understands those of the system as well as its NLU does."""

    system: TextSystem
    nlu: Nlu
    nlg: Nlg
    draws: Draws
    _before: list[str] = field(default_factory=list)

    def exchange(self, user_acts: Acts) -> tuple[Acts, SimulatedExchange]:
        """Return what the user hears, and what is kept of the exchange."""
        utterance = self.nlg.say(user_acts, USER, self.draws) or ""
        reply = as_text(self.system.respond(utterance), "the system")
        self._before.append(utterance)
        understood = self.nlu.understand(reply, self._before[-CONTEXT:], SYSTEM) if reply else ()
        heard = as_acts(understood, "the NLU")
        self._before.append(reply)
        meant = getattr(self.system, "said", None)
        kept = SimulatedExchange(
            user_acts,
            heard if meant is None else as_acts(meant, "the system"),
            utterance,
            reply,
            heard,
            state_of(self.system),
            selected_of(self.system),
        )
        return heard, kept
