"""Names of conventions of joint goal accuracy, and errors for invalid names."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.tracking import (
    CHOICES,
    FUZZY95,
    KNOWN_CHOICES,
    LAMBDA,
    PRESETS,
    RULES,
    Convention,
    JointGoals,
    parse_rules,
)
from tests.places import ROOT, read_json, shared

CHANGED = {
    choice: st.sampled_from(sorted(values))
    for choice, values in CHOICES.items()
    # TRADE's labels determine this choice.
    if choice != "none"
}
conventions = st.builds(
    Convention.of, st.sampled_from(sorted(PRESETS)), st.fixed_dictionaries({}, optional=CHANGED)
)


def test_every_preset_sets_every_choice() -> None:
    for preset in PRESETS.values():
        assert list(preset) == [*KNOWN_CHOICES]
        assert all(preset[choice] in values for choice, values in CHOICES.items())
    assert (FUZZY95, *PRESETS) == RULES


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("fuzzy95", (True, [])),
        ("exact", (False, ["exact"])),
        ("trade,exact,trade", (False, ["trade", "exact"])),
        (["exact, fuzzy95", "mwz22"], (True, ["exact", "mwz22"])),
        ((), (False, [])),
        ("exact+booking=out+dontcare=absent", (False, ["exact+dontcare=absent+booking=out"])),
        ("exact+booking=out+booking=out", (False, ["exact+booking=out"])),
        ("exact+booking=in", (False, ["exact"])),
        ("exact+lambda=0.50,exact+lambda=1e0", (False, ["exact", "exact+lambda=1"])),
        ("trade-raw,trade-script+lambda=0", (False, ["trade-raw", "trade-script+lambda=0"])),
        ("trade+values=exact+none=value", (False, ["trade+values=exact+none=value"])),
    ],
)
def test_rule_names_are_parsed_into_canonical_conventions(
    names: str, expected: tuple[bool, list[str]]
) -> None:
    fuzzy, found = parse_rules(names)
    assert (fuzzy, [convention.name for convention in found]) == expected


@given(conventions)
def test_the_name_of_a_convention_parses_to_the_convention(convention: Convention) -> None:
    assert parse_rules(convention.name) == (False, (convention,))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("exact+booking=no", ['"no"', "booking", "in, out"]),
        ("exact+slots=30+slots=all", ["slots", "30", "all"]),
        ("trade+none=value", ["none=value", "values=trade,"]),
        ("exact+lambda=-1,exact+lambda=nan", ['"-1"', '"nan"']),
        ("exact+lambda=1+lambda=2", ["lambda", "1", "2"]),
        ("fuzzy95+booking=out", ["exact+values=fuzzy95"]),
        (
            "exct,exact+bookin=out,trade-script+none=value,,exact",
            ['"exct"', '"exact"', '"bookin"', '"booking"', "none=value", '""'],
        ),
    ],
)
def test_all_errors_in_rule_names_are_reported_together(names: str, said: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        parse_rules(names)
    for text in said:
        assert text in str(error.value)


def test_signatures_differ_exactly_in_the_choices_that_differ() -> None:
    found = [
        Convention.of(preset, {choice: value})
        for preset in PRESETS
        for choice, values in CHOICES.items()
        for value in values
    ]
    signed = [(rule, JointGoals(rule, "2021").choices("slot_f1")) for rule in found]
    for (first, signature), (second, other) in combinations(signed, 2):
        for choice in CHOICES:
            assert (signature[choice] == other[choice]) == (first[choice] == second[choice])
        assert (signature == other) == (first == second)


@pytest.mark.parametrize(
    ("rule", "keys"),
    [
        ("exact", {"rules"}),
        ("exact+values=fuzzy95", {"rules", "fuzzy", "levenshtein"}),
        ("trade", set()),
    ],
)
def test_signatures_contain_only_normalisation_used_by_the_convention(
    rule: str, keys: set[str]
) -> None:
    (convention,) = parse_rules(rule)[1]
    goals = JointGoals(convention, "2023")
    assert set(goals.choices("slot_f1")) == {"rule", *CHOICES, *keys}
    of_flexible = {**goals.choices("slot_f1"), LAMBDA: "0.5"}
    assert goals.choices("flexible_goal_accuracy") == of_flexible


PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
MEASUREMENTS = (ROOT / "benchmarks" / "measurements.md").read_text(encoding="utf-8")


def test_documentation_lists_all_choices_and_those_of_each_preset() -> None:
    choices = [f"{choice}={value}" for choice, values in CHOICES.items() for value in values]
    missing = [choice for choice in (*choices, f"{LAMBDA}=0.5") if f"| `{choice}` |" not in PAGE]
    assert not missing
    before, table = PAGE.split("### Presets")[1].split("| preset |")
    header, _, *rows = table.split("\n\n")[0].splitlines()
    listed = [choice.strip() for choice in header.strip("| ").split("|")]
    found = {row.split("`")[1]: row.strip("| ").split(" | ")[1:] for row in rows}
    assert found == {name: [preset[key] for key in listed] for name, preset in PRESETS.items()}
    for preset in PRESETS.values():
        for choice in preset.keys() - set(listed):
            assert f"`{choice}={preset[choice]}`" in before


COLUMNS = ("augpt", "galaxy-e2e", "pptod", "ubar", "damd")


@pytest.mark.integration
@pytest.mark.parametrize("system", COLUMNS)
def test_documented_figures_match_the_current_scores(system: str) -> None:
    lines = PAGE.split("| `--dst-rule` |")[1].split("\n\n")[0].splitlines()[2:]
    table = {line.split("`")[1]: line.split(" | ")[1:] for line in lines}
    data = shared("data", "multiwoz")
    predictions = read_json(data / "predictions" / f"{system}.json")
    report = (
        Evaluator(corpus="multiwoz-2.2", data=data, dst_rules=list(table))
        .evaluate(predictions)
        .to_dict()
    )
    found = {
        rule: scores["joint_goal_accuracy"]["total"] for rule, scores in report["dst_rules"].items()
    }
    found[FUZZY95] = report["dst"]["joint_accuracy"]
    column = COLUMNS.index(system)
    exact = report["dst_rules"]["exact"]
    for line in MEASUREMENTS.split("| score | AuGPT |")[1].split("\n\n")[0].splitlines()[2:]:
        name, scope = ([*line.split("`")[1::2], ""])[:2]
        value = exact[name].get(scope or "total") if isinstance(exact[name], dict) else exact[name]
        assert float(line.split(" | ")[1:][column].strip(" |")) == round(value, 1), line
    shown = {rule: float(figures[column].strip(" |")) for rule, figures in table.items()}
    assert shown == {rule: round(found[rule], 1) for rule in table}
