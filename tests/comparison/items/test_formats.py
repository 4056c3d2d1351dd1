"""Result files of inspect_ai, tau-bench and lm-evaluation-harness.

inspect_ai itself wrote the logs (see `make_logs.py`).
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.comparison.items import Columns, is_log, read_items
from mwzeval.errors import InputError
from mwzeval.files.reading import read_zip
from mwzeval.metrics.measure import ScoredTable
from tests.places import shared, write_json
from tests.tables import named, present

LOGS = Path(__file__).with_name("inspect_logs")
with_inspect = pytest.mark.skipif(sys.version_info < (3, 11), reason="inspect_ai needs Python 3.11")


def read(file: Path | str, **asked: Any) -> ScoredTable:
    return read_items([str(file)], Columns(**asked)).scored[str(file)]


def values(scored: ScoredTable) -> dict[str, Any]:
    return {score.name: (pytest.approx(score.value), score.n) for score in scored.scores()}


def test_inspect_ai_log_scores_match_hand_computed_means() -> None:
    """The outcomes are `11 10 00 01 10 00 11 10`; trial 14 failed, trial 15 has no closeness."""
    scored, plain = read(LOGS / "weak.eval"), read(LOGS / "weak.json")
    assert scored.table.units == plain.table.units == tuple(f"q{n}" for n in range(1, 9))
    assert np.array_equal(scored.table.values, plain.table.values)
    means = [1, 0.5, 0, 0.5, 0.5, 0, 1, 0.5]
    close = [1, 0.625, 0.25, 0.625, 0.625, 0.25, 1, 0.25]
    assert values(scored) == {
        "match": (100 * np.mean(means), 8),
        "pass^1": (100 * np.mean(means), 8),
        "pass^2": (100 / 7, 7),
        "flips^2": (400 / 7, 7),
        "of_answers.closeness": (np.mean(close), 8),
        "of_answers.words": (100, 8),
    }
    # inspect_ai reports the same means, because it also averages over epochs.
    log = json.loads((LOGS / "weak.json").read_text("utf-8"))
    published = {
        score["name"]: metric["value"]
        for score in log["results"]["scores"]
        for name, metric in score["metrics"].items()
        if name in ("accuracy", "mean")
    }
    assert published["match"] == pytest.approx(np.mean(means))
    assert published["closeness"] == pytest.approx(np.mean(close))


def by_its_own_reader(file: Path) -> dict[str, dict[str, float]]:
    """Return score → sample → mean over the epochs, read with inspect_ai's own reader."""
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    trials: dict[str, dict[str, list[float]]] = {}
    for sample in read_eval_log(str(file)).samples or ():
        for scorer, score in {} if sample.error else (sample.scores or {}).items():
            parts = score.value if isinstance(score.value, dict) else {"": score.value}
            for key, value in parts.items():
                of_score = trials.setdefault(f"{scorer}.{key}".strip("."), {})
                if not math.isnan(number := value_to_float()(value)):
                    of_score.setdefault(str(sample.id), []).append(number)
    return {
        score: {item: float(np.mean(numbers)) for item, numbers in items.items()}
        for score, items in trials.items()
    }


def check_against_its_own_reader(file: Path) -> None:
    scored = read(file)
    outcomes = {"match", "of_answers.words"}
    for score, items in by_its_own_reader(file).items():
        of_items = dict(zip(scored.table.units, scored.table.column(score), strict=True))
        assert {item: of_items[item] for item in items} == pytest.approx(items), score
        scale = 100 if score in outcomes else 1
        assert named(scored.scores(), score).value == pytest.approx(
            scale * np.mean(list(items.values()))
        )


@with_inspect
@pytest.mark.integration
def test_stored_logs_are_read_like_inspect_ai_reads_them() -> None:
    for file in ("weak.eval", "weak.json", "strong.eval"):
        check_against_its_own_reader(LOGS / file)


@with_inspect
@pytest.mark.slow
def test_newly_written_logs_are_read_like_inspect_ai_reads_them(tmp_path: Path) -> None:
    write_logs = Path(__file__).with_name("make_logs.py")
    subprocess.run([sys.executable, str(write_logs), str(tmp_path)], check=True, timeout=120)
    for file in sorted(tmp_path.iterdir()):
        check_against_its_own_reader(file)
        stored = read(LOGS / file.name)
        assert np.array_equal(read(file).table.values, stored.table.values)


def archive(file: Path, **contents: bytes | str) -> Path:
    """Write an archive with deflate, the compression of older versions."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in contents.items():
            written.writestr(name, content)
    return file


def test_logs_of_incomplete_runs_are_read_from_the_journal_or_rejected(tmp_path: Path) -> None:
    journal = read_zip(LOGS / "weak.eval", ["_journal/summaries/1.json"])
    killed = archive(tmp_path / "killed.eval", **journal)
    assert values(read(killed)) == values(read(LOGS / "weak.eval"))
    log = json.loads((LOGS / "weak.json").read_text("utf-8"))
    for file in (
        archive(tmp_path / "other.eval", **{"data.json": "{}"}),
        archive(tmp_path / "none.eval", **{"summaries.json": "[]", "header.json": "{}"}),
        Path(write_json(tmp_path / "none.json", {**log, "samples": []})),
    ):
        with pytest.raises(InputError, match=file.name):
            read(file)


@pytest.mark.integration
@with_inspect
def test_truncated_summary_metadata_is_not_used_for_clusters(tmp_path: Path) -> None:
    """inspect_ai truncates long metadata in summaries, which makes different texts equal."""
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(LOGS / "weak.eval"))
    for sample in log.samples or ():
        alike = "word " * 400 + str(sample.metadata["text"])
        sample.metadata |= {"long": alike, "parts": [alike], "url": "x" * 2000, "gaps": "a  b\n"}
    files = [tmp_path / f"log.{ending}" for ending in ("eval", "json")]
    for file in files:
        write_eval_log(log, str(file))
    for column in ("long", "parts", "url"):
        with pytest.raises(InputError, match=r'"q1", epoch 1'):
            read(files[0], cluster=f"metadata.{column}")
    clusters = read_items([str(files[1])], Columns(cluster="metadata.long")).clusters
    assert len(set(present(clusters).values())) == 3
    both = read_items([str(file) for file in files], Columns(cluster="metadata.gaps"))
    assert set(present(both.clusters).values()) == {"a b"}


@pytest.mark.parametrize("at", [0, 600])
def test_damaged_logs_are_errors_that_name_the_file(tmp_path: Path, at: int) -> None:
    """The damaged bytes are before or inside the summaries."""
    raw = bytearray((LOGS / "weak.eval").read_bytes())
    with zipfile.ZipFile(LOGS / "weak.eval") as archive:
        at += archive.getinfo("summaries.json").header_offset + 26
    raw[at : at + 20] = bytes(20)
    file = tmp_path / "damaged.eval"
    for damaged in (raw, raw[: at - 26]):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged\.eval"):
            read(file)


@pytest.mark.integration
def test_tau_bench_rewards_give_published_scores_in_both_formats(tmp_path: Path) -> None:
    table = shared("data", "agents", "tau_bench_gpt-4o_airline_rewards.tsv")
    attempts = [
        {"task_id": int(task), "reward": reward, "info": {}, "traj": [], "trial": int(trial)}
        for task, trial, reward in np.loadtxt(table, skiprows=1)
    ]
    file = write_json(tmp_path / "gpt-4o-airline.json", attempts)
    assert is_log(file)
    published = {"pass^1": 42.0, "pass^2": 27.3, "pass^3": 22.0, "pass^4": 20.0}
    for path in (file, str(table)):
        found = {score.name: round(score.value, 1) for score in read(path).scores()}
        assert {name: found[name] for name in published} == published


def test_tau2_bench_simulations_are_read(tmp_path: Path) -> None:
    ends = [
        *((0, 0, "user_stop", 1.0), (0, 1, "TerminationReason.AGENT_STOP", 0.0)),
        *((1, 0, "infrastructure_error", 0.0), (1, 1, "max_steps", 1.0), (2, 0, "user_stop", None)),
    ]
    simulations = [
        {
            "id": f"{task}-{trial}",
            "task_id": str(task),
            "trial": trial,
            "termination_reason": end,
            "reward_info": None if reward is None else {"reward": reward},
            "agent_cost": 0.5,
        }
        for task, trial, end, reward in ends
    ]
    file = write_json(tmp_path / "run.json", {"info": {}, "tasks": [], "simulations": simulations})
    items = read_items([file])
    assert is_log(file)
    assert values(items.scored[file])["reward"] == (75, 2)
    assert [warning.count for warning in items.warnings[file]] == [1, 2]
    assert values(read(file, scores=("agent_cost",)))["agent_cost"] == (0.5, 3)

    # Trials without a number are numbered by their order.
    rewards = [(task, {"reward": reward}) for task, reward in ((0, 1), (0, 0), (1, 1))]
    tau = [{"task_id": task, **reward, "traj": []} for task, reward in rewards]
    tau2 = [{"task_id": task, "trial": None, "reward_info": reward} for task, reward in rewards]
    for unnumbered in (tau, {"simulations": tau2}):
        assert values(read(write_json(tmp_path / "tau.json", unnumbered)))["reward"] == (75, 2)


def harness_file(path: Path, *samples: dict[str, Any]) -> Path:
    lines = []
    for sample in samples:
        doc = {"question": "?", "passage": f"p{sample['doc_id'] // 2}"}
        lines.append({"doc": doc, "resps": [["4"]], "doc_hash": "0", **sample})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_lm_evaluation_harness_samples_are_read(tmp_path: Path) -> None:
    samples = (
        {"doc_id": doc, "filter": name, "exact_match": float(right), "bleu": ["a", "b"]}
        | {"metrics": ["exact_match", "bleu"]}
        for name, rights in (("strict-match", "0110"), ("flexible-extract", "1110"))
        for doc, right in enumerate(rights)
    )
    file = harness_file(tmp_path / "samples_sums.jsonl", *samples)
    assert values(read(file)) == {
        "exact_match,strict-match": (50, 4),
        "exact_match,flexible-extract": (75, 4),
    }
    items = read_items([str(file)], Columns(cluster="doc.passage"))
    assert items.clusters == {"0": "p0", "1": "p0", "2": "p1", "3": "p1"}

    # A score of all documents together (BLEU) is omitted.
    (warning,) = items.warnings[str(file)]
    assert warning.message.startswith("bleu ")
    assert warning.count == 8

    # Older versions did not list the metrics.
    older = {"filter": "none", "acc": 1.0, "target": 3, "acc_norm": 0}
    file = harness_file(tmp_path / "older.jsonl", *({"doc_id": n, **older} for n in range(3)))
    items = read_items([str(file)])
    assert [score.name for score in items.scored[str(file)].scores()] == ["acc", "acc_norm"]
