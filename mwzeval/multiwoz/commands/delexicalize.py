"""Put placeholders for what lexicalised responses say, as the database knows it.

Writes predictions with all else as it was, and prints how many mentions of which slots there are,
how many of them the database does not have, and how many could be read otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import STANDARD_OUTPUT, add_files, add_format, file_of
from mwzeval.errors import InputError
from mwzeval.multiwoz.benchmark import add_corpus, add_input_format, add_unfilled
from mwzeval.multiwoz.normalization.placeholders import known_placeholders
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.multiwoz.words.text import Delexicalized, Mention
from mwzeval.output import warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.scores.sheets import Document


@dataclass(slots=True)
class Account:
    """What was found: turns, turns with a mention, and mentions by slot.

    `unknown` are the mentions of values that the database does not have, of slots that it has;
    `unsure` those that could be read otherwise, or are misspelt names.
    """

    turns: int = 0
    with_mentions: int = 0
    with_placeholders: int = 0
    mentions: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unsure: Counter[str] = field(default_factory=Counter)

    def add(self, before: str, turn: Delexicalized) -> None:
        """Count a turn, given its response as it came."""
        self.turns += 1
        self.with_mentions += bool(turn.mentions)
        self.with_placeholders += bool(known_placeholders(before))
        for mention in turn.mentions:
            self.mentions[mention.slot] += 1
            self.unknown[mention.slot] += mention.slot in OF_DATABASE and mention.value is None
            self.unsure[mention.slot] += not mention.sure

    def plain(self) -> dict[str, Any]:
        """Return the numbers for JSON, slots by how often they are mentioned."""
        return {
            "turns": self.turns,
            "with_mentions": self.with_mentions,
            "with_placeholders": self.with_placeholders,
            "slots": {
                slot: {
                    "mentions": times,
                    "not_in_database": self.unknown[slot] if slot in OF_DATABASE else None,
                    "unsure": self.unsure[slot],
                }
                for slot, times in sorted(
                    self.mentions.items(), key=lambda item: (-item[1], item[0])
                )
            },
        }


OF_DATABASE = frozenset(
    {
        *("name", "address", "phone", "postcode", "area", "food", "pricerange", "type", "stars"),
        *("entrancefee", "price", "trainid", "leaveat", "arriveby", "duration", "departure"),
        *("destination", "day"),
    }
)
"""Slots whose values are in the database; there are no columns of references or choices."""


@dataclass(frozen=True, slots=True)
class DelexicalizedInput:
    """The delexicalised turns of an input, by dialogue."""

    dialogues: Mapping[str, Sequence[Delexicalized]]
    account: Account

    @classmethod
    def of(cls, scorer: Scorer, dialogues: Dialogues) -> DelexicalizedInput:
        """Delexicalise checked dialogues, with gold states where not all turns predict them."""
        sources = Sources.of(dialogues.values())
        account = Account()
        delexicalized = {}
        for name, turns in dialogues.items():
            delexicalized[name] = scorer.delexicalized(name, turns, sources)
            for turn, found in zip(turns, delexicalized[name], strict=True):
                account.add(turn.response or "", found)
        return cls(delexicalized, account)

    def written_into(self, raw: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Return raw predictions of these dialogues with the new responses, all else as it is."""
        return {
            name: [
                {**turn, "response": found.response}
                for turn, found in zip(raw[name], turns, strict=True)
            ]
            for name, turns in self.dialogues.items()
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every mention with its dialogue and turn (from 0), in their order."""
        for name, turns in self.dialogues.items():
            for number, turn in enumerate(turns):
                for mention in turn.mentions:
                    yield {"dialogue": name, "turn": number, **_plain(mention)}


def _plain(mention: Mention) -> dict[str, Any]:
    return asdict(mention) | {"venues": list(mention.venues)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_files(
        parser,
        "predictions: .json or .jsonl, also .gz, .xz or .zst; - reads JSON from standard input",
        several=False,
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUTPUT.json",
        help="where the delexicalised predictions go (- is standard output; the table then goes "
        "to standard error)",
    )
    parser.add_argument(
        "--mentions",
        metavar="FILE.jsonl",
        help="also write every mention: its place and text, slot and domain, the database's value "
        "and venues, and whether it is sure",
    )
    add_format(parser)
    add_input_format(parser)
    add_unfilled(parser)
    add_corpus(parser)
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")


def run(arguments: argparse.Namespace) -> int:
    """Delexicalise, write and print; return the exit code.

    Raises `InputError` for warnings when strict.
    """
    from mwzeval.multiwoz.choices import LEXICALIZED
    from mwzeval.multiwoz.evaluator import Evaluator
    from mwzeval.multiwoz.formats.adaptation import adapt
    from mwzeval.multiwoz.predictions.reading import Findings, read_predictions
    from mwzeval.scores.sheets import printed, render

    evaluator = Evaluator(
        corpus=arguments.corpus,
        fold=arguments.fold,
        rules=arguments.rules,
        data=arguments.data,
        input_format=arguments.input_format,
        tools=arguments.tools,
        responses=LEXICALIZED,
        unfilled=arguments.unfilled,
    )
    file = file_of(arguments)
    raw = read_predictions(file)
    checked = evaluator.checked(raw, file=file)
    if arguments.strict and checked.warnings:
        raise InputError(checked.warnings)
    delexicalized = DelexicalizedInput.of(checked.scorer, checked.dialogues)
    if arguments.mentions:
        lines = (json.dumps(record, ensure_ascii=False) for record in delexicalized.records())
        write_output(arguments.mentions, "".join(f"{line}\n" for line in lines))
    # The same once more, because what is written keeps keys that nobody scores.
    adapted = adapt(raw, arguments.input_format, Findings(), evaluator.tools)
    written = json.dumps(delexicalized.written_into(adapted), indent=1, ensure_ascii=False) + "\n"
    table = _document(delexicalized.account.plain())
    with warnings_behind(checked.warnings):
        if arguments.output in STANDARD_OUTPUT:
            write_result(written, "json")
            sys.stderr.write(render(table, arguments.format))
        else:
            write_output(arguments.output, written)
            write_result(printed(table, arguments.format), arguments.format)
    return 0


def _document(account: Mapping[str, Any]) -> Document:
    from mwzeval.scores.sheets import Document, sheet

    slots: Mapping[str, Mapping[str, int | None]] = account["slots"]
    mentions = sum(counts["mentions"] or 0 for counts in slots.values())
    heading = (
        f"{account['with_mentions']} of {account['turns']} turns mention something: "
        f"{mentions} mentions"
    )
    rows = [
        [slot, *("" if counts[key] is None else str(counts[key]) for key in COLUMNS)]
        for slot, counts in slots.items()
    ]
    return Document(
        heading=(heading,),
        sheets=(sheet("", ["", *COLUMNS.values()], rows),),
        notes=(),
        records=tuple({"slot": slot, **counts} for slot, counts in slots.items()),
        plain=account,
    )


COLUMNS = {"mentions": "mentions", "not_in_database": "not in database", "unsure": "unsure"}
"""Keys of an account, and what stands above them."""
