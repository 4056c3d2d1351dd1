"""What is built can be installed on its own and scores the sample from anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import mwzeval
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.version import __version__
from tests.places import ROOT, sample_predictions


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.integration
def test_an_installed_wheel_scores_the_sample_from_an_empty_folder(
    tmp_path: Path, evaluator: Evaluator
) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"mwzeval-{__version__}-py3-none-any.whl"
    content = set(zipfile.ZipFile(wheel).namelist())
    leaderboards = {
        f"mwzeval/data/leaderboards/{file.name}"
        for file in (ROOT / "data" / "leaderboards").iterdir()
    }
    scripts = (ROOT / "mwzeval" / "report" / "page" / "script").iterdir()
    modules = {file.relative_to(ROOT).as_posix() for file in scripts}
    tables = {f"mwzeval/data/{name}.tsv" for name in ("public_files", "live/wordings", "live/cues")}
    assert {"mwzeval/py.typed", *tables, *leaderboards, *modules} <= content
    packages = {name.split("/")[0] for name in content}
    assert packages == {"mwzeval", "mwzeval_multiwoz.py", f"mwzeval-{__version__}.dist-info"}

    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    empty = tmp_path / "empty"
    empty.mkdir()
    quiet = ("--quiet", "--disable-pip-version-check")
    run(programs / "python", "-m", "pip", "install", *quiet, wheel, cwd=empty)

    where = run(programs / "python", "-c", "import mwzeval; print(mwzeval.__file__)", cwd=empty)
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    named = run(programs / "mwzeval", "explain", "--help", cwd=empty).splitlines()[-1]
    pages = Path(named.removeprefix("docs/ is "))
    assert pages.is_relative_to(tmp_path / "venv")
    messages = (ROOT / "tests" / "messages.txt").read_text(encoding="utf-8")
    named_pages = set(re.findall(r"docs/(\w+\.md)", messages))
    assert named_pages
    assert named_pages <= {page.name for page in pages.iterdir()}
    run(programs / "mwzeval", "data", "examples", ".", cwd=empty)
    run(programs / "mwzeval", "evaluate", "-bsrd", "-i", "sample-good.json", cwd=empty)
    report = json.loads((empty / "evaluation_results.json").read_text(encoding="utf-8"))
    expected = evaluator.evaluate(sample_predictions("good")).to_dict()
    for metric in ("bleu", "success", "richness", "dst"):
        assert report[metric] == expected[metric]


def test_the_public_names_are_these() -> None:
    assert " ".join(mwzeval.__all__) == (
        "DataError DependencyError Evaluator InputError MwzevalError PredictedTurn Predictions "
        "Problem Report Reward RewardWeights UsageError __version__"
    )
    for name in mwzeval.__all__:
        assert getattr(mwzeval, name) is not None
