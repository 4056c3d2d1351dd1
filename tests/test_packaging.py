"""Packaging: dependencies, extras and an installed wheel."""

from __future__ import annotations

import json
import marshal
import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import mwzeval
from mwzeval.commands.doctor import PURPOSES, diagnosis
from mwzeval.errors import DependencyError
from mwzeval.libraries import import_without_setuptools, required
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.version import __version__
from tests.command_lines import Run
from tests.places import GOOD, ROOT, read_json, sample_predictions


def output_of(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def files_in(folder: str) -> list[str]:
    return [file.relative_to(ROOT).as_posix() for file in (ROOT / folder).iterdir()]


@pytest.mark.integration
def test_an_installed_wheel_scores_the_sample_from_an_empty_folder(
    tmp_path: Path, evaluator: Evaluator
) -> None:
    output_of(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"mwzeval-{__version__}-py3-none-any.whl"
    content = set(zipfile.ZipFile(wheel).namelist())
    leaderboards = {f"mwzeval/{file}" for file in files_in("data/leaderboards")}
    scripts = files_in("mwzeval/report/page/script")
    names = ("public_files", "live/wordings", "words/cues")
    tables = {f"mwzeval/data/{name}.tsv" for name in names}
    assert {"mwzeval/py.typed", *tables, *leaderboards, *scripts} <= content
    packages = {name.split("/")[0] for name in content}
    assert packages == {"mwzeval", "mwzeval_multiwoz.py", f"mwzeval-{__version__}.dist-info"}

    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    empty = tmp_path / "empty"
    empty.mkdir()
    quiet = ("--quiet", "--disable-pip-version-check")
    output_of(programs / "python", "-m", "pip", "install", *quiet, wheel, cwd=empty)

    where = output_of(
        programs / "python", "-c", "import mwzeval; print(mwzeval.__file__)", cwd=empty
    )
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    named = output_of(programs / "mwzeval", "explain", "--help", cwd=empty).splitlines()[-1]
    pages = Path(named.removeprefix("docs/ is "))
    assert pages.is_relative_to(tmp_path / "venv")
    messages = (ROOT / "tests" / "messages.txt").read_text(encoding="utf-8")
    named_pages = set(re.findall(r"docs/(\w+\.md)", messages))
    assert named_pages
    assert named_pages <= {page.name for page in pages.iterdir()}
    output_of(programs / "mwzeval", "data", "examples", ".", cwd=empty)
    output_of(programs / "mwzeval", "evaluate", "-bsrd", "-i", "sample-good.json", cwd=empty)
    report = read_json(empty / "evaluation_results.json")
    expected = evaluator.evaluate(sample_predictions("good")).to_dict()
    for metric in ("bleu", "success", "richness", "dst"):
        assert report[metric] == expected[metric]


def test_the_package_exports_exactly_the_public_names() -> None:
    assert " ".join(mwzeval.__all__) == (
        "DataError DependencyError Evaluator InputError MwzevalError PredictedTurn Predictions "
        "Problem Report Reward RewardWeights UsageError __version__"
    )
    assert all(hasattr(mwzeval, name) for name in mwzeval.__all__)


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise {error}(name, name=name)
sys.meta_path.insert(0, Absent())
"""
EVALUATE = """
from mwzeval.cli import main
sys.exit(main(["evaluate", "-bsr", "-i", {file!r}, "-o", {output!r}]))
"""


def start(program: str, *options: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, check=False)


@pytest.mark.integration
def test_errors_name_the_missing_library(tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    without = WITHOUT.format(names=["Levenshtein"], error="ModuleNotFoundError")
    done = start(without + EVALUATE.format(file=GOOD, output=str(output)))
    assert done.returncode == 2
    assert b"python-Levenshtein" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not output.exists()


def test_dependency_errors_name_an_extra_with_a_known_purpose() -> None:
    """Every extra that the code names has a purpose and exists in pyproject.toml."""
    with pytest.raises(DependencyError) as raised:
        required("no_such_module", "neural")
    assert "mwzeval[neural]" in str(raised.value)
    named = {
        extra
        for path in (ROOT / "mwzeval").rglob("*.py")
        for extra in re.findall(r"\brequired\([^()]*?, \"(\w+)\"", path.read_text("utf-8"))
    }
    assert "crosswoz" in named
    assert named <= PURPOSES.keys()


CUTTING = """
from mwzeval.multiwoz.scoring.richness import tokenize
from mwzeval.crosswoz.corpus.normalization import (words_of)
assert tokenize("``Hello, World") == ("hello", "world")
assert words_of("我想去故宫") == ("我", "想", "去", "故宫")
assert "pkg_resources" not in sys.modules
"""


@pytest.mark.integration
@pytest.mark.parametrize("error", ["ModuleNotFoundError", "AttributeError"])
def test_words_are_segmented_without_working_setuptools(error: str) -> None:
    without = WITHOUT.format(names=["pkg_resources", "setuptools"], error=error)
    assert start(without + CUTTING, "-W", "error").returncode == 0


@pytest.mark.integration
def test_chinese_segmentation_ignores_foreign_cache_files(tmp_path: Path) -> None:
    # jieba itself would load any file of this name from the folder for temporary files.
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"我想去": 10**9}, 10**9)))
    module = "mwzeval.crosswoz.corpus.normalization"
    program = f"from {module} import words_of; assert len(words_of('我想去')) == 3"
    assert start(program, TMPDIR=str(tmp_path)).returncode == 0


READER = """
import pkg_resources
text = open(pkg_resources.resource_filename("old_package", "words.txt")).read()
stream = pkg_resources.resource_stream(__name__, "words.txt")
"""


def test_imports_without_setuptools_find_files_and_restore_sys_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "old_package"
    package.mkdir()
    for file, text in {"__init__.py": "", "reader.py": READER, "words.txt": "one two"}.items():
        (package / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    real = ModuleType("pkg_resources")
    for before in (None, real):
        monkeypatch.delitem(sys.modules, "pkg_resources", raising=False)
        if before:
            monkeypatch.setitem(sys.modules, "pkg_resources", before)
        module = import_without_setuptools("old_package.reader")
        with module.stream as stream:
            assert (module.text, stream.read()) == ("one two", b"one two")
        assert import_without_setuptools("old_package.reader") is module
        assert sys.modules.get("pkg_resources") is before
        del sys.modules["old_package.reader"]


def test_missing_modules_raise_module_not_found_error() -> None:
    for name in ("no_such_package.module", "email.no_such_module"):
        with pytest.raises(ModuleNotFoundError, match="no_such"):
            import_without_setuptools(name)


EXTRAS_OF_DEVELOPERS = {"dev", "dev-all", "docs"}


def test_doctor_lists_purpose_and_found_packages_of_every_extra() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    declared = {line.partition(" = ")[0] for line in table.splitlines() if " = [" in line}
    assert set(PURPOSES) == declared - EXTRAS_OF_DEVELOPERS
    extras = {row["extra"]: row for row in diagnosis().plain["extras"]}
    assert list(extras) == list(PURPOSES)
    pytest.importorskip("matplotlib")
    assert extras["plot"]["found"] == f"matplotlib {version('matplotlib')}"
    assert extras["plot"]["missing"] == ""


def test_doctor_reports_missing_and_outdated_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['nowhere>=1; extra == "plot"', 'numpy>=999; extra == "rl"', "numpy>=1"]
    monkeypatch.setattr("mwzeval.commands.doctor.requires", lambda name: lines)
    found = {row["extra"]: row for row in diagnosis().plain["extras"]}
    assert found["plot"]["missing"] == "nowhere"
    assert found["rl"]["missing"] == f"numpy>=999 (not {version('numpy')})"
    assert found["rl"]["found"] == ""
    assert found["neural"]["missing"] == ""


def test_doctor_counts_public_files_of_each_corpus(tmp_path: Path, run: Run) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "hotel_db.json").write_text("[]", encoding="utf-8")
    out = run("doctor", "--data", str(tmp_path), "-f", "json").out
    found = {row["corpus"]: row for row in json.loads(out)["corpora"]}
    assert found["multiwoz-2.4"]["state"] == "1 of 8, 1 differ from the published files"
    assert found["multiwoz-2.4"]["missing"] == "7"
    assert found["pydial"]["state"] == "0 of 6"
