"""Who takes part in a simulation, by name: systems that come along, and a user's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.simulation.dialogue import FAILURES
from mwzeval.crosswoz.simulation.protocols import MakeSystem, Nlu, Side
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.sl_policy import MODEL_FILE, MakeSlSystem, SlPolicy
from mwzeval.crosswoz.systems.template_reader import TemplateReader, spellings
from mwzeval.crosswoz.systems.templates import Templates
from mwzeval.errors import UsageError, did_you_mean

RULE, RULE_PAPER = "rule", "rule-paper"
TEMPLATES = "templates"


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
    if ":" in name:
        found = _imported(name)
        return NamedSystem(name, found, in_words=hasattr(found, "respond"))
    if Path(name).exists():
        return NamedSystem(name, MakeSlSystem(SlPolicy.load(name)))
    raise UsageError(
        f'unknown system "{name}"{did_you_mean(name, (RULE, RULE_PAPER))} (known: {RULE}, '
        f"{RULE_PAPER}, a folder with {MODEL_FILE}, or package.module:Name)"
    )


@dataclass(slots=True)
class TrainedNlu:
    """A trained NLU that each process loads for itself, when it needs it.

    Templates say values in small letters; `spellings` gives those of the database their own back.
    """

    folder: Path
    spellings: Mapping[str, str]
    _loaded: Nlu | None = None

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance."""
        if self._loaded is None:
            self._loaded = self.load()
        acts = self._loaded.understand(utterance, context, side)
        return tuple(act._replace(value=self.spellings.get(act.value, act.value)) for act in acts)

    def load(self) -> Nlu:
        """Return the NLU. Raises `InputError` when it is none, `DependencyError`."""
        from mwzeval.crosswoz.systems.nlu_bert import load_bert
        from mwzeval.crosswoz.systems.nlu_model import load_tagger
        from mwzeval.libraries import required

        # Processes beside each other share the cores.
        required("torch").set_num_threads(1)
        is_bert = (self.folder / "config.json").exists()
        return load_bert(self.folder) if is_bert else load_tagger(self.folder)


def nlu_named(name: str, user: Templates, system: Templates, database: Database) -> Nlu:
    """Return an NLU by its `name`, for the templates of `user` and `system` and a `database`.

    `templates` understands the manual templates; a folder is that of a trained NLU;
    `package.module:Name` is something of the user's own that is called once, without arguments.
    Raises `UsageError` for anything else, `InputError` for an NLU that cannot be loaded.
    """
    if name == TEMPLATES:
        if not user.manual or not system.manual:
            raise UsageError(
                f"the NLU {TEMPLATES} understands manual templates, and these have none: name "
                "templates that have, or a trained NLU"
            )
        return TemplateReader(user.manual, system.manual, database)
    if ":" in name:
        with _of_the_user(name, "made"):
            nlu: Nlu = _imported(name)()
        return nlu
    if Path(name).exists():
        trained = TrainedNlu(Path(name), spellings(database))
        trained.load()  # what is wrong with it is told before anything begins
        return trained
    raise UsageError(
        f'unknown NLU "{name}"{did_you_mean(name, (TEMPLATES,))} (known: {TEMPLATES}, the folder '
        "of a trained NLU, or package.module:Name)"
    )


@contextmanager
def _of_the_user(name: str, done: str) -> Iterator[None]:
    """Turn whatever a user's own code raises, and its end, into a `UsageError`."""
    try:
        yield
    except UsageError:
        raise
    except FAILURES as error:
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise UsageError(f'"{name}" cannot be {done}: {reason}') from error


def _imported(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    # As with `python -m`, modules of the current folder are found.
    if "" not in sys.path:
        sys.path.insert(0, "")
    with _of_the_user(name, "imported"):
        found = getattr(import_module(module), attribute)
    if not callable(found):
        raise UsageError(f'"{name}" cannot be called: expected a class or function')
    return found  # type: ignore[no-any-return]
