"""Acts that the user of live dialogues says beside those of the public simulator.

All are general, so that systems that talk in acts and know nothing of them are not disturbed.
"""

from __future__ import annotations

from mwzeval.multiwoz.convlab.acts import GENERAL, NONE, Act

REPEAT = Act("repeat", GENERAL, NONE, NONE)
"""What follows was said before."""
CORRECT = Act("correct", GENERAL, NONE, NONE)
"""What follows is put right."""
CHANGE = Act("change", GENERAL, NONE, NONE)
"""What follows is wanted instead, because the first wish cannot be had."""
THANK = Act("thank", GENERAL, NONE, NONE)
GIVE_UP = "giveup"
"""The intent of giving up; the value is the domain that is given up."""


def giving_up(domain: str) -> Act:
    """Return the act that gives a domain up."""
    return Act(GIVE_UP, GENERAL, NONE, domain)


SAME = {
    "people": "the same group of people as the {}",
    "day": "the same day as the {}",
    "area": "same area as the {}",
    "pricerange": "in the same price range as the {}",
}
"""Slot → what is said in place of a value that was said before of the domain in the braces."""
