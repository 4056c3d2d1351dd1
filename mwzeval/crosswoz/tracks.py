"""The tracks of predictions files, their fields and their conditioning."""

from __future__ import annotations

from dataclasses import dataclass

USER_ACTS, SYSTEM_ACTS_NLU = "user_acts", "system_acts_nlu"
SYSTEM_ACTS, SYSTEM_ACTS_DELEX = "system_acts", "system_acts_delex"
STATE, SELECTED, USER_STATE = "state", "selected", "user_state"
RESPONSE, USER_RESPONSE = "response", "user_response"
FIELDS = (
    *(USER_ACTS, STATE, SYSTEM_ACTS, SYSTEM_ACTS_DELEX, SYSTEM_ACTS_NLU),
    *(SELECTED, USER_STATE, USER_RESPONSE, RESPONSE),
)
"""The possible fields of an exchange in a predictions file, in addition to its number (`turn`)."""


@dataclass(frozen=True, slots=True)
class Track:
    """A task. Every exchange must have the `required` fields and at least one of `any_of`.

    If any exchange has an optional field or a field of `any_of`, every exchange must have this
    field.
    """

    name: str
    label: str
    required: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


NLU = Track("nlu", "NLU", (USER_ACTS,), optional=(SYSTEM_ACTS_NLU,))
DST = Track("dst", "State tracking", (STATE,))
POLICY = Track("policy", "Policy", any_of=(SYSTEM_ACTS, SYSTEM_ACTS_DELEX))
NLG = Track("nlg", "NLG", any_of=(RESPONSE, USER_RESPONSE))
SIMULATOR = Track("sim", "User simulator", (USER_ACTS, USER_STATE))
END_TO_END = Track("e2e", "End to end", (RESPONSE, STATE, SELECTED), optional=(SYSTEM_ACTS,))
TRACKS = {track.name: track for track in (NLU, DST, POLICY, NLG, SIMULATOR, END_TO_END)}

GOLD_PREVIOUS_STATE = "gold_previous_state"
PREDICTED_HISTORY = "predicted_history"
GOLD_ACTS = "gold_acts"
JOINT_NAMES = {
    GOLD_PREVIOUS_STATE: "joint_single_turn",
    PREDICTED_HISTORY: "joint_full",
    GOLD_ACTS: "joint_full",
}
"""For each conditioning of predicted states, the name of the joint accuracy.

`gold_previous_state`: each turn starts from the gold state before it (RuleDST in the paper).
`predicted_history`: the input is all utterances so far (TRADE in the paper). `gold_acts`: the input
is all gold acts of the user so far. Scores with different conditioning are not comparable.
"""
