"""What is said of parking and internet is yes, no, or nothing."""

from __future__ import annotations

import pytest

from mwzeval.multiwoz.words.amenities import said_of
from mwzeval.multiwoz.words.text import Tokens, lowered

HAS = """
It has parking.|It has free parking and wifi.|Guests enjoy complimentary parking.
Yes, it does have parking.|It comes with parking.|It features on-site parking.
It has no internet but free parking.|At the Lantern you get parking.
Parking is available.|Parking is included at the Lantern.|The parking is free.|Parking is also free.
Parking: yes|Parking - yes|Parking = yes; wifi = no|parking yes, wifi no|Parking ✓, wifi ✗
Parking: available|Parking available¶|✅ Parking¶|✓ parking, ✗ wifi
It has 3 stars (parking, wifi).|Lantern: 3 stars, parking, wifi.|Amenities: parking, wifi.
¶Free parking¶|¶On-site parking¶|There is parking at the Lantern.
It is a hotel with wifi and parking.|It includes wifi, breakfast and parking.
It has wifi, but it isn't cheap; parking is provided.|It has 4 stars plus parking.
Unfortunately it has no internet, but parking is available.
"""
HAS_NOT = """
It has no parking.|It has wifi but no parking.|It is a hotel without parking.|It lacks parking.
It does not have parking.|It doesn't offer parking.|It does n't provide parking.
It doesn't have any parking.|It has no wifi or parking.|It has neither wifi nor parking.
Parking is not available.|Parking isn't available.|Parking is unavailable.
There is no parking.|There's no on-site parking.|No parking is available.
Parking: no|Parking: none|Parking - no|parking no, wifi yes|Parking ✗|Parking: ❌|❌ Parking¶
¶No parking¶|It offers no wifi and no parking.|3 stars, no parking, no wifi.|Parking: not available
"""
SILENT = """
Do you need parking?|Would you like parking?|Is parking important to you?|Does it have parking?
If you need parking, tell me.|I found no hotel with parking.|None of them has parking.
You asked for parking.|I cannot tell whether parking is available.|the parking
I do not have parking information.|Parking is available nearby.|There is parking nearby.
Let me know about price, parking, and area.|Do you want: parking, wifi?|You need no parking.
No hotels have parking.|Parking is not a problem.|Parking is not needed.|Parking isn't free.
Shall I look for a hotel with parking?|Another hotel has parking.|The other one has parking.
"""


def told(text: str) -> str | None:
    """What a text says of its only parking."""
    tokens = Tokens(text, lowered(text))
    at = tokens.words.index("parking")
    answer = said_of(tokens.words, at, at + 1)
    return answer[1] if answer else None


def texts(table: str) -> list[str]:
    return [text for line in table.split("\n") for text in line.split("|") if text]


@pytest.mark.parametrize(
    ("table", "answer"), [(HAS, "yes"), (HAS_NOT, "no"), (SILENT, None)], ids=["yes", "no", "open"]
)
def test_what_is_said_of_parking(table: str, answer: str | None) -> None:
    assert {text: told(text) for text in texts(table)} == dict.fromkeys(texts(table), answer)
    assert told("¶| Name | Parking |¶") is None


def test_the_answer_belongs_to_what_is_said() -> None:
    words = ["parking", ":", "yes", ",", "wifi", ":", "no"]
    assert said_of(words, 0, 1) == (3, "yes")
    assert said_of(words, 4, 5) == (7, "no")
