"""The plug-in against the official scorer's figures, its command line, and properties."""

from __future__ import annotations

import json
import random
from argparse import Namespace
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from mwzeval_sgd import CHOICES
from mwzeval_sgd.data import PATTERNS
from mwzeval_sgd.scoring import SCRIPT, ScoredStates, StateScorer, similarity

from mwzeval.cli import main
from mwzeval.errors import InputError
from mwzeval.files.reading import lines, read_json

HERE = Path(__file__).parent
SHARED = HERE.parents[3] / "shared"
GOLDEN, DATA = SHARED / "golden" / "sgd", SHARED / "data" / "sgd"
PREDICTIONS = HERE.parent / "mwzeval_sgd" / "examples" / "schema-guided"
HEAD, *CASES = [json.loads(line) for _, line in lines(str(HERE / "corner_cases.jsonl.xz"))]
needs_data = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared data are not there")
RUNS: dict[str, dict[str, str]] = {
    "default": {},
    "exact": {"match": "exact"},
    "across-turn": {"joint": "turn"},
    "multiwoz-style": {"match": "exact", "joint": "turn"},
    "levenshtein": {"similarity": "levenshtein"},
}


def scored(predictions: Any, folder: Path, **options: Any) -> ScoredStates:
    file = folder / "predictions.json"
    file.write_text(json.dumps(predictions), encoding="utf-8")
    defaults = {name: choices[0] for name, (choices, _) in CHOICES.items()}
    options = {"data": None, "services": True, "missing": "skip", **options}
    return StateScorer(Namespace(**{**defaults, **options})).score(str(file))


def check(found: ScoredStates, figures: dict[str, Any], counts: dict[str, Any] | None) -> None:
    """Compare figures and counts of the official scorer; what is absent there is absent here."""
    expected = {scope: values for scope, values in figures.items() if values}
    script = found.report().metrics["script"]
    assert {s: sorted(v) for s, v in script.items()} == {s: sorted(v) for s, v in expected.items()}
    for scope, values in expected.items():
        assert script[scope] == pytest.approx(values, abs=1e-9), scope
    for score in found.scored_table.scores() if counts else ():
        scope = SCRIPT.get(score.scope, score.scope)
        if scope not in ("single", "multi") and "nonempty" not in score.name:
            assert score.n == counts[scope][score.name], (scope, score.name)


def changed(whole: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    whole = deepcopy(whole)
    for scope, values in changes.items():
        if values is None:
            whole.pop(scope, None)
        else:
            merged = whole.get(scope, {}) | values
            whole[scope] = {name: value for name, value in merged.items() if value is not None}
    return whole


@pytest.fixture
def gold_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    seen = [entry for entry in HEAD["schema"] if entry["service_name"] in HEAD["seen_services"]]
    for name, content in (("test", HEAD["schema"]), ("train", seen)):
        (folder / name).mkdir(parents=True)
        (folder / name / "schema.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


ERRORS = {
    "string-value", "string-categorical", "empty-list", "empty-list-spurious", "null-value",
    "null-values", "null-values-spurious", "missing-intent", "missing-requests", "missing-values",
    "missing-state", "null-slot-values", "requests-string", "no-frames-key", "speaker-case",
    "services-differ", "unknown-dialogue", "dialogue-twice", "nothing",
}  # fmt: skip
"""Cases that are errors here; some of them the official scorer scores."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_corner_cases_have_the_expected_scores(
    case: dict[str, Any], gold_folder: Path, tmp_path: Path
) -> None:
    dialogues = json.dumps(case.get("gold", HEAD["gold"]))
    (gold_folder / "test" / "dialogues_001.json").write_text(dialogues, encoding="utf-8")
    chosen = case.get("options", {})
    options = {"data": str(gold_folder)}
    options["match"] = "fuzzy" if chosen.get("use_fuzzy_match", True) else "exact"
    options["joint"] = "turn" if chosen.get("joint_acc_across_turn") else "frame"
    if case["name"] in ERRORS:
        with pytest.raises(InputError) as error:
            scored(case["predictions"], tmp_path, **options)
        problems = error.value.problems
        assert case["name"] == "nothing" or all(problem.dialogue for problem in problems)
        return
    found = scored(case["predictions"], tmp_path, **options)
    if "error" in case:  # here it is scored, with a warning
        assert found.warnings
    elif "figures" in case:
        check(found, case["figures"], case["counts"])
    else:
        figures = changed(HEAD["figures"], case.get("figures_changed", {}))
        check(found, figures, changed(HEAD["counts"], case.get("counts_changed", {})))


def test_similarities_equal_the_reference_values() -> None:
    if not GOLDEN.is_dir():
        pairs = [("San Ramon", "San xamon", 44, 56), ("comic", "čömíc", 25, 50)]
    else:
        lines = map(json.loads, (GOLDEN / "similarity.jsonl").read_text().splitlines())
        pairs = [
            (row["gold"], row["predicted"], row["difflib"], row["levenshtein"]) for row in lines
        ]
    for gold, predicted, difflib, levenshtein in pairs:
        assert similarity("difflib", gold, predicted) == difflib / 100, (gold, predicted)
        assert similarity("levenshtein", gold, predicted) == levenshtein / 100, (gold, predicted)


def predictions_of(name: str) -> list[Any]:
    if name == "gold":
        files = sorted((DATA / "test").glob("dialogues_*.json.gz"))
        return [dialogue for file in files for dialogue in read_json(file)]
    found = read_json(GOLDEN / "predictions" / f"{name}.json.xz")
    return [*found.values()] if isinstance(found, dict) else found


@needs_data
@pytest.mark.parametrize("name", ["gold", "mixed", "stale", "typos", "gaps", "broken"])
def test_scores_equal_those_of_the_official_scorer(name: str, tmp_path: Path) -> None:
    runs = json.loads((GOLDEN / "figures" / f"{name}.json").read_text())["runs"]
    everything = predictions_of(name)
    for run, expected in runs.items():
        predictions, base = everything, run.removeprefix("filled/").replace("filled", "default")
        missing = "empty" if run.startswith("filled") else "skip"
        if "domain" in run:
            is_single = run == "single-domain"
            predictions = [d for d in predictions if (len(d["services"]) == 1) == is_single]
            base = "default"
        options = {**RUNS[base], "missing": missing, "data": str(DATA)}
        if "error" in expected:
            with pytest.raises(InputError) as error:
                scored(predictions, tmp_path, **{**options, "missing": "error"})
            assert len(error.value.problems) > 100
        else:
            check(
                scored(predictions, tmp_path, **options),
                expected["figures"],
                expected.get("counts"),
            )


@needs_data
def test_nonempty_requested_slots_f1_equals_the_reference_values(tmp_path: Path) -> None:
    expected = json.loads((GOLDEN / "requested_nonempty.json").read_text())["mixed"]
    report = scored(predictions_of("mixed"), tmp_path, data=str(DATA)).report()
    scopes = {name: scope for scope, name in SCRIPT.items()}
    for name, values in expected.items():
        score = report.score("requested_slots_f1_nonempty", scopes.get(name, name))
        assert score.n == values["frames"]
        assert score.value == pytest.approx(values["requested_slots_f1_nonempty"], abs=1e-9)


def sample(name: str) -> Any:
    return json.loads((PREDICTIONS / f"sample-{name}.json").read_text(encoding="utf-8"))


def figures(predictions: Any, folder: Path, **options: Any) -> dict[str, Any]:
    found = scored(predictions, folder, corpus="sample", **options)
    script: dict[str, Any] = found.report().metrics["script"]
    return script


def test_scores_do_not_depend_on_the_order_or_the_files(tmp_path: Path) -> None:
    weak = sample("weak")
    expected = figures(weak, tmp_path)
    shuffled = deepcopy(weak)
    random.Random(1).shuffle(shuffled)
    for dialogue in shuffled:
        dialogue["services"].reverse()
        for turn in dialogue["turns"]:
            turn["frames"].reverse()
    assert figures(shuffled, tmp_path) == expected
    assert figures({d["dialogue_id"]: d for d in weak}, tmp_path) == expected
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        (folder / f"part_{part}.json").write_text(json.dumps(weak[part::3]), encoding="utf-8")
    (folder / "dialogues_and_metrics.json").write_text(json.dumps(weak), encoding="utf-8")
    defaults = {name: choices[0] for name, (choices, _) in CHOICES.items()} | {"corpus": "sample"}
    scorer = StateScorer(Namespace(**defaults, data=None, services=True))
    assert scorer.score(str(folder)).report().metrics["script"] == expected


def shards_of(predictions: list[Any], folder: Path, parts: int = 3) -> list[str]:
    files = [folder / f"shard_{part}.json" for part in range(parts)]
    for part, file in enumerate(files):
        file.write_text(json.dumps(predictions[part::parts]), encoding="utf-8")
    return [str(file) for file in files]


def test_shards_score_as_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--corpus", "sample", "--services", "-f", "csv", "-o", str(tmp_path / "report.json")]
    assert main(["evaluate", WEAK, *options]) == 0
    expected = capsys.readouterr().out
    assert len(expected.splitlines()) > len(SCRIPT)
    shards = shards_of(sample("weak"), tmp_path)
    pattern = str(tmp_path / "shard_*.json")
    for files in (shards, [*reversed(shards)], [pattern]):
        assert main(["shards", *files, *options]) == 0
        assert capsys.readouterr().out == expected


def test_rows_have_the_sums_behind_the_scores(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", WEAK, "--corpus", "sample", "-f", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == len(sample("weak"))
    total, n = (sum(row[f"total:joint_goal_accuracy{end}"] for row in rows) for end in ("", ":n"))
    assert main(["evaluate", WEAK, "--corpus", "sample", "-o", "-"]) == 0
    script = json.loads(capsys.readouterr().out)["script"]
    assert total / n == pytest.approx(script["#ALL_SERVICES"]["joint_goal_accuracy"], abs=1e-9)


def test_bad_shards_are_all_listed_or_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    weak = sample("weak")
    shards = shards_of(weak, tmp_path, 4)
    Path(shards[1]).write_text("[{", encoding="utf-8")
    wrong = deepcopy(weak[2::4])
    wrong[0]["turns"][0]["frames"] = 7
    Path(shards[2]).write_text(json.dumps(wrong), encoding="utf-8")
    options = ["--corpus", "sample", "--missing", "skip", "-o", str(report)]
    assert main(["shards", *shards, *options]) == 2
    error = capsys.readouterr().err
    assert all((file in error) == (file in shards[1:3]) for file in shards)
    assert main(["shards", *shards, "--skip-bad", *options]) == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    skipped = [entry["shard"] for entry in found["meta"]["skipped_shards"]]
    assert skipped == ["shard_1.json", "shard_2.json"]
    whole = figures(weak[0::4] + weak[3::4], tmp_path, missing="skip", services=False)
    assert found["script"] == json.loads(json.dumps(whole))
    # The same dialogue in two shards is an error, except if one of the shards is skipped.
    wrong = [*weak[1::4], {**weak[0], "turns": 7}]
    Path(shards[1]).write_text(json.dumps(wrong), encoding="utf-8")
    Path(shards[2]).write_text(json.dumps(weak[2::4] + weak[1:2]), encoding="utf-8")
    assert main(["shards", *shards, "--skip-bad", *options]) == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    assert [entry["shard"] for entry in found["meta"]["skipped_shards"]] == ["shard_1.json"]
    Path(shards[1]).write_text(json.dumps(weak[1::4]), encoding="utf-8")
    assert main(["shards", *shards, "--skip-bad", *options]) == 2
    assert shards[2] in capsys.readouterr().err
    assert main(["shards", str(tmp_path), "--benchmark", "sgd", *options]) == 2
    Path(shards[3]).write_text('{"sng0073": [{"response": "hello"}]}', encoding="utf-8")
    assert main(["shards", *shards, *options]) == 2
    assert "MultiWOZ" in capsys.readouterr().err
    for file in shards:
        Path(file).write_text("[{", encoding="utf-8")
    assert main(["shards", "--benchmark", "sgd", *shards, "--skip-bad", *options]) == 2
    assert main(["shards", WEAK, "--dask", "local", *options]) == 2


def test_dialogues_in_an_object_may_omit_their_ids(tmp_path: Path) -> None:
    weak = sample("weak")
    expected = figures(weak, tmp_path)
    assert figures({d.pop("dialogue_id"): d for d in weak}, tmp_path) == expected


def test_numbers_and_booleans_are_compared_as_text() -> None:
    assert [similarity("difflib", "True", value) for value in (1, True, 1.0)] == [0, 1, 0]


def test_missing_dialogues_turns_and_frames_are_counted_and_reported_once(tmp_path: Path) -> None:
    good = sample("good")
    del good[-1]
    del good[0]["turns"][2:]
    good[1]["turns"][0]["frames"].clear()
    found = scored(good, tmp_path, corpus="sample", missing="empty")
    assert {units: found.coverage[units] for units in ("dialogues", "frames")} == {
        "dialogues": {"scored": 11, "of": 12},
        "frames": {"scored": 35, "of": 43},
    }
    warnings = [(warning.kind, warning.count) for warning in found.warnings]
    assert [warning for warning in warnings if warning[0] != "unseen"] == [
        ("not-predicted", 1),
        ("no-turn", 2),
        ("no-frame", 1),
    ]
    good[2]["turns"][0]["frames"] = None
    with pytest.raises(InputError) as error:
        scored(good, tmp_path, corpus="sample", missing="error")
    problems = [(problem.kind, problem.dialogue) for problem in error.value.problems]
    assert [kind for kind, name in problems if name == good[2]["dialogue_id"]] == ["shape"]


def test_incomplete_systems_can_be_compared_as_empty_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    weak = sample("weak")
    del weak[0]["turns"][2:]
    Path("cut.json").write_text(json.dumps(weak), encoding="utf-8")
    command = ["compare", GOOD, "cut.json", "--corpus", "sample", "--missing"]
    assert main([*command, "skip"]) == 2
    assert "--missing empty" in capsys.readouterr().err
    assert main([*command, "empty"]) == 0
    Path("cut.json").write_text(json.dumps(weak[1:]), encoding="utf-8")
    assert main([*command, "skip"]) == 0
    assert "11 dialogues" in capsys.readouterr().out


def test_explanations_show_unknown_slots_as_facts_but_not_as_reasons(tmp_path: Path) -> None:
    good = sample("good")
    for turn in good[0]["turns"]:
        for frame in turn["frames"]:
            frame["state"]["slot_values"]["colour_of_tram"] = ["red"]
    found = scored(good, tmp_path, corpus="sample").explain(good[0]["dialogue_id"])
    assert not any("colour_of_tram" in reason.code for reason in found.reasons)
    assert all(any("colour_of_tram" in fact.label for fact in turn.facts) for turn in found.turns)


def test_exact_matching_never_scores_higher(tmp_path: Path) -> None:
    fuzzy, exact = (figures(sample("weak"), tmp_path, match=how) for how in ("fuzzy", "exact"))
    for scope, values in exact.items():
        assert all(value <= fuzzy[scope][name] for name, value in values.items())


def test_spurious_slots_lower_only_joint_goal_accuracy(tmp_path: Path) -> None:
    good = sample("good")
    before = figures(good, tmp_path)["#ALL_SERVICES"]
    for dialogue in good:
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                if frame["service"] == "Cafes_1":
                    frame["state"]["slot_values"].setdefault("outdoor", ["True"])
    after = figures(good, tmp_path)["#ALL_SERVICES"]
    assert after["joint_goal_accuracy"] < before["joint_goal_accuracy"]
    assert after["average_goal_accuracy"] == before["average_goal_accuracy"]


GOOD, WEAK = (str(PREDICTIONS / f"sample-{name}.json") for name in ("good", "weak"))


@pytest.mark.parametrize(
    "command",
    [
        f"evaluate {GOOD} --corpus sample --ci --services",
        f"compare {GOOD} {WEAK} --corpus sample",
        f"explain {WEAK} --corpus sample",
        f"explain {WEAK} sample_00005 --corpus sample",
        f"validate {GOOD} --corpus sample",
        f"report {GOOD} {WEAK} --corpus sample -o page.html",
        f"plot {GOOD} {WEAK} --corpus sample -o plot.png",
        f"power -i {GOOD} --corpus sample",
        f"evaluate {GOOD} --corpus sample --fail-under joint_goal_accuracy=0.5",
        "data status sgd",
        "doctor",
    ],
)
def test_all_verbs_work(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    assert "".join(capsys.readouterr())


def test_exactly_the_failed_outcomes_have_reasons(tmp_path: Path) -> None:
    found = scored(sample("weak"), tmp_path, corpus="sample")
    for name in found.units():
        explanation = found.explain(name)
        values = [
            (metric, value) for scope, metric, value in found._values(name) if scope == "total"
        ]
        for outcome, metric in (
            ("states", "joint_goal_accuracy"),
            ("intents", "active_intent_accuracy"),
        ):
            is_right = all(value == 1 for key, value in values if key == metric)
            assert explanation.outcomes["total"][outcome] == is_right
            assert is_right != any(reason.outcome == outcome for reason in explanation.reasons)


def test_file_patterns_cover_all_folds() -> None:
    assert set(PATTERNS) == {"test", "dev", "train"}
