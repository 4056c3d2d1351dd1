"""What an agent did in the dialogues of a corpus → predictions in mwzeval's own format.

States, bookings and calls of a turn are read as those of any conversation (docs/formats.md); active
domains are not predicted. A turn without an answer has an empty response.
"""

from __future__ import annotations

from typing import Any

from mwzeval.conversation.agents import BOOKINGS
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.formats.functions import OUR_TOOLS
from mwzeval.multiwoz.formats.messages import Conversation
from mwzeval.multiwoz.live.verdicts.transcript import reported_bookings
from mwzeval.scores.findings import Findings

Turn = dict[str, Any]


def predicted_turns(trajectory: Trajectory, count: int, *, states: bool = True) -> list[Turn]:
    """Return the `count` turns of a dialogue, as a predictions file has them.

    Without `states` turns have no state, and evaluation takes the gold ones; nor do they say that
    nothing was booked. Calls that nobody understands are left out: the agent was told so, and they
    count for nothing. Bookings of an agent that keeps its own tools stand in the last turn, as it
    does not say when it made them.
    """
    conversation = Conversation(trajectory.name, Findings(), OUR_TOOLS)
    turns = [turn for _, turn in conversation.read(trajectory.messages)]
    state = turns[-1]["state"] if turns else {}
    turns += [{"response": "", "state": state, "bookings": []} for _ in range(count - len(turns))]
    reported = trajectory.more.get(BOOKINGS)
    if turns and reported is not None:
        more = [
            {"domain": each.domain, "slots": dict(each.slots)}
            for each in reported_bookings(reported)
        ]
        turns[-1]["bookings"] = [*turns[-1]["bookings"], *more]
    if not states:
        for turn in turns:
            del turn["state"]
            if reported is None and not turn["bookings"]:
                del turn["bookings"]
    return turns
