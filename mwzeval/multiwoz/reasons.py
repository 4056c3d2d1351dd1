"""What each kind of reason for a loss means, in a sentence: for page, terminal and docs/reasons.md.

What became of one dialogue is told by sentences of its own, beside what finds the reasons.
"""

from __future__ import annotations

MEANINGS = {
    # Inform, of placeholders.
    "no-venue-offered": "No turn about the domain offers a venue.",
    "not-offered-again": "The last offer is what the user wanted then, by the annotation of its "
    "turn, but does not satisfy the goal, and no later turn makes an offer.",
    "domain-not-active": "The turn that could have won it is not about the domain.",
    "no-state": "A venue is offered while the state does not have the domain, so the query has no "
    "answer.",
    "no-venue-matches-state": "A venue is offered, but the database has none that matches the "
    "state.",
    "wrong-constraint": "Venues are on offer that do not satisfy the goal, and the state of the "
    "deciding turn has another value for the slot.",
    "missing-constraint": "Venues are on offer that do not satisfy the goal, and the state of the "
    "deciding turn lacks the slot.",
    "misplaced-constraint": "The state has the value that the goal has for the slot, but in "
    "another slot, which excludes what the user wants.",
    "extra-constraint": "The state has a slot of which the goal says nothing, and it excludes what "
    "the user wants.",
    "name-lost": "Venues are on offer that do not satisfy the goal; one that does had been settled "
    "on, and the state no longer names it.",
    "unsatisfiable-goal": "No venue in the database satisfies the goal, so no system can inform.",
    # Success, of placeholders.
    "never-gave": "No turn about the domain gives the requested slot.",
    "gave-before-booked": "A reference number is given in a turn by which, in the annotation, the "
    "domain is not booked.",
    "never-booked": "In the annotation none of the turns predicted has the domain booked.",
    # States.
    "missing-slot": "The annotated state has the slot, the predicted one has not.",
    "spurious-slot": "The predicted state has the slot, the annotated one has not.",
    "wrong-slot": "The predicted state has another value for the slot than the annotated one.",
    # Words, and live dialogues.
    "named-nothing": "No response names a venue or train of the domain.",
    "named-unknown": "The venue named last, or settled on, is in no database.",
    "named-wrong": "The venue named last, or settled on, does not satisfy the goal.",
    "never-said": "No response says a value of the requested slot.",
    "said-wrong": "A value that is said of the venue is not that venue's.",
    "said-before-booked": "A reference number is said in turns by which the annotation has not "
    "booked.",
    # Live dialogues alone.
    "agent-error": "The agent failed before the user was done.",
    "user-error": "The user failed before it was done.",
    "limit": "A limit was met before the user was done.",
    "booked-wrong": "The venue or train that is booked does not satisfy the goal.",
    "ride-untold": "Nothing is said of a place or time that the taxi has to have.",
    "ride-wrong": "The taxi is ordered with another place or time.",
    "invented": "A car, its number or a reference is told that no call has returned.",
    "not-booked": "Nothing is booked of what the user wants booked.",
    "booked-otherwise": "It is booked for another day, time, number of people or nights.",
    "not-told": "The user has no answer to what it asked.",
    "not-satisfied": "What was told or booked is not what the goal wants.",
}
"""Kind of reason, the code without what stands behind its colon → a sentence."""
