"""The embedded CrossWOZ sample is what its generator writes, and is sound as a corpus."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from mwzeval.crosswoz.corpus.acts import SYSTEM_INTENTS, USER_INTENTS
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import SAMPLE, Fold, corpus_root, load_fold, load_gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, NAME, VENUE_DOMAINS
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.scoring.success import judge
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.crosswoz.systems.policy_vector import load_vocabulary
from tests.crosswoz import real_data
from tests.places import ROOT

TRACKS = ("nlu", "dst", "policy", "nlg", "sim", "e2e")


@cache
def fold(name: str = "test") -> Fold:
    return load_fold(corpus_root(SAMPLE), name, SAMPLE)


@cache
def database() -> Database:
    return Database(fold().tables)


def test_there_are_so_many_venues_and_dialogues() -> None:
    for domain in VENUE_DOMAINS:
        names = [entity.name for entity in database().entities(domain)]
        assert len(names) == len(set(names)) >= 40
    dialogues = fold().dialogues
    assert Counter(d.goal_type for d in dialogues.values()) == dict.fromkeys(GOAL_TYPES, 8)
    assert Counter(d.goal_type for d in fold("val").dialogues.values()) == dict.fromkeys(
        GOAL_TYPES, 4
    )
    assert not dialogues.keys() & fold("val").dialogues.keys()


@pytest.mark.integration
def test_no_venue_is_a_real_one() -> None:
    for domain in VENUE_DOMAINS:
        for entity in database().entities(domain):
            for real in VENUE_DOMAINS:
                assert not real_data.database().query(real, {NAME: entity.name}), entity.name


@pytest.mark.parametrize("name", ["test", "val"])
def test_dialogues_are_sound(name: str) -> None:
    for dialogue in fold(name).dialogues.values():
        assert dialogue.name.isdigit()
        assert goal_type(dialogue.goal) == dialogue.goal_type
        assert dialogue.task_description
        assert dialogue.final_goal == dialogue.exchanges[-1].user.state
        assert all(line.done for line in dialogue.final_goal)
        for exchange in dialogue.exchanges:
            user, system = exchange.user, exchange.system
            assert {act.intent for act in user.acts} <= set(USER_INTENTS)
            assert {act.intent for act in system.acts} <= set(SYSTEM_INTENTS)
            assert list(user.acts) == sorted(set(user.acts))
            assert user.utterance
            assert system.utterance
            assert [line[:3] for line in user.state] == [line[:3] for line in dialogue.goal]
            for domain in VENUE_DOMAINS:
                for selected in (system.first_selected, system.last_selected):
                    assert all(database().named(domain, venue) for venue in selected[domain])


def test_wizards_tell_the_truth() -> None:
    judged = [judge(d.goal, d.final_goal, database()) for d in fold().dialogues.values()]
    assert sum(judgement.success for judgement in judged) >= 0.9 * len(judged)


def test_policies_know_every_act_of_the_sample() -> None:
    vocabulary = load_vocabulary(corpus_root(SAMPLE))
    for dialogue in fold().dialogues.values():
        for exchange in dialogue.exchanges:
            assert len(vocabulary.actions(exchange.system.acts)) == len(exchange.system.acts)


@pytest.mark.parametrize(
    "track",
    [*TRACKS[:2], *(pytest.param(track, marks=pytest.mark.integration) for track in TRACKS[2:])],
)
def test_example_predictions_are_scored_without_a_warning(track: str) -> None:
    path = ROOT / "predictions" / f"crosswoz-sample-{track}.json"
    evaluated = evaluate(str(path), load_gold(SAMPLE))
    assert not evaluated.warnings
    assert any(0 < score.value < 100 for score in evaluated.report().scores if score.value)
