"""The cache: values belong to the current files, whatever happens to the cache."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from mwzeval.errors import DataError, UsageError
from mwzeval.files import cache
from mwzeval.files.cache import (
    Checksums,
    cache_directory,
    checksums_of,
    combined_fingerprint,
    derive,
    remembered_checksums,
)
from tests.places import ROOT
from tests.waiting import HANGING

VALUE = {"goals": [[1, 2.5, None, "é"], {"hotel": True}], "text": "cheap " * 20}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    cache._warn.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "source.json", "content")


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def with_the_time_of(change: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Return the change, followed by a reset of the modification time."""

    def changed(path: Path) -> None:
        before = path.stat()
        change(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return changed


Build = partial(Mock, return_value=VALUE)
"""Create a function that returns a value and counts its calls."""


def derived_files(folder: Path) -> list[Path]:
    return list((folder / "derived").iterdir())


def test_the_cache_folder_is_the_user_cache_or_the_configured_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MWZEVAL_CACHE", "here")
    assert cache_directory() == tmp_path / "here"
    monkeypatch.setenv("MWZEVAL_CACHE", "~no-such-user/cache")
    with pytest.raises(UsageError, match="no such user"):
        cache_directory()
    monkeypatch.setenv("MWZEVAL_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory().name == "mwzeval"
    if sys.platform.startswith("linux"):
        assert cache_directory() == tmp_path / "xdg" / "mwzeval"


@pytest.mark.parametrize("content", [b"", b"x", b"line\r\n" * 500_000])
def test_checksums_agree_with_sha256sum_and_git(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    expected = Checksums(hashlib.sha256(content).hexdigest(), git)
    for read in (checksums_of, remembered_checksums, remembered_checksums):
        assert read(path) == expected


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    for read in (checksums_of, remembered_checksums):
        for path in (tmp_path / "absent", tmp_path):
            with pytest.raises(DataError, match=path.name):
                read(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: written(path, "another, longer"),
        lambda path: written(path, "CONTENT"),
        with_the_time_of(lambda path: written(path, "CONTENT")),
        lambda path: written(path.with_name("new"), "CONTENT").replace(path),
    ],
    ids=["size", "content", "content with the old modification time", "inode"],
)
def test_checksums_are_recomputed_only_for_changed_files(
    source: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], Any]
) -> None:
    before = checksums_of(source)
    assert remembered_checksums(source) == before
    with monkeypatch.context() as unread:
        unread.setattr(cache, "checksums_of", pytest.fail)
        assert remembered_checksums(source) == before
    time.sleep(0.02)
    change(source)
    assert remembered_checksums(source) == checksums_of(source) != before


def test_combined_fingerprints_depend_on_names_and_contents_not_on_order(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a", "one"), written(tmp_path / "b", "two")
    combined = combined_fingerprint({"x": a, "y": b})
    assert combined_fingerprint({"y": b, "x": a}) == combined
    assert combined_fingerprint({"x": b, "y": a}) != combined
    assert combined_fingerprint({"x": a}) != combined
    same = written(tmp_path / "elsewhere", "one")
    assert combined_fingerprint({"x": same, "y": b}) == combined


def test_built_and_cached_values_are_equal(source: Path) -> None:
    value = {"pair": (1, 2), "keys": {1: "one"}, "lone": "\ud800", "value": VALUE}
    build = Build(return_value=value)
    expected = {"pair": [1, 2], "keys": {"1": "one"}, "lone": "\ud800", "value": VALUE}
    for _ in range(3):
        assert derive("test", [source], 1, build) == expected
    assert build.call_count == 1
    with pytest.raises(ValueError, match="JSON"):
        derive("other", [source], 1, lambda: float("nan"))


def test_changed_sources_revisions_and_names_are_rebuilt(tmp_path: Path, source: Path) -> None:
    build = Build()
    other, copy = written(tmp_path / "other", "other"), written(tmp_path / "copy", "content")
    for calls, name, sources, revision in (
        (1, "test", [source], 1),
        (2, "test", [source], 2),
        (3, "best", [source], 1),
        (4, "test", [source, other], 1),
        (5, "test", [other, source], 1),
        (5, "best", [copy], 1),
        (6, "best", [written(tmp_path / "changed", "changed")], 1),
    ):
        derive(name, sources, revision, build)
        assert build.call_count == calls


def test_damaged_cache_files_are_rebuilt(own_cache: Path, source: Path) -> None:
    build = Build()
    derive("test", [source], 1, build)
    (path,) = derived_files(own_cache)
    whole = path.read_bytes()
    for damaged in (b"", whole[:39], whole[:-1], bytes(len(whole)), whole[40:]):
        path.write_bytes(damaged)
        assert derive("test", [source], 1, build) == VALUE
        assert path.read_bytes() == whole
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        assert derive("test", [source], 1, build) == VALUE


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file owners and modes")
@pytest.mark.parametrize("mode", [0o777, 0o770, None])
def test_insecure_cache_folders_are_ignored_with_one_warning(
    own_cache: Path, source: Path, caplog: pytest.LogCaptureFixture, mode: int | None
) -> None:
    derive("test", [source], 1, lambda: "a lie")
    folder = own_cache / "derived"
    assert folder.stat().st_mode & 0o777 == 0o700
    if mode is not None:
        folder.chmod(mode)
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        pytest.skip("only root can change the owner of a file")
    with caplog.at_level(logging.WARNING, logger="mwzeval"):
        for _ in range(2):
            assert derive("test", [source], 1, Build()) == VALUE
    (record,) = caplog.records
    assert str(folder) in record.getMessage()


def test_values_of_sources_changed_during_the_build_are_not_cached(
    own_cache: Path, source: Path
) -> None:
    def build() -> str:
        written(source, "meanwhile")
        return "neither"

    assert derive("test", [source], 1, build) == "neither"
    assert not (own_cache / "derived").exists()


def test_only_the_three_newest_cache_files_per_name_are_kept(own_cache: Path, source: Path) -> None:
    derive("test-longer", [source], 1, Build())
    for revision in range(6):
        derive("test", [source], revision, Build())
        for path in (own_cache / "derived").glob("test-[0-9a-f]*"):
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    assert len(derived_files(own_cache)) == 4
    for name, revision in (("test", 3), ("test", 4), ("test", 5), ("test-longer", 1)):
        derive(name, [source], revision, kept := Build())
        assert kept.call_count == 0


def test_an_unwritable_cache_is_skipped_with_one_warning(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = written(tmp_path / "a file where the cache should be", "mine")
    monkeypatch.setenv("MWZEVAL_CACHE", str(blocked / "cache"))
    build = Build()
    with caplog.at_level(logging.WARNING, logger="mwzeval"):
        for _ in range(3):
            assert derive("test", [source], 1, build) == VALUE
    assert build.call_count == 3
    assert blocked.read_text() == "mine"
    (record,) = caplog.records
    assert "MWZEVAL_CACHE" in record.getMessage()


@pytest.mark.integration
def test_concurrent_processes_all_get_the_cached_value(own_cache: Path, source: Path) -> None:
    code = (
        "from pathlib import Path; from mwzeval.files.cache import derive\n"
        "for revision in range(20):\n"
        f"    value = derive('test', [Path({str(source)!r})], revision, lambda: ['v', revision])\n"
        "    assert value == ['v', revision], value\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(4)]
    assert [process.wait(HANGING) for process in processes] == [0] * 4
    assert not list((own_cache / "derived").glob(".*"))
