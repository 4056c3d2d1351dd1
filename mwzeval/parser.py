"""A parser of arguments whose complaints are three lines: the mistake, usage, where help is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from mwzeval.errors import did_you_mean, printable, shorten

BAD_USE = 2

MOVED = {
    "--ceiling": "`mwzeval ceiling FILE` prints the scores of gold data next to those of FILE",
    "--claims": "`mwzeval claims FILE -o FILE.jsonl` lists claims",
    "--compat": "`mwzeval judge FILE --compat convlab2` scores live dialogues like ConvLab-2",
    "--dask": "`mwzeval shards FILE --dask ADDRESS` scores files on a cluster",
    "--dst-errors": "`mwzeval dst-errors FILE` counts errors by slot",
    "--exclude-user-faults": "`mwzeval judge` has it",
    "--fail-over": "--fail-under is for scores that are better when lower, too",
    "--jobs": "a comparison takes one process",
    "--offline": "set MWZEVAL_OFFLINE=1",
    "--per-dialogue": "`mwzeval rows FILE` prints the counts of each dialogue",
    "--per-example": "`mwzeval rows FILE` prints the counts of each example",
    "--places": "`mwzeval compare` and `power` have it; CSV and JSON have all digits",
    "--prices": "`mwzeval judge`, `live`, `compare` and `report` have it",
    "--rollouts": "`mwzeval shards --rollouts FILE` scores rollouts",
    "--runs": "`mwzeval runs FILE FILE` scores several runs",
    "--samples": "1,000 resamples are drawn; `Evaluator(samples=…, seed=…)` draws others",
    "--seed": "1,000 resamples are drawn; `Evaluator(samples=…, seed=…)` draws others",
    "--shards": "`mwzeval shards FILE FILE` scores files as one input",
    "--signatures": "files, pipes and -f json have the signatures",
    "--report": "give the file of the system",
    "--skip-bad-shards": "`mwzeval shards` has --skip-bad",
    "-j": "a comparison takes one process",
}
"""Options of earlier versions, and what replaces them."""


class Parser(argparse.ArgumentParser):
    """As argparse's, for verbs with forty options: errors do not repeat all of them.

    Nothing that is printed has characters that a terminal would obey. `why_unknown` is why an
    option may be unknown here.
    """

    why_unknown = ""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit with 2."""
        lines = (
            f"{self.prog}: error: {message}",
            self._short_usage(),
            f"all options: {self.prog} --help",
        )
        for line in lines:
            print(printable(line), file=sys.stderr)
        self.exit(BAD_USE)

    def _short_usage(self) -> str:
        """Return the usage in a line, optional arguments as `[options]`."""
        if self.usage:
            return f"usage: {self.usage}"
        needed = [a for a in self._actions if a.required or not a.option_strings]
        formatter = argparse.HelpFormatter(f"{self.prog} [options]", width=1_000)
        formatter.add_usage(None, needed, [])
        return formatter.format_help().strip()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse all arguments: what the parser of a verb does not know is an error of that verb."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            option = next((word for word in unknown if word.startswith("-")), "")
            name = option.partition("=")[0]
            if name in MOVED:
                self.error(f"{name} is no option of this verb any more: {MOVED[name]}")
            advice = did_you_mean(name, self._option_string_actions)
            words = shorten(" ".join(unknown), 200) + (advice if option else "")
            self.error(f"unrecognized arguments: {words}{self.why_unknown if option else ''}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of the choices, with the closest of them instead of all."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        advice = did_you_mean(str(value), choices)
        known = "" if advice else f" ({', '.join(choices)})"
        raise argparse.ArgumentError(action, f'unknown "{shorten(str(value))}"{advice}{known}')
