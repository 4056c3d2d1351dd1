"""The conventions in which systems write placeholders."""

from collections.abc import Mapping

# Where a convention has no name of its own for a slot, it writes the slot itself.
_WITH_DOMAIN = {"ref": "reference", "bookpeople": "", "bookday": "", "booktime": "", "bookstay": ""}
_VALUE = {
    "stars": "count",
    "ref": "reference",
    "entrancefee": "price",
    "bookpeople": "people",
    "bookday": "day",
    "booktime": "time",
    "bookstay": "stay",
    "trainid": "id",
    "leaveat": "leave",
    "arriveby": "arrive",
    "duration": "time",
}
_BARE = {"ref": "reference", "bookpeople": "people", "bookstay": "stay", "bookday": "day"}


def placeholder(convention: str, domain: str, slot: str) -> str:
    """Return "[hotel_name]" ("domain"), "[value_name]" ("value") or "[name]" ("bare")."""
    if convention == "domain":
        name = _WITH_DOMAIN.get(slot, slot)
        return f"[{domain}_{name}]" if name else f"[{slot}]"
    if convention == "value":
        if domain == "taxi" and slot == "type":
            return "[value_car]"
        return f"[value_{_VALUE.get(slot, slot)}]"
    if domain == "taxi" and slot == "type":
        return "[car]"
    return f"[{_BARE.get(slot, slot)}]"


def placeholders(convention: str, domain: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values with each replaced by its placeholder; "words" leaves them alone."""
    if convention == "words":
        return dict(values)
    return {s: placeholder(convention, domain, s.rstrip("0123456789")) for s in values}
