"""Libraries: never replaced in silence by something else, and imported with any setuptools."""

from __future__ import annotations

import marshal
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mwzeval.commands.doctor import PURPOSES
from mwzeval.errors import DependencyError
from mwzeval.libraries import import_without_setuptools, required
from tests.places import ROOT

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["evaluate.py", "-bsr", "-i", {file!r}, "-o", {output!r}]
from mwzeval.cli import main
sys.exit(main(["evaluate", *sys.argv[1:]]))
"""


@pytest.mark.integration
def test_a_missing_library_is_refused_by_name(tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    good = str(ROOT / "predictions" / "sample-good.json")
    program = WITHOUT.format(module="Levenshtein", file=good, output=str(output))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"python-Levenshtein" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not output.exists()


def test_the_command_that_installs_an_extra_is_true_without_an_index() -> None:
    """It is told in one place; the extras are those of the project."""
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


BROKEN = """
import sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pkg_resources", "setuptools"):
            raise {error}(name)
sys.meta_path.insert(0, Broken())
from mwzeval.multiwoz.scoring.richness import tokenize
from mwzeval.crosswoz.corpus.normalization import (words_of)
assert tokenize("``Hello, World") == ("hello", "world")
assert words_of("我想去故宫") == ("我", "想", "去", "故宫")
assert "pkg_resources" not in sys.modules
"""


@pytest.mark.integration
@pytest.mark.parametrize("error", ["ModuleNotFoundError", "AttributeError"])
def test_words_are_cut_without_setuptools_and_with_one_that_breaks(error: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", BROKEN.format(error=error)])
    assert done.returncode == 0


@pytest.mark.integration
def test_chinese_words_are_not_those_of_a_file_that_others_left(tmp_path: Path) -> None:
    # jieba itself believes any file of this name in the folder for temporary files.
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"我想去": 10**9}, 10**9)))
    module = "mwzeval.crosswoz.corpus.normalization"
    program = f"from {module} import words_of; assert len(words_of('我想去')) == 3"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment)
    assert done.returncode == 0


READER = """
import pkg_resources
text = open(pkg_resources.resource_filename("old_package", "words.txt")).read()
stream = pkg_resources.resource_stream(__name__, "words.txt")
"""


def test_a_package_finds_its_files_and_nothing_is_left_behind(
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


def test_a_module_that_is_not_there_is_an_import_error() -> None:
    for name in ("no_such_package.module", "email.no_such_module"):
        with pytest.raises(ModuleNotFoundError, match="no_such"):
            import_without_setuptools(name)
