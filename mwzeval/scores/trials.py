"""Names of trials: `sng0073#2` is the second trial of the item `sng0073`."""

from __future__ import annotations


def trial_name(item: str, trial: int | str | None) -> str:
    """Return the name of a trial of an item: `sng0073#2`, or `sng0073` without a trial."""
    return item if trial is None else f"{item}#{trial}"


def item_and_trial(name: str) -> tuple[str, int | None]:
    """Return the item of a name and the number of its trial, None where it has none."""
    item, _, number = name.rpartition("#")
    if item and number.isdecimal() and number.isascii() and len(number) < 10:
        return item, int(number)
    return name, None


def item_of_trial(name: str) -> str:
    """Return the item of a name."""
    return item_and_trial(name)[0]
