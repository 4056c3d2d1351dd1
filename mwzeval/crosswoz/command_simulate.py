"""Let a user simulator talk to a system about goals, and count how many dialogues finish.

Both are those of CrossWOZ unless others are named. Any class of your own takes part:
`--system my_module:MySystem`, see docs/crosswoz_simulation.md.
"""

from __future__ import annotations

import argparse
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.output import tell

LEVELS = ("act", "text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.set_defaults(interrupted="dialogues so far are in the output, and --resume goes on")
    parser.add_argument("--level", choices=LEVELS, default="act", help="default: %(default)s")
    parser.add_argument(
        "--per-type", type=int, default=1000, metavar="N", help="dialogues of each goal type"
    )
    parser.add_argument(
        "--system",
        default="rule",
        metavar="NAME",
        help="rule, rule-paper, the folder of a trained policy, or package.module:Name "
        "(default: %(default)s)",
    )
    parser.add_argument("--limit", type=int, default=15, metavar="N", help="exchanges at most")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="end a dialogue whose system or user takes longer for one call (default: wait)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="change no result")
    parser.add_argument("-o", "--output", metavar="FILE.jsonl", help="where the dialogues go")
    parser.add_argument(
        "--resume", action="store_true", help="go on where the output of the same call ends"
    )
    parser.add_argument(
        "--templates",
        metavar="PATH",
        help="level text: folder or zip archive of template files in the public format "
        "(default: those that come along)",
    )
    parser.add_argument(
        "--template-mode", choices=("auto", "manual", "auto_manual"), help="which of them are used"
    )
    parser.add_argument(
        "--nlu",
        default="templates",
        metavar="NAME",
        help="level text: templates (reads the manual ones), the folder of a trained NLU, or "
        "package.module:Name",
    )
    parser.add_argument(
        "--revision",
        choices=("release", "convlab2", "sample"),
        default="release",
        help="of the database (default: %(default)s)",
    )
    parser.add_argument("--data", metavar="DIR", help="with the database, in the public layout")
    parser.add_argument("--offline", action="store_true", default=None, help="download nothing")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Simulate, print the figures; return 0.

    Raises `UsageError` for options that do not go together.
    """
    from mwzeval.crosswoz.corpus.folds import corpus_root, load_database
    from mwzeval.crosswoz.simulation.dialogue import Setting
    from mwzeval.crosswoz.simulation.named_systems import nlu_named, system_named
    from mwzeval.crosswoz.simulation.run import simulate

    root = corpus_root(arguments.revision, arguments.data, offline=arguments.offline)
    database, checksum = load_database(root, arguments.revision)
    system = system_named(arguments.system)
    about = {"system": arguments.system, "revision": arguments.revision, "database": checksum}
    setting_of: dict[str, Any] = {"level": arguments.level, "limit": arguments.limit}
    if arguments.level == "text":
        from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates

        templates = load_templates(arguments.templates)
        reads_manual = arguments.nlu == "templates"
        mode: Any = arguments.template_mode or ("manual" if reads_manual else "auto_manual")
        setting_of["nlg"] = TemplateNlg(templates, mode)
        sides = templates["user"], templates["system"]
        setting_of["nlu"] = nlu_named(arguments.nlu, *sides, database)
        about |= {"nlu": arguments.nlu, "template_mode": mode}
        about |= {"templates": arguments.templates or "embedded"}
    elif arguments.templates or arguments.template_mode:
        raise UsageError("templates are for --level text")
    setting_of["make_text_system" if system.in_words else "make_system"] = system.make
    summary = simulate(
        Setting(database, **setting_of),
        per_type=arguments.per_type,
        seed=arguments.seed,
        processes=arguments.processes,
        output=arguments.output,
        resume=arguments.resume,
        about=about,
        progress=False if arguments.quiet else None,
        time_limit=arguments.time_limit,
    )
    if arguments.json:
        from mwzeval.report.json import to_json

        print(to_json(summary.to_json()), end="")
    else:
        print(summary.to_text(), end="")
    if arguments.output:
        tell(f"wrote {arguments.output}")
    return 0
