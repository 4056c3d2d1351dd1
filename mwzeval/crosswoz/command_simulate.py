"""Let a user simulator talk to a system about goals, and count how many dialogues finish.

Both are those of CrossWOZ unless others are named. Any class of your own takes part:
`--system my_module:MySystem`, see docs/crosswoz_simulation.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import InputFile
from mwzeval.conversation.agents import failing_as_usage, imported, is_own_code
from mwzeval.crosswoz.command_models import checksum_of
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, MakeSystem, Nlg, Nlu, Rng, Side
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.sl_policy import MODEL_FILE, MakeSlSystem, SlPolicy
from mwzeval.crosswoz.systems.template_reader import TemplateReader, spellings
from mwzeval.crosswoz.systems.templates import MODES, Templates
from mwzeval.errors import UsageError, unknown
from mwzeval.output import tell

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.crosswoz.simulation.dialogue import Setting

RULE, RULE_PAPER = "rule", "rule-paper"
TEMPLATES = "templates"
REMEMBERED = 2**14
"""Utterances of which an NLU remembers what they mean."""


@dataclass(frozen=True, slots=True)
class NamedSystem:
    """A system by name: `make` makes one for each dialogue, of acts or, if `in_words`, of words."""

    name: str
    make: Callable[[Database], Any]
    in_words: bool = False


def system_named(name: str) -> NamedSystem:
    """Return a system by its name.

    `rule` is the system of rules, `rule-paper` the same with the paper's RuleDST; a folder is that
    of a trained SL policy; `package.module:Name` is something of the user's own that is called with
    the database, once a dialogue. Raises `UsageError` for anything else, `InputError` for a policy
    that cannot be loaded.
    """
    if name in (RULE, RULE_PAPER):
        make: MakeSystem = partial(RuleSystem, paper_compatible=name == RULE_PAPER)
        return NamedSystem(name, make)
    if is_own_code(name):
        found = imported(name)
        return NamedSystem(name, found, in_words=hasattr(found, "respond"))
    if Path(name).exists():
        return NamedSystem(name, MakeSlSystem(SlPolicy.load(name)))
    more = f", a folder with {MODEL_FILE}, or package.module:Name"
    raise UsageError(unknown("system", name, (RULE, RULE_PAPER), more))


@dataclass(slots=True)
class TrainedNlg:
    """A trained generator that each process loads for itself, when it needs it."""

    folder: Path
    _loaded: Nlg | None = None

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text that says the acts, None when there are no words for them."""
        if self._loaded is None:
            self._loaded = self.load()
        return self._loaded.say(acts, side, rng)

    def load(self) -> Nlg:
        """Return the generator. Raises `InputError` when it is none, `DependencyError`."""
        from mwzeval.crosswoz.sclstm.generator import load_sclstm

        return load_sclstm(self.folder)


def trained_nlg(name: str) -> Nlg:
    """Return the generator of a folder. Raises `UsageError`, `InputError` as `nlu_named`."""
    if not Path(name).exists():
        more = ", or the folder of a trained generator"
        raise UsageError(unknown("NLG", name, (TEMPLATES,), more))
    trained = TrainedNlg(Path(name))
    trained.load()  # what is wrong with it is told before anything begins
    return trained


@dataclass(slots=True)
class TrainedNlu:
    """A trained NLU that each process loads for itself, when it needs it.

    Templates say values in small letters; `spellings` gives those of the database their own back.
    What it has understood is remembered: users that get no answer, and systems that have none,
    repeat themselves.
    """

    folder: Path
    spellings: Mapping[str, str]
    _understand: Any = None

    def __reduce__(self) -> Any:
        # Neither the network nor what is remembered is sent to other processes.
        return TrainedNlu, (self.folder, self.spellings)

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance."""
        if self._understand is None:
            self._understand = lru_cache(REMEMBERED)(self.load().understand)
        acts = self._understand(utterance, tuple(context), side)
        return tuple(act._replace(value=self.spellings.get(act.value, act.value)) for act in acts)

    def load(self) -> Nlu:
        """Return the NLU. Raises `InputError` when it is none, `DependencyError`."""
        from mwzeval.crosswoz.nlu.loading import load_nlu
        from mwzeval.libraries import required

        # Processes beside each other share the cores.
        required("torch").set_num_threads(1)
        return load_nlu(self.folder)


def nlu_named(name: str, templates: Mapping[Side, Templates] | None, database: Database) -> Nlu:
    """Return an NLU by its `name`, for a `database`; `templates` are those of a `TemplateNlg`.

    `templates` understands the manual templates; a folder is that of a trained NLU;
    `package.module:Name` is something of the user's own that is called once, without arguments.
    Raises `UsageError` for anything else, `InputError` for an NLU that cannot be loaded.
    """
    if name == TEMPLATES and templates is not None:
        user, system = templates[USER], templates[SYSTEM]
        if not user.manual or not system.manual:
            raise UsageError(
                f"the NLU {TEMPLATES} understands manual templates, and these have none: name "
                "templates that have, or a trained NLU"
            )
        return TemplateReader(user.manual, system.manual, database)
    if is_own_code(name):
        with failing_as_usage(name, "made"):
            nlu: Nlu = imported(name)()
        return nlu
    if Path(name).exists():
        trained = TrainedNlu(Path(name), spellings(database))
        trained.load()  # what is wrong with it is told before anything begins
        return trained
    more = ", the folder of a trained NLU, or package.module:Name"
    raise UsageError(unknown("NLU", name, (TEMPLATES,), more))


LEVELS = ("act", "text")
OF_TEMPLATES = ("templates", "template_mode")
"""The options that choose templates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.set_defaults(interrupted="dialogues so far are in the output, and --resume goes on")
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
    _add_talk(parser)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def _add_talk(parser: argparse.ArgumentParser) -> None:
    """Add how the two talk, and about which database; `_setting` reads it."""
    parser.add_argument("--level", choices=LEVELS, default="act", help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=15, metavar="N", help="exchanges at most")
    add_templates(parser, "level text")
    parser.add_argument(
        "--nlg",
        metavar="NAME",
        help=f"level text: templates, or the folder of a trained generator (default: {TEMPLATES})",
    )
    parser.add_argument(
        "--nlu",
        metavar="NAME",
        help="level text: templates (reads the manual ones), the folder of a trained NLU, or "
        f"package.module:Name (default: {TEMPLATES})",
    )
    parser.add_argument(
        "--revision",
        choices=("release", "convlab2", "sample"),
        default="release",
        help="of the database (default: %(default)s)",
    )
    parser.add_argument("--data", metavar="DIR", help="with the database, in the public layout")


def add_templates(parser: argparse.ArgumentParser, where: str) -> None:
    """Add the options that choose templates; `where` says what they are for."""
    parser.add_argument(
        "--templates",
        type=InputFile,
        metavar="PATH",
        help=f"{where}: folder or zip archive of template files in the public format "
        "(default: those that come along)",
    )
    parser.add_argument("--template-mode", choices=MODES, help="which of them are used")


def _setting(arguments: argparse.Namespace, name: str) -> tuple[Setting, dict[str, Any]]:
    """Return who talks to the system of a name, and what the header of the log says of it.

    Raises `UsageError` for options that do not go together.
    """
    from mwzeval.crosswoz.corpus.folds import corpus_root, load_database
    from mwzeval.crosswoz.simulation.dialogue import Setting

    root = corpus_root(arguments.revision, arguments.data)
    database, checksum = load_database(root, arguments.revision)
    system = system_named(name)
    about = {"agent": {"spec": name}, "revision": arguments.revision, "database": checksum}
    setting_of: dict[str, Any] = {"level": arguments.level, "limit": arguments.limit}
    models = {"system": name}
    if arguments.level == "text":
        models |= {"nlg": arguments.nlg, "nlu": arguments.nlu}
        words, said = _words(arguments, database)
        setting_of |= words
        about |= said
    elif (unused := _given(arguments, "nlg", "nlu", *OF_TEMPLATES)) is not None:
        raise UsageError(f"{unused} is for --level text")
    checksums = {
        what: checksum_of(model)
        for what, model in models.items()
        if model not in (None, RULE, RULE_PAPER, TEMPLATES) and not is_own_code(model)
    }
    if checksums:
        about["models"] = checksums
    setting_of["make_text_system" if system.in_words else "make_system"] = system.make
    return Setting(database, **setting_of), about


def _words(arguments: argparse.Namespace, database: Database) -> tuple[dict[str, Any], Any]:
    """Return the NLU and NLG of both sides, and what the header of the log says of them."""
    from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates

    nlg, nlu = arguments.nlg or TEMPLATES, arguments.nlu or TEMPLATES
    about = {"nlg": nlg, "nlu": nlu}
    if nlg != TEMPLATES:
        if nlu == TEMPLATES:
            raise UsageError(f"the NLU {TEMPLATES} understands templates alone: name a trained NLU")
        if (unused := _given(arguments, *OF_TEMPLATES)) is not None:
            raise UsageError(f"{unused} is for --nlg {TEMPLATES}")
        spoken = trained_nlg(nlg)
        return {"nlg": spoken, "nlu": nlu_named(nlu, None, database)}, about
    templates = load_templates(arguments.templates)
    mode: Any = arguments.template_mode or ("manual" if nlu == TEMPLATES else "auto_manual")
    about |= {"template_mode": mode, "templates": arguments.templates or "embedded"}
    understood = nlu_named(nlu, templates, database)
    return {"nlg": TemplateNlg(templates, mode), "nlu": understood}, about


def _given(arguments: argparse.Namespace, *options: str) -> str | None:
    """Return the first of some options that was given, as it is spelled."""
    given = (f"--{name.replace('_', '-')}" for name in options if getattr(arguments, name))
    return next(given, None)


def run(arguments: argparse.Namespace) -> int:
    """Simulate, print the figures; return 0.

    Raises `UsageError` for options that do not go together.
    """
    from mwzeval.crosswoz.simulation.run import simulate

    setting, about = _setting(arguments, arguments.system)
    summary = simulate(
        setting,
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
        from mwzeval.text import to_json

        print(to_json(summary.to_json()), end="")
    else:
        print(summary.to_text(), end="")
    if arguments.output:
        tell(f"wrote {arguments.output}")
    return 0


SAMPLED = "sampled"


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add the options of `mwzeval live` that are CrossWOZ's alone."""
    parser.add_argument(
        "--goals",
        default=f"{SAMPLED}:1000",
        metavar=f"{SAMPLED}:N",
        help="N goals of each of the five types, drawn by CrossWOZ's generator (default: "
        "%(default)s)",
    )
    _add_talk(parser)


def live_setting(arguments: argparse.Namespace) -> RunSetting:
    """Return the run of dialogues that `mwzeval live` is to hold, the same that `run` holds.

    Raises `UsageError` for options that do not go together.
    """
    from mwzeval.crosswoz.simulation.goals import GoalGenerator
    from mwzeval.crosswoz.simulation.run import GoalPlan, SimulationRun

    source, _, number = arguments.goals.partition(":")
    if source != SAMPLED or not (number.isdecimal() and 0 < len(number) < 8 and int(number)):
        raise UsageError(f'--goals {SAMPLED}:N, such as {SAMPLED}:100, not "{arguments.goals}"')
    if arguments.trials != 1:
        raise UsageError("in CrossWOZ each goal is talked about once: say --goals, not --trials")
    setting, about = _setting(arguments, arguments.agent)
    own = is_own_code(arguments.agent) or is_own_code(arguments.nlu or TEMPLATES)
    plan = GoalPlan(GoalGenerator(setting.database).goal, arguments.seed, int(number))
    return SimulationRun.of(setting, plan, about, trusts=not own)
