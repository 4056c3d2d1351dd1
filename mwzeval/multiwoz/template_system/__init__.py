"""A policy-only system of hand-written templates: a baseline that needs nothing but the database.

It is given, turn by turn, the gold state and what the user said (only to see, by simple keywords,
what is asked for), and looks up the database. It never sees goals, references, gold bookings, or
anything of a later turn.
"""

from mwzeval.multiwoz.template_system.catalogue import known_services
from mwzeval.multiwoz.template_system.system import baseline_predictions

__all__ = ["baseline_predictions", "known_services"]
