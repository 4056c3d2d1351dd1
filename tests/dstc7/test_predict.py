"""Every baseline writes a submission for every track that passes strict validation."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mwzeval.dstc7.baselines.knowledge import read_knowledge
from mwzeval.dstc7.baselines.query import Knowledge
from mwzeval.dstc7.baselines.ranker import (
    BASELINES,
    DUAL_ENCODER,
    RANDOM,
    Baseline,
    as_choices,
    predict,
    train,
)
from mwzeval.dstc7.evaluation import evaluate, validate
from mwzeval.dstc7.loading import Gold
from mwzeval.dstc7.submission import Ranked
from mwzeval.dstc7.tracks import NONE, SUBTASKS, Options, Track
from mwzeval.errors import InputError, UsageError
from tests.dstc7.conversations import SMALL, conversations, write_dialogues
from tests.places import ROOT, read_json

TRACKS = [Track(dataset, subtask) for dataset, subtasks in SUBTASKS.items() for subtask in subtasks]
LEXICAL = [name for name in BASELINES if name not in (RANDOM, DUAL_ENCODER)]
TRAINED = pytest.param(DUAL_ENCODER, marks=pytest.mark.integration)
NAMES = [RANDOM, *LEXICAL, TRAINED]
UBUNTU_1, ADVISING_3, UBUNTU_4 = Track("ubuntu", 1), Track("advising", 3), Track("ubuntu", 4)


class Files(NamedTuple):
    """The files of a track in the sample."""

    dialogues: Path
    dev: Path
    targets: Path
    pool: Path | None
    knowledge: Path | None


def files_of(track: Track) -> Files:
    folder, subtask = ROOT / "data" / "dstc7", 1 if track.subtask == 5 else track.subtask
    knowledge = "course-info.json" if track.dataset == "advising" else "man_pages.jsonl"
    return Files(
        folder / f"{track.dataset}_test_subtask_{subtask}.json",
        folder / f"{track.dataset}_dev_subtask_{subtask}.json",
        folder / f"{track.dataset}_responses_subtask_{subtask}.tsv",
        folder / "ubuntu_subtask_2_candidates.tsv" if track.has_pool else None,
        folder / knowledge if track.subtask == 5 else None,
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("dual encoder")
    training = write_dialogues(folder / "train.json", conversations(40, seed=1))
    dev = write_dialogues(folder / "dev.json", conversations(10, seed=2))
    curve = train(training, dev, folder / "model", settings=replace(SMALL, epochs=1))
    assert [point.step for point in curve] == [0, 2]
    return folder / "model"


@pytest.fixture
def baseline(request: pytest.FixtureRequest) -> Callable[..., Baseline]:
    """Return a function that makes baselines; the model is trained only if required."""

    def made(name: str, knowledge: Knowledge | None = None) -> Baseline:
        model = request.getfixturevalue("model") if name == DUAL_ENCODER else None
        return Baseline(name, model, knowledge=knowledge)

    return made


def entries(path: Path) -> list[list[dict[str, Any]]]:
    return [item["candidate-ranking"] for item in read_json(path)]


def every_case() -> Iterator[Any]:
    """Yield pairs of baseline and track; only quick ones are part of `make test`."""
    for name, track in product(BASELINES, TRACKS):
        is_quick = name == "bm25" or (name != DUAL_ENCODER and track == UBUNTU_4)
        marks = () if is_quick else pytest.mark.integration
        yield pytest.param(name, track, marks=marks, id=f"{name}-{track.name}")


@pytest.mark.parametrize(("name", "track"), list(every_case()))
@pytest.mark.parametrize("choices", [False, True])
def test_baseline_submissions_pass_strict_validation(
    name: str, track: Track, choices: bool, baseline: Callable[..., Baseline], tmp_path: Path
) -> None:
    files, output = files_of(track), tmp_path / track.file_name
    tuned_on = files.dev if track.has_none and name != RANDOM else None
    knowledge = read_knowledge(files.knowledge, track) if files.knowledge else None
    given: dict[str, Any] = {"pool": files.pool, "dev": tuned_on, "choices": choices}
    predicted = predict(baseline(name, knowledge), track, files.dialogues, output, **given)
    options = Options(strict=True, metric="fscore" if choices else "ranking")
    problems = validate(output, Gold(files.targets, files.dialogues, files.pool), track, options)
    # The pool of the sample is smaller than the official pool.
    assert [problem for problem in problems if problem.kind != "pool-size"] == []
    lists = [e.get("options-for-next", ["c"] * 100) for e in read_json(files.dialogues)]
    expected = [10 if choices else len(listed) + track.has_none for listed in lists]
    assert [len(ranking) for ranking in entries(output)] == expected
    assert predicted.examples == len(lists)
    assert (predicted.tuned is not None) == (tuned_on is not None)


@pytest.mark.parametrize(
    ("scores", "are_logarithms", "expected"),
    [
        ([3.0, 1.0], False, [0.75, 0.25]),
        ([1.0, -1.0], False, [1.0, 0.0]),
        ([0.0, 0.0], False, [0.5, 0.5]),
        ([0.0, -math.log(3)], True, [0.75, 0.25]),
        ([900.0, -900.0], True, [1.0, 0.0]),
        ([1.0] * 20, True, [0.1] * 10),
    ],
)
def test_scores_are_converted_to_probabilities(
    scores: list[float], are_logarithms: bool, expected: list[float]
) -> None:
    ranking = Ranked("1", tuple((f"C{place}", score) for place, score in enumerate(scores)))
    choices = as_choices(ranking, are_logarithms=are_logarithms)
    assert [score for _, score in choices.entries] == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_deterministic(
    name: str, baseline: Callable[..., Baseline], tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for output in (first, second):
        predict(baseline(name), UBUNTU_1, files_of(UBUNTU_1).dialogues, output)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", LEXICAL)
def test_tuned_none_threshold_has_the_best_final_score_on_dev(name: str, tmp_path: Path) -> None:
    dev, output = files_of(UBUNTU_4).dev, tmp_path / "dev.json"

    def final(**given: Any) -> tuple[float, float | None]:
        tuned = predict(Baseline(name), UBUNTU_4, dev, output, **given).tuned
        metrics = evaluate(output, Gold(dialogues=dev), UBUNTU_4).report().metrics
        return float(metrics["ranking"]["final"]), tuned

    best, tuned = final(dev=dev)
    assert tuned is not None
    for other in (tuned * 0.8, tuned * 1.2, -1.0):
        assert final(none_score=other)[0] <= best + 1e-12


def test_none_is_not_ranked_without_a_none_score(tmp_path: Path) -> None:
    track = Track("advising", 4)
    files, output = files_of(track), tmp_path / track.file_name
    assert predict(Baseline("tfidf"), track, files.dialogues, output).tuned is None
    names = {entry["candidate-id"] for ranking in entries(output) for entry in ranking}
    assert NONE not in names
    gold = Gold(files.targets, files.dialogues)
    assert validate(output, gold, track, Options(strict=True)) == []


def test_duplicate_candidates_are_ranked_once(tmp_path: Path) -> None:
    query = conversations(1, seed=1)[0]
    twice = replace(
        query,
        candidate_ids=(*query.candidate_ids, query.candidate_ids[0].lower()),
        candidates=(*query.candidates, "again"),
    )
    dialogues = write_dialogues(tmp_path / "dialogues.json", [twice])
    predict(Baseline("bm25"), Track("ubuntu", 1), dialogues, tmp_path / "out.json")
    names = [entry["candidate-id"] for entry in entries(tmp_path / "out.json")[0]]
    assert sorted(names) == sorted(query.candidate_ids)


@pytest.mark.parametrize(
    ("baseline", "arguments", "track", "names"),
    [
        (("bm25",), {}, Track("ubuntu", 2), "pool"),
        (("bm25",), {"pool": "pool.tsv"}, UBUNTU_1, "pool"),
        (("bm25",), {"dev": "dev.json"}, UBUNTU_1, "subtask 4"),
        (("bm25",), {"none_score": 0.5}, ADVISING_3, "subtask 4"),
        (("bm25",), {"dev": "dev.json", "none_score": 0.5}, UBUNTU_4, "both"),
        ((RANDOM,), {"none_score": 1.0}, UBUNTU_4, "random"),
        *((("bm25",), {"none_score": float(x)}, UBUNTU_4, "finite") for x in ("nan", "1e400")),
        (("bm52",), {}, UBUNTU_1, '"bm25"'),
        ((DUAL_ENCODER,), {}, UBUNTU_1, DUAL_ENCODER),
        (("tfidf", "model"), {}, UBUNTU_1, "tfidf"),
    ],
)
def test_incompatible_options_are_errors(
    baseline: tuple[Any, ...], arguments: dict[str, Any], track: Track, names: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=names):
        predict(Baseline(*baseline), track, "test.json", tmp_path / "out.json", **arguments)


def test_files_without_candidates_or_dev_answers_are_errors(tmp_path: Path) -> None:
    empty, output, bm25 = tmp_path / "dialogues.json", tmp_path / "out.json", Baseline("bm25")
    empty.write_text("[]", encoding="utf-8")
    for dialogues in (empty, files_of(Track("ubuntu", 2)).dialogues):
        with pytest.raises(InputError, match=dialogues.name):
            predict(bm25, UBUNTU_1, dialogues, output)
    without_answers = files_of(UBUNTU_4).dialogues
    with pytest.raises(InputError):
        predict(bm25, UBUNTU_4, without_answers, output, dev=without_answers)
    assert not output.exists()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("bm25s", "predict(Baseline('bm25'), Track('ubuntu', 1), file, output)", "retrieval"),
        ("sklearn", "predict(Baseline('tfidf'), Track('ubuntu', 1), file, output)", "retrieval"),
        ("torch", "train(file, file, output)", "neural"),
    ],
)
def test_missing_library_error_names_the_extra(
    module: str, call: str, extra: str, tmp_path: Path
) -> None:
    """A separate process hides the library."""
    program = (
        f"import sys\nsys.modules[{module!r}] = None\n"
        "from mwzeval.dstc7.baselines.ranker import Baseline, predict, train\n"
        "from mwzeval.dstc7.tracks import Track\n"
        f"file, output = sys.argv[1:]\n{call}\n"
    )
    arguments = [str(files_of(UBUNTU_1).dev), str(tmp_path / "out")]
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    *_, last = ran.stderr.splitlines()
    assert "DependencyError" in last
    assert f"mwzeval[{extra}]" in last
