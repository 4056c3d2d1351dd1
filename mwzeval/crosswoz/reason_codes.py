"""Why something was lost: the kinds of reason that explanations have.

docs/crosswoz.md says what each means. A slot, or for acts the intent, may stand behind a colon.
"""

from __future__ import annotations

MISSING_ACT, SPURIOUS_ACT, WRONG_ACT_VALUE = "missing-act", "spurious-act", "wrong-act-value"
MISSING_SLOT, SPURIOUS_SLOT, WRONG_SLOT = "missing-slot", "spurious-slot", "wrong-slot"
SPELLING, CHOSEN_NAME = "other-spelling", "name-not-annotated"
WRONG_LINE, MISSING_FLAG, SPURIOUS_FLAG = "wrong-line", "not-expressed", "expressed-too-early"

NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY = "no-venue", "venue-not-in-database", "not-nearby"
WRONG_CONSTRAINT, NO_END, OTHER_END = "wrong-constraint", "end-not-named", "other-end"
UNANSWERED, WRONG_VALUE = "unanswered", "wrong-value"
NOT_FINISHED, NOT_DONE = "not-finished", "not-done"

INFORM_CODES = frozenset({NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY, WRONG_CONSTRAINT, NO_END, OTHER_END})
"""Faults that lose Inform, and Success with it; the others of an outcome lose Success alone."""
REASON_CODES = frozenset(
    {MISSING_ACT, SPURIOUS_ACT, WRONG_ACT_VALUE, MISSING_SLOT, SPURIOUS_SLOT, WRONG_SLOT, SPELLING}
    | {CHOSEN_NAME, WRONG_LINE, MISSING_FLAG, SPURIOUS_FLAG, NOT_FINISHED, NOT_DONE}
    | {UNANSWERED, WRONG_VALUE}
    | INFORM_CODES
)
