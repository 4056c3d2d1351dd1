"""What no database has, made up from a hash: references of bookings, and taxis."""

from __future__ import annotations

import hashlib
import string

_CODE = string.ascii_uppercase + string.digits
_COLOURS = ("black", "blue", "green", "grey", "red", "silver", "white")
_MAKES = ("audi", "bmw", "ford", "honda", "skoda", "tesla", "toyota", "volvo")


def digest(seed: str) -> bytes:
    """Return the bytes from which the following are made."""
    return hashlib.sha256(seed.encode(errors="backslashreplace")).digest()


def reference(made_from: bytes) -> str:
    """Return the reference of a booking: eight capital letters and digits."""
    return "".join(_CODE[byte % len(_CODE)] for byte in made_from[:8])


def phone_number(made_from: bytes) -> str:
    """Return the phone number of a taxi: 07 and nine digits."""
    return "07" + "".join(str(byte % 10) for byte in made_from[:9])


def car(made_from: bytes) -> str:
    """Return colour and make of a taxi."""
    colour, make = made_from[0] % len(_COLOURS), made_from[1] % len(_MAKES)
    return f"{_COLOURS[colour]} {_MAKES[make]}"
