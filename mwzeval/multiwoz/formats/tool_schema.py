"""The functions of MultiWOZ as a JSON tool schema, for systems that call tools.

The form is that of `tools` of the chat completions of OpenAI, which other servers and the chat
templates of models take as well.
"""

from __future__ import annotations

from typing import Any

from mwzeval.multiwoz.formats.functions import FUNCTIONS, Function, Parameter


def tools_schema(*, strict: bool = False) -> list[dict[str, Any]]:
    """Return the tools, one a function, each a JSON Schema of its own that allows nothing else.

    With `strict` they are what OpenAI's strict mode takes: every argument has to be given, and
    null stands for one that is not known.
    """
    return [_tool(function, strict) for function in FUNCTIONS]


def _tool(function: Function, strict: bool) -> dict[str, Any]:
    required = [
        parameter.name
        for parameter in function.parameters
        if strict or function.is_required(parameter)
    ]
    return {
        "type": "function",
        "function": {
            "name": function.name,
            "description": function.description,
            **({"strict": True} if strict else {}),
            "parameters": {
                "type": "object",
                "properties": {
                    parameter.name: _property(
                        parameter, nullable=strict and not function.is_required(parameter)
                    )
                    for parameter in function.parameters
                },
                "required": required,
                "additionalProperties": False,
            },
        },
    }


def _property(parameter: Parameter, *, nullable: bool) -> dict[str, Any]:
    kind = "integer" if parameter.is_number and not parameter.values else "string"
    values: list[str | None] = [*parameter.values]
    if values and nullable:
        values.append(None)
    return {
        "type": [kind, "null"] if nullable else kind,
        **({"enum": values} if values else {}),
        "description": parameter.description,
    }
