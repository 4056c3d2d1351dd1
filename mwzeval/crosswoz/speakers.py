"""Systems, NLU and NLG of a simulation, by name.

User-defined classes are named `package.module:Name` (see docs/crosswoz.md).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import InputFile
from mwzeval.conversation.agents import failing_as_usage, imported, is_own_code
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import add_corpus, corpus_root, load_database
from mwzeval.crosswoz.protocols import SYSTEM, USER, Nlg, Nlu, Side
from mwzeval.crosswoz.systems.rules import RuleSystem
from mwzeval.crosswoz.systems.sl_policy import MODEL_FILE, SlPolicy, SlSystem
from mwzeval.crosswoz.systems.templates import (
    MODES,
    TemplateNlg,
    TemplateReader,
    Templates,
    load_templates,
    spellings,
)
from mwzeval.errors import UsageError, unknown
from mwzeval.files.reading import read_model
from mwzeval.libraries import required
from mwzeval.neural import CHECKPOINT_FILE

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.crosswoz.simulation import Setting

RULE, RULE_PAPER = "rule", "rule-paper"
TEMPLATES = "templates"
SAMPLED = "sampled"
REMEMBERED = 2**14
"""The number of utterances whose acts an NLU caches."""


def system_named(name: str) -> Callable[[Database], Any]:
    """Return the function that makes the system called `name` for a dialogue.

    `rule` is the rule-based system, and `rule-paper` uses the paper's RuleDST. A folder contains a
    trained SL policy. `package.module:Name` is a user-defined class or function that is called with
    the database. Raises `UsageError` if the name is unknown, and `InputError` if the system cannot
    be loaded.
    """
    if name in (RULE, RULE_PAPER):
        return partial(RuleSystem, paper_compatible=name == RULE_PAPER)
    if is_own_code(name):
        own: Callable[[Database], Any] = imported(name)
        return own
    if Path(name).exists():
        return partial(SlSystem, SlPolicy.load(name))
    more = f", a folder with {MODEL_FILE}, or package.module:Name"
    raise UsageError(unknown("system", name, (RULE, RULE_PAPER), more))


class TrainedNlu:
    """A trained NLU; each process loads it when it is first used.

    Values in templates are in lower case; `spellings` restores the spelling of the database. The
    NLU caches its results, because users and systems often repeat an unanswered utterance.
    """

    def __init__(self, folder: Path, spellings: Mapping[str, str]) -> None:
        self.folder, self.spellings = folder, spellings

    def __reduce__(self) -> Any:
        # The network and the cache are not sent to other processes.
        return TrainedNlu, (self.folder, self.spellings)

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance."""
        acts = self.loaded(utterance, tuple(context), side)
        return tuple(act._replace(value=self.spellings.get(act.value, act.value)) for act in acts)

    @cached_property
    def loaded(self) -> Callable[[str, tuple[str, ...], Side], Acts]:
        """The NLU's function.

        Raises `InputError` if the folder is invalid, and `DependencyError` without PyTorch.
        """
        required("torch").set_num_threads(1)  # processes share the cores
        from mwzeval.crosswoz.models.nlu import load_nlu

        return lru_cache(REMEMBERED)(load_nlu(self.folder).understand)


def nlg_named(name: str) -> Nlg:
    """Return the trained generator in the folder `name`.

    Raises `UsageError` if the name is unknown, and `InputError` if the generator cannot be loaded.
    Raises `DependencyError` without PyTorch.
    """
    if not Path(name).exists():
        more = ", or the folder of a trained generator"
        raise UsageError(unknown("NLG", name, (TEMPLATES,), more))
    from mwzeval.crosswoz.models.sclstm import load_sclstm

    return load_sclstm(name)


def nlu_named(name: str, templates: Mapping[Side, Templates] | None, database: Database) -> Nlu:
    """Return the NLU called `name`, for a `database` and the `templates` of both sides.

    `templates` matches the manual templates. A folder contains a trained NLU. `package.module:Name`
    is a user-defined class or function that is called once, without arguments. Raises `UsageError`
    if the name is unknown, and `InputError` if the NLU cannot be loaded.
    """
    if name == TEMPLATES and templates is not None:
        user, system = templates[USER].manual, templates[SYSTEM].manual
        if not user or not system:
            raise UsageError(
                f"the NLU {TEMPLATES} needs manual templates, but these files have none: use "
                "other templates, or a trained NLU"
            )
        return TemplateReader(user, system, database)
    if is_own_code(name):
        with failing_as_usage(name, "made"):
            nlu: Nlu = imported(name)()
        return nlu
    if Path(name).exists():
        trained = TrainedNlu(Path(name), spellings(database))
        _ = trained.loaded  # errors are raised before the simulation begins
        return trained
    more = ", the folder of a trained NLU, or package.module:Name"
    raise UsageError(unknown("NLU", name, (TEMPLATES,), more))


def add_conversation(parser: ArgumentParser) -> None:
    """Add the options for user, system and database; `setting_of` reads them."""
    levels = ("act", "text")
    parser.add_argument("--level", choices=levels, default="act", help="default: %(default)s")
    parser.add_argument(
        "--limit", type=int, default=15, metavar="N", help="maximum number of turns"
    )
    add_templates(parser, "level text")
    parser.add_argument(
        "--nlg",
        metavar="NAME",
        help="generator of the user at level text: templates, or the folder of a trained "
        f"generator (default: {TEMPLATES})",
    )
    parser.add_argument(
        "--nlu",
        metavar="NAME",
        help="NLU of the user at level text: templates (understands manual templates), the "
        f"folder of a trained NLU, or package.module:Name (default: {TEMPLATES})",
    )
    add_corpus(parser)


def add_templates(parser: ArgumentParser, where: str) -> None:
    """Add the options that select templates; the help text `where` describes their use."""
    parser.add_argument(
        "--templates",
        type=InputFile,
        metavar="PATH",
        help=f"{where}: folder or zip archive of template files in the public format "
        "(default: built-in templates)",
    )
    parser.add_argument(
        "--template-mode",
        choices=MODES,
        help="templates to use: automatic, manual or both",
    )


def setting_of(arguments: Namespace, name: str) -> tuple[Setting, dict[str, Any]]:
    """Return the setting for the system called `name`, and the entries for the header of the log.

    Raises `UsageError` for options that cannot be combined.
    """
    from mwzeval.crosswoz.simulation import Setting

    root = corpus_root(arguments.revision, arguments.data)
    database, checksum = load_database(root, arguments.revision)
    make = system_named(name)
    about = {"agent": {"spec": name}, "revision": arguments.revision, "database": checksum}
    options: dict[str, Any] = {"level": arguments.level, "limit": arguments.limit}
    models = {"system": name}
    if arguments.level == "text":
        models |= {"nlg": arguments.nlg, "nlu": arguments.nlu}
        options["nlg"], options["nlu"], described = _words(arguments, database)
        about |= described
    else:
        _refuse(arguments, "--level text", "nlg", "nlu", "templates", "template_mode")
    checksums = {
        what: model_checksum(model)
        for what, model in models.items()
        if model not in (None, RULE, RULE_PAPER, TEMPLATES) and not is_own_code(model)
    }
    if checksums:
        about["models"] = checksums
    options["make_text_system" if hasattr(make, "respond") else "make_system"] = make
    return Setting(database, **options), about


def _words(arguments: Namespace, database: Database) -> tuple[Nlg, Nlu, dict[str, Any]]:
    """Return the NLG and the NLU of both sides, and their entries in the header of the log."""
    nlg, nlu = arguments.nlg or TEMPLATES, arguments.nlu or TEMPLATES
    about = {"nlg": nlg, "nlu": nlu}
    if nlg != TEMPLATES:
        if nlu == TEMPLATES:
            raise UsageError(f"the NLU {TEMPLATES} only understands templates: use a trained NLU")
        _refuse(arguments, f"--nlg {TEMPLATES}", "templates", "template_mode")
        return nlg_named(nlg), nlu_named(nlu, None, database), about
    templates = load_templates(arguments.templates)
    mode: Any = arguments.template_mode or ("manual" if nlu == TEMPLATES else "auto_manual")
    about |= {"template_mode": mode, "templates": arguments.templates or "embedded"}
    return TemplateNlg(templates, mode), nlu_named(nlu, templates, database), about


def _refuse(arguments: Namespace, purpose: str, *options: str) -> None:
    """Raise `UsageError` for the first of these options that was given."""
    for name in options:
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')} only applies to {purpose}")


def model_checksum(model: str | Path) -> str:
    """Return a checksum of a model, which is a file or a folder that training wrote."""
    top = Path(model)
    files = sorted(top.rglob("*.safetensors")) if top.is_dir() else [top]
    digest = blake2b(digest_size=8)
    for file in files:
        if file.name != CHECKPOINT_FILE:
            digest.update(f"{file.relative_to(top)}\n".encode("utf-8", "surrogateescape"))
            digest.update(read_model(file))
    return digest.hexdigest()


def add_live(parser: ArgumentParser) -> None:
    """Add the options of `mwzeval live` that only CrossWOZ has."""
    parser.add_argument(
        "--goals",
        default=f"{SAMPLED}:1000",
        metavar=f"{SAMPLED}:N",
        help="N goals of each of the five types, generated with CrossWOZ's goal generator "
        "(default: %(default)s)",
    )
    add_conversation(parser)


def live_setting(arguments: Namespace) -> RunSetting:
    """Return the setting of `mwzeval live`, which is the same as for `crosswoz simulate`.

    Raises `UsageError` if the options cannot be combined.
    """
    from mwzeval.crosswoz.goals import GoalGenerator
    from mwzeval.crosswoz.simulation import SimulationRun, planned_goals

    source, _, number = arguments.goals.partition(":")
    if source != SAMPLED or not (number.isdecimal() and 0 < len(number) < 8 and int(number)):
        raise UsageError(f'--goals {SAMPLED}:N, such as {SAMPLED}:100, not "{arguments.goals}"')
    if arguments.trials != 1:
        raise UsageError("CrossWOZ has one dialogue for each goal: use --goals instead of --trials")
    setting, about = setting_of(arguments, arguments.agent)
    own = is_own_code(arguments.agent) or is_own_code(arguments.nlu or TEMPLATES)
    goals = planned_goals(GoalGenerator(setting.database).goal, arguments.seed, int(number))
    return SimulationRun.of(setting, goals, int(number), about, trusts=not own)
