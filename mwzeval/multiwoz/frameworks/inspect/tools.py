"""The functions on the database as tools of inspect_ai."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from inspect_ai.tool import Tool, ToolDef, ToolParam, ToolParams

from mwzeval.conversation.episode import Episode
from mwzeval.errors import UsageError
from mwzeval.multiwoz.live.episodes import Episodes

EPISODE: ContextVar[Episode] = ContextVar("episode")
"""The dialogue of the sample that is being solved."""


def multiwoz_tools() -> list[Tool]:
    """Return the functions `find_*` and `book_*`, for an agent that `multiwoz_user` talks to.

    Outside of such a dialogue their calls raise `UsageError`.
    """
    return [definition.as_tool() for definition in definitions()]


def definitions(*, is_open: bool = False) -> list[ToolDef]:
    """Return the definitions of the functions.

    With `is_open` all arguments are let pass: the functions themselves say what is wrong with a
    call, in the words of `mwzeval live`, and take numbers for their digits.
    """
    return [_definition(described["function"], is_open=is_open) for described in Episodes.tools]


def _definition(described: Mapping[str, Any], *, is_open: bool) -> ToolDef:
    name = described["name"]

    async def execute(**kwargs: Any) -> str:
        episode = EPISODE.get(None)
        if episode is None:
            raise UsageError(f"{name} was called outside of a dialogue: use multiwoz_user()")
        return json.dumps(episode.call(name, kwargs), ensure_ascii=False)

    schema = described["parameters"]
    parameters = ToolParams(
        properties={
            parameter: ToolParam.model_validate(told)
            for parameter, told in schema["properties"].items()
        },
        required=list(schema.get("required", ())),
    )
    if is_open:
        parameters = ToolParams(additionalProperties=True)
    return ToolDef(
        execute,
        name=name,
        description=described["description"],
        parameters=parameters,
        max_output=0,
    )
