"""Every problem code in strict and lenient validation, and its reported position."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.evaluation import Gold, Options, Track, evaluate, validate
from mwzeval.errors import InputError, Problem, UsageError
from tests.dstc7.cases import SEVERAL, UBUNTU, WITH_NONE, Folder, kinds, submission_of
from tests.places import ROOT

HUNDRED = [f"C{place:03d}" for place in range(100)]
TARGETS = "1\tC003\n2\tC004\n"
WORDS = {"HUGE": "0" * 400, "NESTED": "[" * 200_000, "DIGITS": "9" * 5000}
"""Abbreviations of long texts in `validation.tsv`."""
STRICT = Options(strict=True)
Place = tuple[str, str | None, int | None]
SEVERITIES = {
    "always": ("error", "error"),
    "strict": ("error", "warning"),
    "never": ("warning", "warning"),
}
"""Kind of case in `validation.tsv` → its severity in strict and in lenient validation."""

Raw = list[dict[str, Any]]


def good() -> Raw:
    """Return a valid submission."""
    return submission_of({"1": " ".join(HUNDRED), "2": " ".join(HUNDRED[::-1])})


def entries(raw: Raw, example: int = 0) -> list[Any]:
    listed: list[Any] = raw[example]["candidate-ranking"]
    return listed


def choices(probabilities: Sequence[float]) -> Raw:
    return submission_of({"1": [(f"C{place:03d}", p) for place, p in enumerate(probabilities)]})


def dialogues(
    scenario: int = 1,
    speaker: str = "participant_1",
    numbers: Sequence[int] = (1, 2),
    options: Sequence[str] = HUNDRED,
) -> Raw:
    offered = [{"candidate-id": identity, "utterance": "x"} for identity in options]
    return [
        {
            "data-split": "test",
            "example-id": number,
            "messages-so-far": [{"speaker": speaker, "utterance": "hello"}],
            "options-for-next": offered,
            "scenario": scenario,
        }
        for number in numbers
    ]


def changed(change: str) -> Any:
    """Return a submission after a change, such as `set 0/ranking/4/confidence null`."""
    operation, _, rest = change.partition(" ")
    for word, text in WORDS.items():
        rest = rest.replace(word, text)
    raw: Any = good()
    if operation in ("", "text", "bytes", "all", "choices"):
        whole = json.loads(rest) if rest else raw
        if operation == "bytes":
            return whole.encode("latin-1")
        return choices(whole) if operation == "choices" else whole
    path, _, rest = rest.partition(" ")
    names = path.replace("ranking", "candidate-ranking").strip(".").split("/")
    keys = [int(name) if name.isdecimal() else name for name in names if name]
    value = json.loads(rest) if rest else None
    holder = raw
    for key in keys[: None if operation == "add" else -1]:
        holder = holder[key]
    if operation == "add":
        holder.append(value)
    elif operation == "del":
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = value
    return raw


def inputs(change: str, more: dict[str, Any]) -> tuple[Any, Any, Track, dict[str, Any]]:
    """Return the submission, targets, track and other gold data of a case."""
    targets = more.pop("targets", TARGETS)
    track = Track("ubuntu", more.pop("track", 1))
    if "dialogues" in more:
        more["dialogues"] = dialogues(**more["dialogues"])
    if more.get("pool") == "":
        more["pool"] = "".join(f"{identity}\tx\n" for identity in HUNDRED)
    return changed(change), targets, track, more


def test_each_code_has_severity_and_position_and_errors_prevent_scoring(tmp_path: Path) -> None:
    lines = (Path(__file__).parent / "validation.tsv").read_text("utf-8").splitlines()[1:]
    folder = Folder(tmp_path)
    failures: list[tuple[str, bool, object]] = []
    for line in lines:
        name, code, error, change, example, position, datum, more = line.split("\t")
        wanted = (example or None, int(position) if position else None)
        for strict, severity in zip((True, False), SEVERITIES[error], strict=True):
            given = json.loads(more or "{}")
            options = Options(strict=strict, **given.pop("options", {}))
            raw, targets, track, gold = inputs(change, given)
            problems = folder.problems(raw, targets, track, options, **gold)
            first = next((problem for problem in problems if problem.kind == code), None)
            found = first and (
                first.severity,
                example and first.example,
                first.position if position else None,
                bool(first.file) and datum in str(first),
            )
            if found != (severity, wanted[0] or "", wanted[1], True):
                failures.append((name, strict, found))
            try:
                scored = folder.evaluated(raw, targets, track, options, **gold).warnings
            except InputError as refused:
                scored = ()
                if kinds(refused.problems) != kinds(problems, "error"):
                    failures.append((name, strict, kinds(refused.problems)))
            if kinds(scored) != ([] if kinds(problems, "error") else kinds(problems)):
                failures.append((name, strict, kinds(scored)))
    assert not failures
    documented = (ROOT / "docs" / "dstc7.md").read_text("utf-8")
    codes = {line.split("\t")[1] for line in lines}
    assert {code for code in codes if f"`{code}`" not in documented} == set()


FINE: dict[str, tuple[Any, str, Track, dict[str, Any], dict[str, Any]]] = {
    "alone": (good(), TARGETS, UBUNTU, {}, {}),
    "with dialogues": (good(), TARGETS, UBUNTU, {}, {"dialogues": dialogues()}),
    "choices": (choices((0.55, *[0.05] * 9)), "1\tC003\n", UBUNTU, {"metric": "fscore"}, {}),
    "subtask 5": (good(), TARGETS, Track("ubuntu", 5), {}, {"dialogues": dialogues()}),
    **{
        f"NONE among {count}": (
            submission_of(dict.fromkeys("12", " ".join(["NONE", *HUNDRED][:count]))),
            *("1\tNONE\n2\tC004\n", WITH_NONE, {}, {}),
        )
        for count in (100, 101)
    },
    "all of less than a hundred": (
        submission_of(dict.fromkeys("12", " ".join(HUNDRED[:20]))),
        *(TARGETS, UBUNTU, {}, {"dialogues": dialogues(options=HUNDRED[:20])}),
    ),
}


@pytest.mark.parametrize("case", FINE)
def test_valid_submissions_have_no_problems(case: str, tmp_path: Path) -> None:
    raw, targets, track, options, more = FINE[case]
    strict = Options(strict=True, **options)
    assert Folder(tmp_path).problems(raw, targets, track, strict, **more) == []


def test_ids_match_regardless_of_type_and_case(tmp_path: Path) -> None:
    raw = [
        {
            "example-id": " 0012 ",
            "candidate-ranking": [
                {"candidate-id": 545833110, "confidence": 1},
                {"candidate-id": " abc1 ", "confidence": 0.5},
                {"candidate-id": "none", "confidence": 0.25},
            ],
        },
        {"example-id": 13, "candidate-ranking": [{"candidate-id": "None", "confidence": 1}]},
    ]
    evaluated = Folder(tmp_path).evaluated(raw, "12\t 545833110 \n13\tnone\n", WITH_NONE)
    assert evaluated.report().metrics["ranking"]["recall"]["1"] == 1


def places(problems: Sequence[Problem]) -> list[Place]:
    return [(problem.kind, problem.example, problem.position) for problem in problems]


def test_all_problems_are_reported_with_their_positions(tmp_path: Path) -> None:
    raw = good()
    entries(raw)[3]["confidence"] = "high"
    entries(raw)[9]["candidate-id"] = None
    entries(raw, 1)[5]["candidate-id"] = "C000"
    raw.append({"example-id": 3})
    found = places(Folder(tmp_path).problems(raw, TARGETS, options=STRICT))
    assert found[:4] == [
        ("bad-confidence", "1", 4),
        ("bad-type", "1", 10),
        ("missing-field", "3", None),
        ("unknown-example", "3", None),
    ]
    assert ("duplicate-candidate", "2", 100) in found


def test_malformed_entries_do_not_shift_positions_and_are_reported_once(tmp_path: Path) -> None:
    raw = good()
    entries(raw)[9] = None
    entries(raw)[50]["candidate-id"] = "QQQ"
    raw[1]["candidate-ranking"] = None
    problems = Folder(tmp_path).problems(raw, TARGETS, options=STRICT, dialogues=dialogues())
    assert places(problems) == [
        ("bad-type", "1", 10),
        ("bad-type", "2", None),
        ("unknown-candidate", "1", 51),
    ]


def test_problems_of_all_input_files_are_reported_together(tmp_path: Path) -> None:
    found = kinds(Folder(tmp_path).problems("[", "1\n", dialogues="{}"))
    assert {"not-json", "malformed-targets", "not-an-array"} <= set(found)


def test_unsorted_rankings_are_counted_in_one_problem(tmp_path: Path) -> None:
    raw = good()
    for example in (0, 1):
        entries(raw, example)[70]["confidence"] = 0.9
    [problem] = Folder(tmp_path).problems(raw, TARGETS, options=STRICT)
    assert (problem.kind, problem.count) == ("not-sorted", 2)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine.json", "mine.json"),
        ("Ubuntu_subtask_4.json", "dstc7-ubuntu-4"),
        ("Advising_subtask_1_case2.json", "dstc7-advising-1"),
    ],
)
def test_unofficial_or_mismatched_file_names_are_warnings(
    name: str, says: str, tmp_path: Path
) -> None:
    folder = Folder(tmp_path)
    path = folder.write(name, good())
    [problem] = validate(path, folder.gold(TARGETS), UBUNTU, STRICT)
    assert (problem.kind, problem.severity) == ("file-name", "warning")
    assert says in str(problem)


def test_track_is_inferred_from_official_file_name(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = folder.write("Advising_subtask_3_case2.json", good())
    evaluated = evaluate(path, folder.gold("1\tC003,C004\n2\tC005\n"))
    assert evaluated.loaded.track == Track("advising", 3, "case2")
    assert evaluated.warnings == ()
    with pytest.raises(UsageError):
        evaluate(folder.write("mine.json", good()), folder.gold(TARGETS))


def test_targets_are_read_from_dialogues_without_a_target_file(tmp_path: Path) -> None:
    raw = dialogues(scenario=4, speaker="student")
    raw[0]["options-for-correct-answers"] = [{"candidate-id": "c003", "utterance": "x"}]
    raw[1]["options-for-correct-answers"] = []
    track = Track("advising", 4)
    evaluated = Folder(tmp_path).evaluated(good(), None, track, dialogues=raw)
    assert evaluated.loaded.targets == {"1": ("C003",), "2": ("NONE",)}
    assert evaluated.loaded.split == "test"
    raw = dialogues(speaker="student")
    raw[0]["options-for-correct-answers"] = []
    problems = Folder(tmp_path).problems(good(), None, Track("advising", 1), dialogues=raw)
    assert [(p.kind, p.example) for p in problems if p.severity == "error"] == [
        ("malformed-targets", "1")
    ]


def test_set_recall_is_reported_for_tracks_with_several_answers(tmp_path: Path) -> None:
    evaluated = Folder(tmp_path).evaluated(good(), "1\tC003,C004\n2\tC005\n", SEVERAL)
    names = [score.name for score in evaluated.report().scores]
    assert "set_recall@10" in names
    single = Folder(tmp_path).evaluated(good(), TARGETS)
    assert "set_recall@10" not in [score.name for score in single.report().scores]
    assert single.report().metrics["ranking"]["set_recall"]["10"] == 0.5


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"order": "random"}, "random"),
        ({"metric": "rankings"}, '"ranking"'),
        ({"compat": "2019"}, "2018"),
        ({"coverage": 0}, "coverage"),
        ({"coverage": 1.5}, "coverage"),
        ({"compat": "2018", "metric": "fscore"}, "compat"),
    ],
)
def test_invalid_options_are_errors(options: dict[str, Any], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        Options(**options)


def test_gold_data_without_targets_and_dialogues_is_an_error() -> None:
    with pytest.raises(UsageError):
        Gold()


def test_overflowing_probabilities_are_reported_and_scored(tmp_path: Path) -> None:
    raw = submission_of({"1": [(f"C{n}", 1e308) for n in range(10)]})
    options = Options(metric="fscore")
    problems = Folder(tmp_path).problems(raw, "1\tC0\n", options=options)
    assert kinds(problems) == ["not-a-distribution"]
    fscore = Folder(tmp_path).evaluated(raw, "1\tC0\n", options=options).report().metrics["fscore"]
    assert fscore["counts"] == {"selected": 9, "correct_selected": 1, "correct": 1}


def test_compat_2018_repeats_do_not_raise_set_recall_above_1(tmp_path: Path) -> None:
    raw = submission_of({"1": "A A B"})
    options = Options(compat="2018")
    report = Folder(tmp_path).evaluated(raw, "1\tA,B\n", SEVERAL, options).report()
    assert report.metrics["ranking"]["set_recall"]["2"] == 0.5
    assert report.metrics["ranking"]["set_recall"]["5"] == 1
