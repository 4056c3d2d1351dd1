"""A person as the user: input, output and endings."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn, TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.acts import Act, Item, parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episode_files import episodes_in
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.play import adapter_for, play_with_human
from mwzeval.pydial.tasks import TASKS
from mwzeval.pydial.users import help_text, menu, typed_act, update_goal, values_text
from tests.command_lines import Run
from tests.examples import examples
from tests.places import ROOT
from tests.pydial.runs import episode, small_run, write_lines

DEMO = load_domain("Demo-CR")
TASK = TASKS["Demo-CR-1"]
ANY_VALUE = DEMO.ontology.informable["kind"][0]
FIRST_OF_MENU = "1\n" * 30


def played(
    text: str | TextIO,
    task: str = TASK.name,
    seed: int = 0,
    policy: str = "handcrafted",
    *,
    legacy: bool = False,
    beliefs: bool = False,
) -> tuple[Trajectory | None, str]:
    """Return the dialogue of a person who types a text, and the output."""
    system = adapter_for(policy, load_domain(TASKS[task].domain), TASKS[task], legacy=legacy)
    typed, shown = io.StringIO(text) if isinstance(text, str) else text, io.StringIO()
    return play_with_human(system, seed, typed, shown, beliefs=beliefs), shown.getvalue()


def finished(text: str | TextIO, task: str = TASK.name, seed: int = 0) -> tuple[Trajectory, str]:
    dialogue, shown = played(text, task, seed)
    assert dialogue is not None
    return dialogue, shown


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-1", "Demo-LAP-1"])
@pytest.mark.parametrize("seed", range(6))
def test_first_menu_option_reaches_the_goal_without_errors(task: str, seed: int) -> None:
    dialogue, shown = finished(FIRST_OF_MENU, task, seed)
    assert dialogue.more["success"]
    assert dialogue.more["reward"] == 20 - dialogue.more["exchanges"]
    goal, table = dialogue.more["final_goal"], load_domain(TASKS[task].domain).table
    name = goal["requests"]["name"]
    assert f"success: {name}" in shown.splitlines()[-1]
    # The rows are scanned here, independently of the code that judged the dialogue.
    assert any(
        all(value in ("dontcare", row[slot]) for slot, _, value in goal["constraints"])
        for row in table.rows
        if row["name"] == name
    )
    assert all(value is not None for value in goal["requests"].values())


def test_play_shows_the_goal_first_and_records_the_dialogue() -> None:
    dialogue, shown = finished(FIRST_OF_MENU)
    about = shown.partition("system> hello()")[0]
    for word in ("your goal", "`bye`", *(slot for slot, _, _ in dialogue.goal["constraints"])):
        assert word in about
    plain = json.loads(dialogue.line())
    assert shown.count(" system> ") == len(plain["acts"]) + 1
    assert [said["said"] for said, _ in plain["acts"]][-1] == "bye()"
    assert all(said["heard"] for said, _ in plain["acts"])
    assert len(plain["acts"]) == plain["exchanges"] == plain["turns"]
    assert (plain["end"], plain["success"]) == ("user_stop", True)


def test_same_seed_and_input_give_the_same_dialogue() -> None:
    first, again, other = (played(FIRST_OF_MENU, "Demo-CR-6", seed) for seed in (3, 3, 4))
    assert first == again != other


def test_dialogue_ends_at_bye_or_the_limit_and_reads_no_more_input() -> None:
    dialogue, _ = finished("bye\n")
    assert (dialogue.more["success"], dialogue.more["exchanges"]) == (False, 1)
    said = io.StringIO("repeat\n" * 40)
    dialogue, _ = finished(said)
    assert (dialogue.more["exchanges"], dialogue.end) == (25, "limit")
    assert said.read() == "repeat\n" * 15


class Interrupted(io.StringIO):
    def readline(self, size: int | None = -1) -> NoReturn:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "said", [io.StringIO(""), io.StringIO("1\n1"), Interrupted()], ids=["eof", "later", "ctrl-c"]
)
def test_leaving_early_gives_no_episode_and_keeps_no_state(said: TextIO) -> None:
    system, shown = adapter_for("handcrafted", DEMO, TASK), io.StringIO()
    assert play_with_human(system, 0, said, shown) is None
    again = play_with_human(system, 0, io.StringIO(FIRST_OF_MENU), io.StringIO())
    assert again is not None
    assert again == played(FIRST_OF_MENU)[0]


def test_invalid_input_is_explained_and_costs_no_exchange() -> None:
    slips = "nonsense(\n99\n?\n? area\n? colour\n\n0\n" + "9" * 5000 + "\n"
    with_slips, shown = finished(slips + FIRST_OF_MENU)
    without, plain = finished(FIRST_OF_MENU)
    assert with_slips == without
    for explanation in ("constraints: ", "area: ", '"colour"'):
        assert explanation in shown
        assert explanation not in plain


def test_beliefs_are_shown_on_request() -> None:
    _, shown = played(FIRST_OF_MENU, "Demo-CR-3", beliefs=True)
    assert "  heard    " in shown
    assert "  method   byconstraints" in shown
    assert "  heard    " not in played(FIRST_OF_MENU, "Demo-CR-3")[1]


@pytest.mark.parametrize(
    ("text", "act"),
    [
        (f'inform(kind="{ANY_VALUE}")', Act("inform", (Item("kind", ANY_VALUE),))),
        (f'INFORM(kind!="{ANY_VALUE.upper()}")', Act("inform", (Item("kind", ANY_VALUE, True),))),
        ("inform(dontcare)", Act("inform", (Item("", "dontcare"),))),
        ("inform(area=dontcare)", Act("inform", (Item("area", "dontcare"),))),
        ("request(phone)", Act("request", (Item("phone"),))),
        (" Bye ", Act("bye")),
        ("yes", Act("affirm")),
        ("null", Act("null")),
        ("null()", Act("null")),
    ],
)
def test_typed_acts_may_be_full_or_abbreviated(text: str, act: Act) -> None:
    assert typed_act(text, DEMO.ontology) == act


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no()", "no"),
        ("infrom(area=north)", '"inform"'),
        ("I want something nice", "inform"),
        ("inform(aera=north)", '"area"'),
        ("inform(area=noorth)", '"north"'),
        ("inform(area)", "area"),
        ("inform(phone=1234)", r"request\(phone\)"),
        ("request", r"request\(\)"),
        ("thankyou(area)", "thankyou"),
        ("inform(type=castle)", '"castle"'),
    ],
)
def test_invalid_acts_are_refused_with_a_suggestion(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        typed_act(text, DEMO.ontology)


def test_help_lists_the_values_of_a_slot() -> None:
    for value in DEMO.ontology.informable["area"]:
        assert value in values_text("area", DEMO.ontology)
    assert "request(phone)" in values_text("phone", DEMO.ontology)


LINES = st.one_of(
    st.text(max_size=12),
    st.integers(0, 15).map(str),
    st.sampled_from(
        (
            "yes\ndeny(area=north)\nnegate(area=south)\nreqalts(area=north)\nack\nconfirm\nnull\n"
            "inform(dontcare)\ninform(name=none)\nrequest(area,phone)\nconfirm(area=north)\nrestart\n"
            'inform(area!="north")\nrequest(name="x",phone)\naffirm(area=north)'
        ).splitlines()
    ),
)


@examples(40)
@given(st.lists(LINES, max_size=60), st.integers(0, 100), st.booleans())
def test_any_input_ends_or_leaves_the_dialogue(lines: list[str], seed: int, legacy: bool) -> None:
    text = "".join(f"{line}\n" for line in lines)
    dialogue, _ = played(text, "Demo-CR-6", seed, legacy=legacy)
    if dialogue is not None:
        assert 1 <= dialogue.more["exchanges"] <= 25


def test_every_menu_option_can_be_typed() -> None:
    goal = Goal([Item("area", "north"), Item("kind", "dontcare")], {"name": None, "phone": None})
    for heard in (
        *("hello()", "request(area)", 'confirm(area="south")', "reqmore()"),
        'select(area="north",area="south")',
        f'inform(name="{DEMO.table.rows[0]["name"]}",area="south")',
    ):
        update_goal(goal, parse_act(heard))
        options = menu(goal, parse_act(heard), ())
        assert len(set(options)) == len(options)
        assert [typed_act(str(option), DEMO.ontology) for option in options] == list(options)


@pytest.mark.parametrize(
    ("heard", "first"),
    [
        ("request(area)", 'inform(area="north")'),
        ("request(colour)", 'inform(colour="dontcare")'),
        ('confirm(area="north")', "affirm()"),
        ('confirm(area="south")', 'negate(area="north")'),
        ('select(area="east",area="south")', 'inform(area="north")'),
        ('inform(name="x",area="south")', 'inform(area="north")'),
        ('inform(name="x",area="north")', "request(phone)"),
        ('inform(name="x",phone="1")', "bye()"),
        ('inform(name=none,kind="rock",area="north")', 'inform(kind="dontcare")'),
        ('inform(name="x",kind="rock")', "request(phone)"),
        ("reqmore()", 'inform(area="north")'),
        ('inform(name=none,area="south")', 'inform(area="north")'),
    ],
)
def test_first_menu_option_answers_the_system_act(heard: str, first: str) -> None:
    goal = Goal([Item("area", "north")], {"name": None, "phone": None})
    update_goal(goal, parse_act(heard))
    assert str(menu(goal, parse_act(heard), {"area"})[0]) == first


def test_menu_lists_unstated_constraints_before_unanswered_requests() -> None:
    goal = Goal([Item("area", "north"), Item("kind", "rock")], {"name": None, "phone": None})
    offer = parse_act('inform(name="x",area="north")')
    update_goal(goal, offer)
    first, second, *_ = map(str, menu(goal, offer, {"area"}))
    assert (first, second) == ('inform(kind="rock")', "request(phone)")


def test_another_offer_resets_all_requests() -> None:
    goal = Goal([Item("area", "north")], {"name": None, "phone": None})
    for text, told in (
        ('inform(name="x",phone="1")', {"name": "x", "phone": "1"}),
        ("inform(name=none)", {"name": "x", "phone": "1"}),
        ('inform(name="x",area="north")', {"name": "x", "phone": "1"}),
        ('inform(name="y")', {"name": "y", "phone": None}),
    ):
        update_goal(goal, parse_act(text))
        assert goal.requests == told


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (job,) = small_run(folder, "gp-sarsa", "Demo-CR-1", dialogues=(30,))
    return job.model_file(folder, 30)


def test_play_accepts_learned_and_random_policies(learned: Path) -> None:
    for policy in ("random", str(learned)):
        dialogue, shown = played(FIRST_OF_MENU, policy=policy)
        assert dialogue is not None
        assert "success" in shown.splitlines()[-1]
        assert played(FIRST_OF_MENU, policy=policy)[0] == dialogue


def test_unknown_damaged_or_mismatched_policies_are_refused(learned: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='"handcrafted"'):
        adapter_for("handcraftd", DEMO, TASK)
    damaged = tmp_path / "model.npz"
    damaged.write_bytes(learned.read_bytes()[:500])
    for model, task, kind in (
        (learned, "Demo-SFR-1", "other-checkpoint"),
        (damaged, TASK.name, "bad-model"),
    ):
        with pytest.raises(InputError) as error:
            played("", task, policy=str(model))
        assert error.value.problems[0].kind == kind


@pytest.mark.parametrize("code", ["CR", "SFR", "LAP"])
def test_examples_in_the_help_are_valid_acts(code: str) -> None:
    ontology = load_domain(f"Demo-{code}").ontology
    texts = re.findall(r"\w+\([^)]*\)", help_text(ontology))
    assert len(texts) == 4
    for text in texts:
        assert typed_act(text, ontology).items
    with pytest.raises(UsageError, match="nice") as error:
        typed_act("something nice", ontology)
    for text in re.findall(r"\w+\(\S+\)", str(error.value)):
        assert typed_act(text, ontology)


def test_play_command_appends_dialogues_to_a_file(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "mine.jsonl"
    call = ["pydial", "play", "Demo-CR-1", "--seed", "3", "-o", str(file)]
    for _ in range(2):
        assert run(*call, stdin=FIRST_OF_MENU.encode()).code == 0
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["dialogue"] for line in lines] == ["Demo-CR-1/3/000000", "Demo-CR-1/3/000001"]
    assert [dialogue.unit for dialogue in episodes_in(file)] == [line["dialogue"] for line in lines]
    assert lines[0]["goal"] != lines[1]["goal"]
    before = file.read_bytes()
    assert run(*call).code == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("Demo-CR-9", '"Demo-CR-9"'),
        ("Demo-CR-1 --seed -1", "-1"),
        ("Demo-CR-1 --policy randon", '"random"'),
        ("Demo-CR-1 -o other.jsonl", "other.jsonl"),
        ("Demo-CR-1 -o plain.jsonl", "without dialogue acts"),
        ("Demo-CR-1 -o .", "directory"),
        ("Demo-CR-1 -o nowhere/a.jsonl", "nowhere"),
        *((f"Demo-CR-1 -o {file}", "added") for file in ("a.jsonl.gz", "-")),
    ],
)
def test_play_command_refuses_invalid_arguments_before_playing(
    arguments: str, told: str, run: Run, elsewhere: Path
) -> None:
    write_lines("other.jsonl", [{"turns": 3}])
    write_lines("plain.jsonl", [episode(0, task="CR-3")])
    refused = run("pydial", "play", *arguments.split())
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err


@pytest.mark.integration
def test_undecodable_input_is_treated_as_invalid_input() -> None:
    command = [sys.executable, "-m", "mwzeval", "pydial", "play", TASK.name, "--seed", "1"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    said = b"\xff\xfe\nbye\n"
    done = subprocess.run(command, input=said, env=environment, cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"you>") == 2


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-CR-6"])
@pytest.mark.parametrize("seed", range(4))
def test_play_shows_the_top_hypothesis_of_each_turn(task: str, seed: int) -> None:
    dialogue, shown = finished(FIRST_OF_MENU, task, seed)
    told = re.findall(r"you>    (understood as .*|\(no act was recognized\))", shown)
    due = []
    for said, _ in json.loads(dialogue.line())["acts"][:-1]:
        act, score = max(said["heard"], key=lambda pair: pair[1])
        understood = f"understood as {act} ({score:.2f})"
        due.append("(no act was recognized)" if act == "null()" else understood)
    assert told == due
