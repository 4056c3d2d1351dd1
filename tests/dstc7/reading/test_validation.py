"""Every code of validation, strict and lenient, and where it says that the problem is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.reading.kinds import KINDS
from mwzeval.dstc7.scoring.evaluation import Gold, Options, Track, evaluate, validate
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.scores.report import plain_problem
from tests.dstc7.cases import SEVERAL, UBUNTU, WITH_NONE, Folder, kinds, submission_of
from tests.places import ROOT

HUNDRED = [f"C{place:03d}" for place in range(100)]
POOLED = Track("ubuntu", 2)
TARGETS = "1\tC003\n2\tC004\n"

Raw = list[dict[str, Any]]


def good() -> Raw:
    """A submission that nothing is wrong with."""
    return submission_of({"1": " ".join(HUNDRED), "2": " ".join(HUNDRED[::-1])})


def entries(raw: Raw, example: int = 0) -> list[Any]:
    listed: list[Any] = raw[example]["candidate-ranking"]
    return listed


def changed(change: Callable[[Raw], object]) -> Raw:
    raw = good()
    change(raw)
    return raw


def dialogues(scenario: int = 1, speaker: str = "participant_1") -> list[dict[str, Any]]:
    options = [{"candidate-id": identity, "utterance": "x"} for identity in HUNDRED]
    return [
        {
            "data-split": "test",
            "example-id": example,
            "messages-so-far": [{"speaker": speaker, "utterance": "hello"}],
            "options-for-next": options,
            "scenario": scenario,
        }
        for example in (1, 2)
    ]


ALWAYS = ("error", "error")
IF_STRICT = ("error", "warning")
NEVER = ("warning", "warning")


@dataclass(frozen=True)
class Case:
    """What is wrong, the code that says so, how bad it is, and where it is."""

    code: str
    levels: tuple[str, str]
    submission: Any = field(default_factory=good)
    targets: Any = TARGETS
    example: str | None = None
    position: int | None = None
    says: str = ""
    track: Track = UBUNTU
    metric: Any = "ranking"
    more: dict[str, Any] = field(default_factory=dict)


def set_entry(example: int, place: int, **values: Any) -> Raw:
    keys = {name.replace("_", "-"): value for name, value in values.items()}
    return changed(lambda raw: entries(raw, example)[place].update(keys))


def lost_key(place: int, key: str) -> Raw:
    return changed(lambda raw: entries(raw)[place].pop(key))


def replaced(place: int, value: Any) -> Raw:
    return changed(lambda raw: entries(raw).__setitem__(place, value))


def ten(*probabilities: float) -> Raw:
    pairs = [(f"C{place:03d}", p) for place, p in enumerate(probabilities)]
    return submission_of({"1": pairs})


TEN = (0.55, *[0.05] * 9)
WITH_TEN: dict[str, Any] = {"targets": "1\tC003\n", "metric": "fscore"}

CASES = {
    "empty file": Case("empty-file", ALWAYS, ""),
    "blank file": Case("empty-file", ALWAYS, " \n \n"),
    "cut off": Case("not-json", ALWAYS, '[\n {"example-id": 1', says="line 2, column 18"),
    "NONE without quotes": Case(
        "not-json",
        ALWAYS,
        '[{"example-id": 1, "candidate-ranking": [{"candidate-id": NONE}]}]',
        says='"NONE" with quotes',
    ),
    "nested too deeply": Case("not-json", ALWAYS, "[" * 200_000, says="nested too deeply"),
    "not UTF-8": Case("not-utf8", ALWAYS, b'[\n{"example-id": "\xe9"}]', says="line 2"),
    "an object": Case("not-an-array", ALWAYS, {"example-id": 1}, says="found an object"),
    "text": Case("not-an-array", ALWAYS, '"x"', says="found text"),
    "an example that is null": Case("bad-type", ALWAYS, [None], says="item 1 of the array"),
    "no example-id": Case(
        "missing-field", ALWAYS, changed(lambda raw: raw[1].pop("example-id")), says="item 2"
    ),
    "the old key": Case(
        "missing-field", ALWAYS, [{"dialog-id": 1, "candidate-ranking": []}], says="dialog-id"
    ),
    "example-id null": Case(
        "bad-type", ALWAYS, changed(lambda raw: raw[0].update({"example-id": None}))
    ),
    "example-id true": Case(
        "bad-type", ALWAYS, changed(lambda raw: raw[0].update({"example-id": True}))
    ),
    "example-id with a point": Case(
        "bad-type", ALWAYS, changed(lambda raw: raw[0].update({"example-id": 1.0}))
    ),
    "no candidate-ranking": Case(
        "missing-field", ALWAYS, changed(lambda raw: raw[0].pop("candidate-ranking")), example="1"
    ),
    "candidate-ranking misspelled": Case(
        "missing-field",
        ALWAYS,
        [{"example-id": 1, "candidate_ranking": []}],
        example="1",
        says="candidate_ranking",
    ),
    "candidate-ranking is an object": Case(
        "bad-type", ALWAYS, [{"example-id": 1, "candidate-ranking": {}}], example="1"
    ),
    "bare ids": Case("bad-type", ALWAYS, replaced(4, "C004"), example="1", position=5),
    "an entry that is null": Case("bad-type", ALWAYS, replaced(0, None), example="1", position=1),
    "no candidate-id": Case(
        "missing-field", ALWAYS, lost_key(6, "candidate-id"), example="1", position=7
    ),
    "candidate-id null": Case(
        "bad-type", ALWAYS, set_entry(0, 2, candidate_id=None), example="1", position=3
    ),
    "candidate-id false": Case(
        "bad-type", ALWAYS, set_entry(0, 2, candidate_id=False), example="1", position=3
    ),
    "candidate-id empty": Case(
        "bad-type", ALWAYS, set_entry(0, 2, candidate_id=" "), example="1", position=3
    ),
    "candidate-id with a point": Case(
        "bad-type", ALWAYS, set_entry(0, 2, candidate_id=1.5), example="1", position=3
    ),
    "no confidence": Case(
        "missing-confidence", IF_STRICT, lost_key(3, "confidence"), example="1", position=4
    ),
    "no confidence for the F-score": Case(
        "missing-confidence",
        ALWAYS,
        [{"example-id": 1, "candidate-ranking": [{"candidate-id": "C000"}]}],
        example="1",
        position=1,
        says="the F-score needs",
        **WITH_TEN,
    ),
    "confidence null": Case(
        "bad-confidence", ALWAYS, set_entry(1, 8, confidence=None), example="2", position=9
    ),
    "confidence true": Case(
        "bad-confidence", ALWAYS, set_entry(1, 8, confidence=True), example="2", position=9
    ),
    "confidence as text": Case(
        "bad-confidence", ALWAYS, set_entry(1, 8, confidence="0.5"), example="2", position=9
    ),
    "confidence NaN": Case(
        "bad-confidence",
        ALWAYS,
        set_entry(1, 8, confidence=float("nan")),
        example="2",
        position=9,
        says="nan",
    ),
    "confidence infinite": Case(
        "bad-confidence", ALWAYS, set_entry(1, 8, confidence=float("inf")), example="2", position=9
    ),
    "confidence overflows": Case(
        "bad-confidence", ALWAYS, set_entry(1, 8, confidence=10**400), example="2", position=9
    ),
    "an example was not submitted": Case(
        "missing-example", IF_STRICT, changed(lambda raw: raw.pop()), example="2"
    ),
    "an example that nobody asked for": Case(
        "unknown-example", IF_STRICT, targets="1\tC003\n", example="2"
    ),
    "nothing in common": Case(
        "no-common-example", IF_STRICT, targets="8\tC003\n", says="same dataset"
    ),
    "an example twice": Case(
        "duplicate-example", IF_STRICT, changed(lambda raw: raw.append(raw[0])), example="1"
    ),
    "an example twice, once as text": Case(
        "duplicate-example",
        IF_STRICT,
        changed(lambda raw: raw.append({**raw[0], "example-id": " 1 "})),
        example="1",
    ),
    "a candidate twice": Case(
        "duplicate-candidate",
        IF_STRICT,
        set_entry(0, 50, candidate_id="C007"),
        example="1",
        position=51,
        says="position 8",
    ),
    "a candidate twice, in another case": Case(
        "duplicate-candidate",
        IF_STRICT,
        set_entry(0, 50, candidate_id=" c007"),
        example="1",
        position=51,
    ),
    "a candidate that was not offered": Case(
        "unknown-candidate",
        IF_STRICT,
        set_entry(0, 50, candidate_id="QQQ"),
        example="1",
        position=51,
        says="QQQ",
        more={"dialogues": dialogues()},
    ),
    "a candidate that is not in the pool": Case(
        "unknown-candidate",
        IF_STRICT,
        set_entry(0, 50, candidate_id="QQQ"),
        example="1",
        position=51,
        says="the pool",
        track=POOLED,
        more={"pool": "".join(f"{identity}\tx\n" for identity in HUNDRED)},
    ),
    "NONE where there is none": Case(
        "none-not-allowed",
        IF_STRICT,
        set_entry(0, 50, candidate_id="none"),
        example="1",
        position=51,
    ),
    "an empty ranking": Case(
        "empty-ranking", IF_STRICT, changed(lambda raw: entries(raw).clear()), example="1"
    ),
    "99 candidates": Case(
        "too-few-candidates",
        IF_STRICT,
        changed(lambda raw: entries(raw).pop()),
        example="1",
        says="99 of 100",
    ),
    "less than the list": Case(
        "too-few-candidates",
        IF_STRICT,
        changed(lambda raw: entries(raw).pop()),
        example="1",
        more={"dialogues": dialogues()},
    ),
    "101 candidates": Case(
        "too-many-candidates",
        IF_STRICT,
        changed(lambda raw: entries(raw).append({"candidate-id": "C100", "confidence": 0})),
        example="1",
        position=101,
    ),
    "101 candidates without NONE in subtask 4": Case(
        "too-many-candidates",
        IF_STRICT,
        changed(lambda raw: entries(raw).append({"candidate-id": "C100", "confidence": 0})),
        example="1",
        position=101,
        track=WITH_NONE,
    ),
    "nine choices": Case(
        "too-few-candidates", IF_STRICT, ten(*[1 / 9] * 9), example="1", **WITH_TEN
    ),
    "eleven choices": Case(
        "too-many-candidates", IF_STRICT, ten(*[1 / 11] * 11), example="1", **WITH_TEN
    ),
    "the order contradicts the confidences": Case(
        "not-sorted", NEVER, set_entry(1, 70, confidence=0.9), example="2", position=71
    ),
    "a negative probability": Case(
        "not-a-distribution",
        ALWAYS,
        ten(1.1, -0.1, *[0.0] * 8),
        example="1",
        position=2,
        **WITH_TEN,
    ),
    "no probability at all": Case(
        "not-a-distribution", ALWAYS, ten(*[0.0] * 10), example="1", **WITH_TEN
    ),
    "probabilities that add up to 0.98": Case(
        "not-a-distribution",
        IF_STRICT,
        ten(0.53, *[0.05] * 9),
        example="1",
        says="0.98",
        **WITH_TEN,
    ),
    "targets with one column": Case(
        "malformed-targets", ALWAYS, targets=f"{TARGETS}3\n", says="line 3"
    ),
    "targets without an answer": Case(
        "malformed-targets", ALWAYS, targets=f"{TARGETS}3\t , \n", example="3"
    ),
    "NONE among other answers": Case(
        "malformed-targets", ALWAYS, targets="1\tC003,none\n2\tC004\n", track=WITH_NONE, example="1"
    ),
    "NONE as an answer of subtask 1": Case(
        "malformed-targets", ALWAYS, targets="1\tNONE\n2\tC004\n", example="1"
    ),
    "an example twice in the targets": Case(
        "duplicate-target-example", ALWAYS, targets=f"{TARGETS}01\tC005\n", example="1"
    ),
    "no targets": Case("no-targets", ALWAYS, targets=""),
    "targets of blank lines": Case("no-targets", ALWAYS, targets="\n \n"),
    "dialogues without answers": Case(
        "no-targets", ALWAYS, targets=None, more={"dialogues": dialogues()}
    ),
    "the right answer is not offered": Case(
        "gold-not-in-candidates",
        NEVER,
        targets="1\tC003\n2\tQQQ\n",
        example="2",
        says="1 of 2",
        more={"dialogues": dialogues()},
    ),
    "the right answer is not in the pool": Case(
        "gold-not-in-candidates",
        NEVER,
        targets="1\tC003\n2\tQQQ\n",
        example="2",
        track=POOLED,
        more={"pool": "".join(f"{identity}\tx\n" for identity in HUNDRED)},
    ),
    "dialogues of another subtask": Case(
        "wrong-track", IF_STRICT, says="subtask 4", more={"dialogues": dialogues(scenario=4)}
    ),
    "dialogues of the other dataset": Case(
        "wrong-track", IF_STRICT, says="student", more={"dialogues": dialogues(speaker="student")}
    ),
    "an example twice in the dialogues": Case(
        "duplicate-dialogue-example",
        ALWAYS,
        example="1",
        more={"dialogues": [*dialogues(), dialogues()[0]]},
    ),
    "dialogues of other examples": Case(
        "unchecked-example",
        NEVER,
        example="2",
        more={"dialogues": dialogues()[:1]},
    ),
    "a pool with one column": Case(
        "malformed-pool", ALWAYS, track=POOLED, says="line 1", more={"pool": "C000 x\n"}
    ),
    "a candidate twice in the pool": Case(
        "duplicate-pool-candidate",
        ALWAYS,
        track=POOLED,
        says="line 2",
        more={"pool": "C000\tx\nc000\ty\n"},
    ),
    "a pool of another size": Case(
        "pool-size", NEVER, track=POOLED, says="120,000", more={"pool": "C000\tx\n"}
    ),
}


def problems_of(case: Case, tmp_path: Path, *, strict: bool) -> list[Problem]:
    return Folder(tmp_path).problems(
        case.submission,
        case.targets,
        case.track,
        Options(metric=case.metric, strict=strict),
        **case.more,
    )


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
@pytest.mark.parametrize("name", CASES)
def test_each_code(name: str, strict: bool, tmp_path: Path) -> None:
    case = CASES[name]
    problems = [p for p in problems_of(case, tmp_path, strict=strict) if p.kind == case.code]
    assert problems, f"no {case.code}"
    first = problems[0]
    assert first.severity == case.levels[not strict]
    assert (case.example or first.example, case.position or first.position) == (
        first.example,
        first.position,
    )
    assert case.says in str(first)
    assert first.file


@pytest.mark.parametrize("name", CASES)
def test_what_is_an_error_is_not_scored(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for strict in (True, False):
        errors = kinds(problems_of(case, tmp_path, strict=strict), "error")
        options = Options(metric=case.metric, strict=strict)
        run = (case.submission, case.targets, case.track, options)
        if errors:
            with pytest.raises(InputError) as caught:
                Folder(tmp_path).evaluated(*run, **case.more)
            assert kinds(caught.value.problems) == errors
        else:
            assert case.code in kinds(Folder(tmp_path).evaluated(*run, **case.more).warnings)


def test_every_code_is_among_the_cases() -> None:
    elsewhere = {
        *("unreadable", "too-large", "too-many-values"),  # test_streams.py
        *("too-many-errors", "more-warnings"),  # test_streams.py
        "file-name",  # below
        "ambiguous-option",  # test_dialogues.py
        "malformed-trec",  # test_trec.py
    }
    assert {case.code for case in CASES.values()} | elsewhere == set(KINDS)


def test_every_code_is_documented() -> None:
    text = (ROOT / "docs" / "dstc7.md").read_text("utf-8")
    assert [code for code in KINDS if f"`{code}`" not in text] == []


def test_a_good_submission_has_no_problem(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.problems(good(), TARGETS, options=Options(strict=True)) == []
    checked = folder.problems(good(), TARGETS, options=Options(strict=True), dialogues=dialogues())
    assert checked == []
    fine = folder.problems(ten(*TEN), "1\tC003\n", options=Options(strict=True, metric="fscore"))
    assert fine == []


@pytest.mark.parametrize("count", [100, 101])
def test_none_may_be_one_more_or_one_instead(count: int, tmp_path: Path) -> None:
    ids = ["NONE", *HUNDRED][:count]
    raw = submission_of({"1": " ".join(ids), "2": " ".join(ids)})
    problems = Folder(tmp_path).problems(raw, "1\tNONE\n2\tC004\n", WITH_NONE, Options(strict=True))
    assert problems == []


def test_the_whole_list_is_enough_when_it_has_less_than_a_hundred(tmp_path: Path) -> None:
    short = [
        {**example, "options-for-next": example["options-for-next"][:20]} for example in dialogues()
    ]
    raw = submission_of({"1": " ".join(HUNDRED[:20]), "2": " ".join(HUNDRED[:20])})
    assert (
        Folder(tmp_path).problems(raw, TARGETS, options=Options(strict=True), dialogues=short) == []
    )


def test_ids_match_whatever_their_type_and_case(tmp_path: Path) -> None:
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


def test_all_problems_are_collected_with_their_places(tmp_path: Path) -> None:
    raw = good()
    entries(raw)[3]["confidence"] = "high"
    entries(raw)[9]["candidate-id"] = None
    entries(raw, 1)[5]["candidate-id"] = "C000"
    raw.append({"example-id": 3})
    problems = Folder(tmp_path).problems(raw, TARGETS, options=Options(strict=True))
    assert [(p.kind, p.example, p.position) for p in problems][:4] == [
        ("bad-confidence", "1", 4),
        ("bad-type", "1", 10),
        ("missing-field", "3", None),
        ("unknown-example", "3", None),
    ]
    assert ("duplicate-candidate", "2", 100) in [(p.kind, p.example, p.position) for p in problems]
    plain = [plain_problem(problem) for problem in problems]
    assert plain[0]["example"] == "1"
    assert plain[0]["position"] == 4


def test_what_is_malformed_moves_no_place_and_is_reported_once(tmp_path: Path) -> None:
    raw = good()
    entries(raw)[9] = None
    entries(raw)[50]["candidate-id"] = "QQQ"
    raw[1]["candidate-ranking"] = None
    folder, options = Folder(tmp_path), Options(strict=True)
    problems = folder.problems(raw, TARGETS, options=options, dialogues=dialogues())
    assert [(p.kind, p.example, p.position) for p in problems] == [
        ("bad-type", "1", 10),
        ("bad-type", "2", None),
        ("unknown-candidate", "1", 51),
    ]


def test_problems_of_all_files_are_found_together(tmp_path: Path) -> None:
    found = kinds(Folder(tmp_path).problems("[", "1\n", dialogues="{}"))
    assert {"not-json", "malformed-targets", "not-an-array"} <= set(found)


def test_rankings_in_another_order_are_counted(tmp_path: Path) -> None:
    raw = good()
    for example in (0, 1):
        entries(raw, example)[70]["confidence"] = 0.9
    [problem] = Folder(tmp_path).problems(raw, TARGETS, options=Options(strict=True))
    assert (problem.kind, problem.count) == ("not-sorted", 2)


def test_ranking_by_confidence_needs_all_of_them(tmp_path: Path) -> None:
    options = Options(order="confidence")
    problems = Folder(tmp_path).problems(lost_key(3, "confidence"), TARGETS, options=options)
    assert [(p.kind, p.severity) for p in problems] == [("missing-confidence", "error")]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine.json", "official name"),
        ("Ubuntu_subtask_4.json", "dstc7-ubuntu-4"),
        ("Advising_subtask_1_case2.json", "dstc7-advising-1"),
    ],
)
def test_another_name_is_a_warning(name: str, says: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = folder.write(name, good())
    [problem] = validate(path, folder.gold(TARGETS), UBUNTU, Options(strict=True))
    assert (problem.kind, problem.severity) == ("file-name", "warning")
    assert says in problem.message


def test_the_official_name_says_the_track(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = folder.write("Advising_subtask_3_case2.json", good())
    evaluated = evaluate(path, folder.gold("1\tC003,C004\n2\tC005\n"))
    assert evaluated.loaded.track == Track("advising", 3, "case2")
    assert evaluated.warnings == ()
    with pytest.raises(UsageError, match="name the track"):
        evaluate(folder.write("mine.json", good()), folder.gold(TARGETS))


def test_targets_may_come_from_the_dialogues(tmp_path: Path) -> None:
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


def test_scoring_needs_answers() -> None:
    with pytest.raises(UsageError, match="right answers"):
        Gold()


def test_subtask_5_takes_the_files_of_subtask_1(tmp_path: Path) -> None:
    folder, options = Folder(tmp_path), Options(strict=True)
    track = Track("ubuntu", 5)
    assert folder.problems(good(), TARGETS, track, options, dialogues=dialogues()) == []


def test_several_answers_are_worth_set_recall(tmp_path: Path) -> None:
    evaluated = Folder(tmp_path).evaluated(good(), "1\tC003,C004\n2\tC005\n", SEVERAL)
    names = [score.name for score in evaluated.report().scores]
    assert "set_recall@10" in names
    single = Folder(tmp_path).evaluated(good(), TARGETS)
    assert "set_recall@10" not in [score.name for score in single.report().scores]
    assert single.report().metrics["ranking"]["set_recall"]["10"] == 0.5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": "random"}, 'unknown order "random"'),
        ({"metric": "rankings"}, 'did you mean "ranking"'),
        ({"compat": "2019"}, "compat is 2018"),
        ({"coverage": 0}, "above 0"),
        ({"coverage": 1.5}, "at most 1"),
        ({"compat": "2018", "metric": "fscore"}, "F-score"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Options(**options)


def test_probabilities_too_large_to_be_added(tmp_path: Path) -> None:
    raw = submission_of({"1": [(f"C{n}", 1e308) for n in range(10)]})
    options = Options(metric="fscore")
    problems = Folder(tmp_path).problems(raw, "1\tC0\n", options=options)
    assert [(p.kind, p.message) for p in problems] == [
        ("not-a-distribution", "the probabilities add up to inf, not to 1")
    ]
    fscore = Folder(tmp_path).evaluated(raw, "1\tC0\n", options=options).report().metrics["fscore"]
    assert fscore["counts"] == {"selected": 9, "correct_selected": 1, "correct": 1}


def test_a_number_of_too_many_digits_is_located(tmp_path: Path) -> None:
    raw = '[\n {"example-id": ' + "9" * 5000 + ', "candidate-ranking": []}]'
    problems = Folder(tmp_path).problems(raw, "1\tA\n")
    assert [problem.message for problem in problems] == [
        "not valid JSON: line 2, column 17: a number of too many digits"
    ]


def test_repeats_of_2018_do_not_lift_set_recall_above_1(tmp_path: Path) -> None:
    raw = submission_of({"1": "A A B"})
    options = Options(compat="2018")
    report = Folder(tmp_path).evaluated(raw, "1\tA,B\n", SEVERAL, options).report()
    assert report.metrics["ranking"]["set_recall"]["2"] == 0.5
    assert report.metrics["ranking"]["set_recall"]["5"] == 1
