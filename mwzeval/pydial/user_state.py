"""What a simulated user knows and means at one moment of a dialogue."""

from __future__ import annotations

from dataclasses import dataclass

from mwzeval.pydial.agenda import Agenda
from mwzeval.pydial.dialogue.acts import NULL, Act
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.rng import Chance
from mwzeval.pydial.dialogue.user_parameters import UserParameters
from mwzeval.pydial.domain import Domain


@dataclass(slots=True)
class UserState:
    """All that changes while a user talks, and what its rules need beside it.

    `patience` counts down from `max_patience`. `last_said` is the user's last act that can be said
    again; `last_heard` the system's. `first_offer_pending` holds until the first offer has been
    judged.
    """

    domain: Domain
    parameters: UserParameters
    chance: Chance
    legacy: bool
    goal: Goal
    agenda: Agenda
    patience: int
    max_patience: int
    last_said: Act = NULL
    last_heard: Act = NULL
    first_offer_pending: bool = True
