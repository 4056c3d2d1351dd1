"""Print the functions of MultiWOZ as a JSON tool schema.

The schema is for systems that call tools: pass it to the model as `tools`, save the conversations,
and score them with --input-format messages (docs/formats.md).
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="print a schema for strict function calling: every argument is required, and "
        "null if unknown",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the tool schema; return 0."""
    from mwzeval.multiwoz.functions import tools_schema
    from mwzeval.text import to_json

    print(to_json(tools_schema(strict=arguments.strict)), end="")
    return 0
