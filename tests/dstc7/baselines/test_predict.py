"""Every baseline writes, for every track, a submission that strict validation accepts."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.baselines.external_knowledge import read_knowledge
from mwzeval.dstc7.baselines.query import Knowledge, Ranking, as_choices
from mwzeval.dstc7.baselines.ranker import BASELINES, DUAL_ENCODER, RANDOM, Baseline
from mwzeval.dstc7.baselines.run import predict, train
from mwzeval.dstc7.reading.loading import Gold
from mwzeval.dstc7.reading.tracks import NONE, SUBTASKS, Options, Track
from mwzeval.dstc7.scoring.evaluation import evaluate, validate
from mwzeval.dstc7.synthetic import Recipe, Sizes, World, write_track
from mwzeval.errors import InputError, UsageError
from tests.dstc7.baselines.conversations import SMALL, conversations, write_dialogues
from tests.places import ROOT, read_json

TRACKS = [Track(dataset, subtask) for dataset, subtasks in SUBTASKS.items() for subtask in subtasks]
LEXICAL = [name for name in BASELINES if name not in (RANDOM, DUAL_ENCODER)]
TRAINED = pytest.param(DUAL_ENCODER, marks=pytest.mark.integration)
NAMES = [RANDOM, *LEXICAL, TRAINED]
UBUNTU_1, ADVISING_3, UBUNTU_4 = Track("ubuntu", 1), Track("advising", 3), Track("ubuntu", 4)


@dataclass(frozen=True)
class Files:
    dialogues: Path
    dev: Path
    targets: Path
    pool: Path | None
    knowledge: Path | None


def files_in(folder: Path, track: Track) -> Files:
    name = f"{track.dataset}_{{}}_subtask_{1 if track.subtask == 5 else track.subtask}"
    knowledge = "course-info.json" if track.dataset == "advising" else "man_pages.jsonl"
    return Files(
        folder / f"{name.format('test')}.json",
        folder / f"{name.format('dev')}.json",
        folder / f"{name.format('responses')}.tsv",
        folder / "ubuntu_subtask_2_candidates.tsv" if track.has_pool else None,
        folder / knowledge if track.subtask == 5 else None,
    )


def files_of(track: Track) -> Files:
    """Return the files of the sample that the repository brings."""
    return files_in(ROOT / "data" / "dstc7", track)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[Track, Files]:
    """Files of all tracks with lists of 100, and a pool of more."""
    world = World(Recipe(pool=400, vocabulary=2000, topics=20))
    made = {}
    for track in TRACKS:
        folder = tmp_path_factory.mktemp(track.name)
        write_track(folder, track, Sizes(0, 4, 5), world=world)
        made[track] = files_in(folder, track)
    return made


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
    """Make a baseline, that of weights with a model, which is trained only then."""

    def made(name: str, knowledge: Knowledge | None = None) -> Baseline:
        model = request.getfixturevalue("model") if name == DUAL_ENCODER else None
        return Baseline(name, model, knowledge=knowledge)

    return made


def entries(path: Path) -> list[list[dict[str, Any]]]:
    return [item["candidate-ranking"] for item in read_json(path)]


def every_case() -> Iterator[Any]:
    """Yield source, baseline and track; those of `make test` are quick and each of its kind."""
    for source, name, track in product(["repository", "generated"], BASELINES, TRACKS):
        is_quick = source == "repository" and (
            name == "bm25" or (name != DUAL_ENCODER and track == UBUNTU_4)
        )
        marks = () if is_quick else pytest.mark.integration
        yield pytest.param(source, name, track, marks=marks, id=f"{source}-{name}-{track.name}")


@pytest.mark.parametrize(("source", "name", "track"), list(every_case()))
def test_what_a_baseline_writes_is_valid(
    source: str,
    name: str,
    track: Track,
    baseline: Callable[..., Baseline],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    is_generated = source == "generated"
    files = request.getfixturevalue("generated")[track] if is_generated else files_of(track)
    output = tmp_path / track.file_name
    tuned_on = files.dev if track.has_none and name != RANDOM else None
    knowledge = read_knowledge(files.knowledge, track) if files.knowledge else None
    predicted = predict(
        baseline(name, knowledge),
        track,
        files.dialogues,
        output,
        pool=files.pool,
        dev=tuned_on,
    )
    gold = Gold(files.targets, files.dialogues, files.pool)
    problems = validate(output, gold, track, Options(strict=True))
    # These pools are smaller than the official one.
    assert [problem for problem in problems if problem.kind != "pool-size"] == []
    lists = [len(example["options-for-next"] or "") for example in examples_in(files, track)]
    assert [len(ranking) for ranking in entries(output)] == [
        size + track.has_none for size in lists
    ]
    assert predicted.examples == len(lists)
    assert (predicted.threshold is not None) == (tuned_on is not None)
    assert not is_generated or set(lists) == {100}


def examples_in(files: Files, track: Track) -> list[dict[str, Any]]:
    """Return the raw examples; with a pool, as if each had the list that is to come out."""
    examples: list[dict[str, Any]] = read_json(files.dialogues)
    return [{"options-for-next": "c" * 100} | e for e in examples] if track.has_pool else examples


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("track", [Track("ubuntu", 2), UBUNTU_4], ids=str)
def test_ten_choices_with_probabilities_are_valid(
    name: str, track: Track, baseline: Callable[..., Baseline], tmp_path: Path
) -> None:
    files, output = files_of(track), tmp_path / track.file_name
    tuned_on = files.dev if track.has_none and name != RANDOM else None
    predict(
        baseline(name),
        track,
        files.dialogues,
        output,
        pool=files.pool,
        dev=tuned_on,
        choices=True,
    )
    gold = Gold(files.targets, files.dialogues, files.pool)
    problems = validate(output, gold, track, Options(metric="fscore", strict=True))
    assert [problem for problem in problems if problem.kind != "pool-size"] == []
    assert {len(ranking) for ranking in entries(output)} == {10}


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
def test_scores_become_probabilities(
    scores: list[float], are_logarithms: bool, expected: list[float]
) -> None:
    ranking = Ranking("1", tuple((f"C{place}", score) for place, score in enumerate(scores)))
    choices = as_choices(ranking, are_logarithms=are_logarithms)
    assert [score for _, score in choices.entries] == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_files_give_the_same_bytes(
    name: str, baseline: Callable[..., Baseline], tmp_path: Path
) -> None:
    written = []
    for place in ("first", "second"):
        predict(baseline(name), UBUNTU_1, files_of(UBUNTU_1).dialogues, tmp_path / place)
        written.append((tmp_path / place).read_bytes())
    assert written[0] == written[1]


@pytest.mark.integration
def test_the_threshold_of_none_keeps_its_promise_on_dev(tmp_path: Path) -> None:
    track, output = Track("ubuntu", 4), tmp_path / "dev.json"
    data = write_track(tmp_path, track, Sizes(0, 60, 0), Recipe(pool=3000, vocabulary=4000))
    for name in LEXICAL:
        tuned = predict(Baseline(name), track, data["dev"], output, dev=data["dev"])
        assert tuned.threshold is not None
        gold = Gold(dialogues=data["dev"])
        final = evaluate(output, gold, track).report().metrics["ranking"]["final"]
        assert final == pytest.approx(tuned.threshold.final_score, abs=1e-12)
        for other in (tuned.threshold.score * 0.8, tuned.threshold.score * 1.2, -1.0):
            predict(Baseline(name), track, data["dev"], output, none_score=other)
            worse = evaluate(output, gold, track).report().metrics["ranking"]["final"]
            assert worse <= final + 1e-12


def test_without_a_score_none_joins_no_list(tmp_path: Path) -> None:
    track = Track("advising", 4)
    output = tmp_path / track.file_name
    files = files_of(track)
    assert predict(Baseline("tfidf"), track, files.dialogues, output).threshold is None
    names = {entry["candidate-id"] for ranking in entries(output) for entry in ranking}
    assert NONE not in names
    gold = Gold(files.targets, files.dialogues)
    assert validate(output, gold, track, Options(strict=True)) == []


@pytest.mark.integration
@pytest.mark.parametrize("name", LEXICAL)
def test_shared_words_are_worth_more_than_chance(name: str, tmp_path: Path) -> None:
    """Lists and pool, whole contexts and last messages only, on a small synthetic world."""
    world = World(Recipe(pool=3000, vocabulary=4000, topics=40))
    lists, pool = Track("ubuntu", 1), Track("ubuntu", 2)
    sizes = Sizes(0, 0, 120)
    data = write_track(tmp_path, lists, sizes, world=world)
    output = tmp_path / "out.json"

    def recall(track: Track, data: dict[str, Path], k: int, last_message: bool = False) -> float:
        predict(
            Baseline(name, last_message=last_message),
            track,
            data["test"],
            output,
            pool=data.get("pool"),
        )
        report = evaluate(output, Gold(data["targets"]), track).report()
        value: float = report.metrics["ranking"]["recall"][str(k)]
        return value

    # By chance it is 10 of 100, with a standard error of 0.027.
    whole, last = recall(lists, data, 10), recall(lists, data, 10, last_message=True)
    assert whole > 0.3
    assert 0.1 < last < whole
    # By chance it is 100 of 3,000, with a standard error of 0.016.
    assert recall(pool, write_track(tmp_path, pool, sizes, world=world), 100) > 0.1


def test_a_candidate_that_is_listed_twice_is_ranked_once(tmp_path: Path) -> None:
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
    ("name", "arguments", "track", "names"),
    [
        ("bm25", {}, Track("ubuntu", 2), "pool"),
        ("bm25", {"pool": "pool.tsv"}, UBUNTU_1, "pool"),
        ("bm25", {"dev": "dev.json"}, UBUNTU_1, "subtask 4"),
        ("bm25", {"none_score": 0.5}, ADVISING_3, "subtask 4"),
        ("bm25", {"dev": "dev.json", "none_score": 0.5}, UBUNTU_4, "both"),
        (RANDOM, {"none_score": 1.0}, UBUNTU_4, "random"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    name: str, arguments: dict[str, Any], track: Track, names: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=names):
        predict(Baseline(name), track, "test.json", tmp_path / "out.json", **arguments)


@pytest.mark.parametrize(
    ("name", "model", "names"),
    [("bm52", None, '"bm25"'), (DUAL_ENCODER, None, DUAL_ENCODER), ("tfidf", "model", "tfidf")],
)
def test_a_baseline_that_cannot_be_is_refused(name: str, model: str | None, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        Baseline(name, model)


def test_files_without_anything_to_rank_or_to_tune_on_are_refused(tmp_path: Path) -> None:
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
    ("module", "name", "extra"),
    [("bm25s", "bm25", "retrieval"), ("sklearn", "tfidf", "retrieval"), ("torch", "", "neural")],
)
def test_a_missing_library_is_named_with_its_extra(
    module: str, name: str, extra: str, tmp_path: Path
) -> None:
    """In a process of its own, in which the library cannot be found."""
    call = (
        f"predict(Baseline({name!r}), Track('ubuntu', 1), sys.argv[1], sys.argv[2])"
        if name
        else "train(sys.argv[1], sys.argv[1], sys.argv[2])"
    )
    program = (
        f"import sys\nsys.modules[{module!r}] = None\n"
        "from mwzeval.dstc7.baselines.ranker import Baseline\n"
        "from mwzeval.dstc7.baselines.run import predict, train\n"
        "from mwzeval.dstc7.reading.tracks import Track\n"
        "from mwzeval.errors import DependencyError\n"
        f"try:\n    {call}\nexcept DependencyError as error:\n    print(error)\n"
    )
    dev = files_of(Track("ubuntu", 1)).dev
    ran = subprocess.run(
        [sys.executable, "-c", program, str(dev), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"mwzeval[{extra}]" in ran.stdout


@pytest.mark.integration
def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys, mwzeval.dstc7.baselines.run\n"
        "heavy = {'torch', 'sklearn', 'bm25s', 'numba', 'safetensors', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
