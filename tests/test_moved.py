"""What was imported from other places keeps working for a release, and says where it is now."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

import mwzeval
from mwzeval.moved import moved
from tests.places import ROOT
from tests.waiting import HANGING

pytestmark = pytest.mark.integration

DOCUMENTED = {
    "mwzeval.crosswoz.acts": ("Act", "Acts"),
    "mwzeval.crosswoz.corpus": ("SAMPLE", "load_database"),
    "mwzeval.crosswoz.database": ("Database",),
    "mwzeval.crosswoz.evaluation": ("evaluate", "validate"),
    "mwzeval.crosswoz.places": ("corpus_root",),
    "mwzeval.crosswoz.simulation": ("Setting",),
    "mwzeval.crosswoz.simulation_run": ("simulate",),
    "mwzeval.dialogue_management.acts": ("parse_act",),
    "mwzeval.dialogue_management.domain_files": ("load_domain", "read_domain"),
    "mwzeval.dialogue_management.environment": ("make_environment",),
    "mwzeval.dialogue_management.play": ("play_with_person",),
    "mwzeval.dialogue_management.policies.dqn": ("MODERN", "DQN"),
    "mwzeval.dialogue_management.registration": ("register_with_gymnasium",),
    "mwzeval.dialogue_management.seated_systems": ("seated",),
    "mwzeval.dialogue_management.tasks": ("task_named",),
    "mwzeval.dialogue_management.training": ("Stage",),
    "mwzeval.dialogue_management.training_job": ("write_episodes",),
    "mwzeval.dstc7.evaluation": ("Gold", "Options", "evaluate", "validate"),
    "mwzeval.dstc7.places": ("gold_in", "sample_gold"),
    "mwzeval.evaluator": ("Evaluator",),
    "mwzeval.multiwoz.corpus": ("corpus_root", "load_fold"),
    "mwzeval.multiwoz.placeholders": ("PLACEHOLDERS",),
}
"""What documentation and examples imported, and from where."""


def test_what_was_documented_is_found_at_its_old_place() -> None:
    for old, names in DOCUMENTED.items():
        if old in moved():
            sys.modules.pop(old, None)
        with pytest.warns(DeprecationWarning, match=old):
            exec(f"from {old} import {', '.join(names)}")


def test_the_table_names_modules_that_there_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for old, new in moved().items():
            if ":" not in old:
                assert import_module(old).__doc__ == import_module(new).__doc__


def test_modules_that_stay_at_their_place_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        training = import_module("mwzeval.training")
        metrics = import_module("mwzeval.metrics")
    assert callable(training.compute_metrics)
    assert metrics.Evaluator is mwzeval.Evaluator


@pytest.mark.parametrize("name", ["mwzeval.nothing", "mwzeval.dialogue_management.nothing"])
def test_other_modules_are_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        import_module(name)
    with pytest.raises(ImportError, match="nothing"):
        exec("from mwzeval.evaluator import nothing")


def test_the_warning_is_about_the_line_that_imports() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from mwzeval.evaluator import Evaluator\nprint(Evaluator)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGING,
    )
    assert "<string>:1: DeprecationWarning: mwzeval.evaluator" in ran.stderr
    assert "Evaluator" in ran.stdout
