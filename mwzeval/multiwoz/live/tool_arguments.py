"""What a call of a tool asks for: its arguments checked and in the database's spelling.

An error is a sentence for the agent, which may be a language model that tries again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mwzeval.errors import did_you_mean, shorten
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.formats.functions import BY_NAME, Function, Parameter
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import NO_CONSTRAINT, TIME_SLOTS
from mwzeval.multiwoz.words.numbers import clock
from mwzeval.scores.findings import found

MOST_DIGITS = 3
"""Of a number of people or nights."""
_TIME = re.compile(r"([01]?[0-9]|2[0-4]):([0-5][0-9])")


class CallError(Exception):
    """A call that cannot be executed; its text tells the agent why, and what to do."""


def function_called(name: str) -> Function:
    """Return the function of a name. Raises `CallError` when there is none."""
    function = BY_NAME.get(name)
    if function is None:
        raise CallError(
            f'unknown function "{shorten(name)}"{did_you_mean(name, BY_NAME)} ({known(BY_NAME)})'
        )
    return function


def checked(function: Function, arguments: Mapping[str, Any], rules: Rules) -> dict[str, str]:
    """Return the values of the arguments that tell something, by parameter.

    Null, an empty text and what means that the user does not mind tell nothing. Values have the
    spelling that `rules` make of them. Raises `CallError`.
    """
    parameters = {parameter.name: parameter for parameter in function.parameters}
    values = {}
    for name, value in arguments.items():
        parameter = parameters.get(name)
        if parameter is None:
            raise CallError(
                f'{function.name} has no argument "{shorten(str(name))}"'
                f"{did_you_mean(str(name), parameters)} ({known(parameters)})"
            )
        text = _text(parameter, value)
        if text and text.lower() not in NO_CONSTRAINT:
            values[name] = _spelled(parameter, text, rules)
    missing = [
        parameter.name
        for parameter in function.parameters
        if parameter.is_required and parameter.name not in values
    ]
    if missing:
        raise CallError(f"{function.name} needs {', '.join(missing)} as well")
    return values


def known(names: Iterable[str]) -> str:
    """Return the names that there are, as an error lists them."""
    return f"known: {', '.join(names)}"


def _text(parameter: Parameter, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if parameter.is_number and isinstance(value, int) and not isinstance(value, bool):
        return str(value)[: MOST_DIGITS + 2]
    raise CallError(f"{parameter.name}: expected {_expected(parameter)}, {found(value)}")


def _spelled(parameter: Parameter, text: str, rules: Rules) -> str:
    """Return a value in normal spelling. Raises `CallError` for one that cannot be."""
    slot = normalize_slot(parameter.name)
    if slot in TIME_SLOTS:
        spelled = _time(text)
    elif parameter.values:
        spelled = normalize_value(slot, text.lower(), rules)
        spelled = spelled if spelled in parameter.values else ""
    elif parameter.is_number:
        is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
        spelled = str(int(text)) if is_number and int(text) else ""
    else:
        return text
    if not spelled:
        hint = did_you_mean(text.lower(), parameter.values)
        expected = _expected(parameter)
        raise CallError(f'{parameter.name}: expected {expected}, found "{shorten(text)}"{hint}')
    return spelled


def _expected(parameter: Parameter) -> str:
    if parameter.values:
        return f"one of {', '.join(parameter.values)}"
    if parameter.is_number:
        return "a whole number from 1"
    if normalize_slot(parameter.name) in TIME_SLOTS:
        return "a time as HH:MM, 24 hours"
    return "text"


def _time(text: str) -> str:
    match = _TIME.fullmatch(text) or _TIME.fullmatch(clock(text))
    return f"{match[1]:0>2}:{match[2]}" if match else ""
