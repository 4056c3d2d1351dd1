"""The benchmark class of CrossWOZ, registered by the entry point."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from mwzeval.benchmark import Benchmark, OwnVerb
from mwzeval.crosswoz import META, NAME, TITLE
from mwzeval.errors import UsageError

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.crosswoz.benchmark import CrossWozScorer
    from mwzeval.files.downloads import DataRoot
    from mwzeval.scores.report import Report

_SIMULATED = frozenset({"dialogue_id", "finished", "goal"})
_FIELDS = frozenset(
    {
        "user_acts",
        "user_response",
        "user_state",
        "selected",
        "system_acts",
        "system_acts_delex",
        "system_acts_nlu",
    }
)
"""The fields of an exchange that other benchmarks do not have."""
_CHINESE = re.compile("[\u4e00-\u9fff]")


class CrossWoz(Benchmark):
    """All tracks of CrossWOZ, including logs of simulated dialogues."""

    api = 1
    name, title = NAME, TITLE
    input_help = (
        'A correct file: {"_meta": {"dataset": "crosswoz", "split": "test", '
        '"track": "dst"}, "10264": [{"turn": 0, "state": {"景点": {"评分": "4分以上"}}}, …], …}\n'
        "docs/crosswoz.md describes the files of each task."
    )
    headline = ("nlu.f1", "dst.joint_single_turn", "policy.f1", "nlg", "finish")
    gates = "nlu=90,policy=50"
    verbs: Mapping[str, OwnVerb] = {
        "crosswoz": OwnVerb(
            "statistics, simulation, baselines and trained models of CrossWOZ",
            "mwzeval.crosswoz.command",
            "benchmarks",
        ),
    }

    @property
    def names(self) -> Sequence[str]:
        """The names of the tracks."""
        from mwzeval.crosswoz.tracks import TRACKS

        return NAME, *(f"{NAME}-{track}" for track in TRACKS)

    def recognises(self, raw: Any) -> bool:
        """Return whether a JSON value, or a line of JSON Lines, has predictions or a simulation."""
        if not isinstance(raw, Mapping):
            return False
        header = raw.get(META)
        if isinstance(header, Mapping) and "dataset" in header:
            return bool(header["dataset"] == NAME)
        if raw.keys() >= _SIMULATED:
            return True
        if isinstance(raw.get("dialogue_id"), str):
            return _is_exchange(raw["dialogue_id"], raw.get("turns"))
        dialogue = next((name for name in raw if name != META), None)
        return _is_exchange(dialogue, raw.get(dialogue))

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options for corpus and scoring or, if the verb is `live`, for simulations."""
        from mwzeval.crosswoz.benchmark import add_arguments

        add_arguments(parser, verb)

    def scorer(self, arguments: Namespace) -> CrossWozScorer:
        """Return the scorer of predictions and simulations."""
        from mwzeval.crosswoz.benchmark import CrossWozScorer

        return CrossWozScorer(arguments)

    def live(self, arguments: Namespace) -> RunSetting:
        """Return a simulation. Raises `UsageError`, `DataError`, `InputError`."""
        from mwzeval.crosswoz.speakers import live_setting

        if arguments.verb == "play":
            raise UsageError(
                "`play` does not support CrossWOZ, because its users and systems exchange "
                "dialogue acts or Chinese text"
            )
        return live_setting(arguments)

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> NoReturn:
        """Raise `UsageError`, which names the documentation page with the paper's tables."""
        raise UsageError(
            "CrossWOZ has no leaderboard; docs/crosswoz.md has the paper's tables next to ours"
        )

    def shelf(self, data: str | None) -> DataRoot:
        """Return the available public files."""
        from mwzeval.crosswoz.corpus.folds import corpus_root

        return corpus_root(data=data)


def _is_exchange(dialogue: Any, exchanges: Any) -> bool:
    """Return whether exchanges have fields of CrossWOZ, or a number and Chinese text."""
    if not isinstance(exchanges, list) or not exchanges:
        return False
    first = exchanges[0]
    if not isinstance(first, Mapping):
        return False
    if not _FIELDS.isdisjoint(first):
        return True
    if not (isinstance(dialogue, str) and dialogue.isdecimal()):
        return False
    said, state = first.get("response"), first.get("state")
    texts = [said] if isinstance(said, str) else []
    texts += [key for key in state if isinstance(key, str)] if isinstance(state, Mapping) else []
    return any(_CHINESE.search(text) for text in texts)
