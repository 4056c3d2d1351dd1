"""What the calls of a dialogue amount to: its state and bookings.

Active domains are left to be estimated from the states, as for most published systems. The domains
of a turn's calls would often be several, where the estimate is one, and the same system would gain
a point or two of Inform and Success by its format alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mwzeval.multiwoz.formats.calls import Call

BOOKING_PREFIX = "book"


class CallState:
    """The state after the calls so far.

    A find call replaces the constraints of its domain by its arguments; what was booked there
    stays. A book call replaces those slots that it gives. Other domains stay as they are.
    """

    def __init__(self) -> None:
        self._state: dict[str, dict[str, str]] = {}

    def turn(self, calls: Iterable[Call]) -> dict[str, Any]:
        """Return the keys of a turn in which these calls were made, in their order."""
        bookings = []
        for function, arguments in calls:
            domain = function.domain
            known = self._state.get(domain, {})
            if function.kind == "find":
                known = {s: v for s, v in known.items() if s.startswith(BOOKING_PREFIX)}
            else:
                bookings.append({"domain": domain, "slots": arguments})
            filled = {
                parameter.slot: arguments[parameter.name]
                for parameter in function.parameters
                if parameter.slot and parameter.name in arguments
            }
            # Never changed, always made anew: turns keep what the state was.
            self._state = {**self._state, domain: {**known, **filled}}
        return {"state": self._state, "bookings": bookings}
