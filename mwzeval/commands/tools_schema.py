"""Print the functions of MultiWOZ as a JSON tool schema.

For systems that call tools: give it to the model as `tools`, keep the conversations, and score
them with --input-format messages (docs/formats.md).
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="for strict function calling: every argument is required, and null when not known",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    from mwzeval.multiwoz.formats.tool_schema import tools_schema

    print(json.dumps(tools_schema(strict=arguments.strict), indent=2, ensure_ascii=False))
    return 0
