from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mwzeval.errors import DataError
from mwzeval.files.cache import (
    Checksums,
    cache_directory,
    checksums_of,
    combined_fingerprint,
    derive,
    fingerprint,
    remembered_checksums,
)
from mwzeval.version import __version__
from tests.places import ROOT
from tests.waiting import HANGING

VALUE = {"goals": [[1, 2.5, None, "é"], {"hotel": True}], "text": "cheap " * 20}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "source.json", "content")


def written(path: Path, content: str, age: float = 100.0) -> Path:
    path.write_text(content)
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


class Build:
    """Makes a value and counts how often it was asked to."""

    def __init__(self, value: Any = VALUE) -> None:
        self.value = value
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        return self.value


def derived_file(cache: Path, name: str = "test") -> Path:
    (path,) = (cache / "derived").glob(f"{name}-*.json.zst")
    return path


def sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


# Where


def test_the_cache_is_the_users_or_the_one_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MWZEVAL_CACHE", "here")
    assert cache_directory() == tmp_path / "here"
    monkeypatch.setenv("MWZEVAL_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory().name == "mwzeval"
    if sys.platform.startswith("linux"):
        assert cache_directory() == tmp_path / "xdg" / "mwzeval"


# Checksums


@pytest.mark.parametrize("content", [b"", b"x", b"line\r\n" * 500_000])
def test_checksums_are_those_of_sha256sum_and_git(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    expected = Checksums(hashlib.sha256(content).hexdigest(), git)
    assert checksums_of(path) == expected
    assert remembered_checksums(path) == expected
    assert fingerprint(path) == expected.sha256


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    for read in (checksums_of, remembered_checksums, fingerprint):
        with pytest.raises(DataError, match="absent"):
            read(tmp_path / "absent")
        with pytest.raises(DataError, match=tmp_path.name):
            read(tmp_path)


def put_a_lie(cache: Path, source: Path) -> None:
    """Let the memory of `source` claim the content of another file, as if it had been recorded."""
    fingerprint(source)
    (memory,) = (cache / "checksums").iterdir()
    header, entry = memory.read_bytes()[:40], json.loads(memory.read_bytes()[40:])
    entry["sha256"] = "0" * 64
    body = json.dumps(entry).encode()
    digest = hashlib.sha256(os.fsencode(os.path.realpath(source)) + b"\0" + body).digest()
    memory.write_bytes(header[:8] + digest + body)


def test_an_unchanged_file_is_not_read_again(own_cache: Path, source: Path) -> None:
    put_a_lie(own_cache, source)
    assert fingerprint(source) == "0" * 64
    assert checksums_of(source).sha256 == sha256("content")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: written(path, "another, longer"),
        lambda path: written(path, "CONTENT", age=50),
        lambda path: os.utime(path, (1, 1)),
        lambda path: written(path.with_name("new"), "CONTENT").replace(path),
    ],
    ids=["size", "content", "mtime", "inode"],
)
def test_a_changed_file_is_read_again(
    own_cache: Path, source: Path, change: Callable[[Path], Any]
) -> None:
    put_a_lie(own_cache, source)
    change(source)
    assert fingerprint(source) == sha256(source.read_text())


def test_a_change_that_restores_the_modification_time_is_seen(source: Path) -> None:
    before = source.stat()
    assert fingerprint(source) == sha256("content")
    time.sleep(0.02)
    source.write_text("CONTENT")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_mtime_ns == before.st_mtime_ns
    assert fingerprint(source) == sha256("CONTENT")


@pytest.mark.parametrize(("age", "remembered"), [(0.0, 0), (1.5, 0), (2.5, 1), (-50.0, 0)])
def test_a_file_changed_just_now_is_not_remembered(
    own_cache: Path, tmp_path: Path, age: float, remembered: int
) -> None:
    path = written(tmp_path / "racy", "one", age=age)
    assert fingerprint(path) == sha256("one")
    assert len(list((own_cache / "checksums").glob("*"))) == remembered


def test_a_file_rewritten_within_one_timestamp_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "racy"
    path.write_text("one")
    moment = path.stat().st_mtime_ns
    for content in ("one", "two", "six"):
        path.write_text(content)
        os.utime(path, ns=(moment, moment))
        assert fingerprint(path) == sha256(content)


def test_a_damaged_memory_is_not_trusted(own_cache: Path, source: Path) -> None:
    fingerprint(source)
    (memory,) = (own_cache / "checksums").iterdir()
    whole = memory.read_bytes()
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        memory.write_bytes(damaged)
        assert fingerprint(source) == sha256("content")
    memory.write_bytes(whole[:-1])
    assert fingerprint(source) == sha256("content")


def test_a_combined_fingerprint_depends_on_names_and_contents_not_on_order(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a", "one"), written(tmp_path / "b", "two")
    combined = combined_fingerprint({"x": a, "y": b})
    assert len(combined) == 64
    assert combined_fingerprint({"y": b, "x": a}) == combined
    assert combined_fingerprint({"x": b, "y": a}) != combined
    assert combined_fingerprint({"x": a}) != combined
    same = written(tmp_path / "elsewhere", "one")
    assert combined_fingerprint({"x": same, "y": b}) == combined


# Derived data


def test_a_value_is_built_once(own_cache: Path, source: Path) -> None:
    build = Build()
    for _ in range(3):
        assert derive("test", [source], 1, build) == VALUE
    assert build.calls == 1
    compressed = derived_file(own_cache).read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
    assert json.loads(reader.read()) == VALUE


def test_the_first_start_and_the_second_see_the_same(source: Path) -> None:
    build = Build({"pair": (1, 2), "keys": {1: "one"}, "lone": "\ud800"})
    first = derive("test", [source], 1, build)
    assert first == derive("test", [source], 1, build)
    assert first == {"pair": [1, 2], "keys": {"1": "one"}, "lone": "\ud800"}
    with pytest.raises(ValueError, match="JSON"):
        derive("other", [source], 1, Build(float("nan")))


def test_other_sources_revisions_and_names_are_built_anew(tmp_path: Path, source: Path) -> None:
    build = Build()
    other = written(tmp_path / "other", "other")
    for expected, arguments in enumerate(
        [
            ("test", [source], 1),
            ("test", [source], 2),
            ("best", [source], 1),
            ("test", [source, other], 1),
            ("test", [other, source], 1),
        ],
        start=1,
    ):
        derive(*arguments, build)
        assert build.calls == expected
    written(source, "changed")
    derive("test", [source], 1, build)
    assert build.calls == 6


def test_a_source_with_the_same_content_elsewhere_is_a_hit(tmp_path: Path, source: Path) -> None:
    build = Build()
    derive("test", [source], 1, build)
    derive("test", [written(tmp_path / "copy", "content")], 1, build)
    assert build.calls == 1


def test_a_cache_file_that_is_damaged_is_rebuilt(own_cache: Path, source: Path) -> None:
    build = Build()
    derive("test", [source], 1, build)
    path = derived_file(own_cache)
    whole = path.read_bytes()
    damaged = [b"", whole[:39], whole[:-1], whole + b"\0", bytes(len(whole)), whole[40:]]
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        damaged.append(bytes(changed))
    for calls, raw in enumerate(damaged, start=2):
        path.write_bytes(raw)
        assert derive("test", [source], 1, build) == VALUE
        assert build.calls == calls, raw
        assert path.read_bytes() == whole


def test_a_whole_file_under_the_name_of_another_is_rebuilt(own_cache: Path, source: Path) -> None:
    derive("test", [source], 1, Build("old"))
    old = derived_file(own_cache).read_bytes()
    (own_cache / "derived" / derived_file(own_cache).name).unlink()
    derive("test", [source], 2, Build("new"))
    derived_file(own_cache).write_bytes(old)
    assert derive("test", [source], 2, Build("new")) == "new"


def resealed(own_cache: Path, source: Path) -> Path:
    """Put another value into the derived file, with the seal that anybody can make."""
    derive("test", [source], 1, Build())
    path = derived_file(own_cache)
    derive("lie", [source], 1, Build("a lie"))
    body = derived_file(own_cache, "lie").read_bytes()[40:]
    # As documented: sha256 over name, revision, version and the checksums of the sources.
    key = hashlib.sha256(json.dumps(["test", 1, __version__, [sha256("content")]]).encode())
    digest = hashlib.sha256(key.hexdigest().encode() + b"\0" + body).digest()
    path.write_bytes(path.read_bytes()[:8] + digest + body)
    return path


def test_a_file_that_only_its_user_can_write_is_trusted(own_cache: Path, source: Path) -> None:
    """Who can write as the user can do anything; this shows that the lies of below are whole."""
    path = resealed(own_cache, source)
    assert derive("test", [source], 1, Build()) == "a lie"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def by_others(path: Path) -> None:
    path.chmod(0o666)


def by_a_group(path: Path) -> None:
    path.chmod(0o660)


def in_an_open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def from_another_user(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, 12345, -1)


def in_a_folder_of_another_user(path: Path) -> None:
    from_another_user(path.parent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such owners and modes")
@pytest.mark.parametrize(
    ("open_to", "is_folder", "kept"),
    [
        (by_others, False, True),
        (by_a_group, False, True),
        (in_an_open_folder, True, True),
        (from_another_user, False, True),
        (in_a_folder_of_another_user, True, False),
    ],
)
def test_what_others_may_have_written_is_worked_out_anew_and_told_once(
    own_cache: Path,
    source: Path,
    caplog: pytest.LogCaptureFixture,
    open_to: Callable[[Path], None],
    is_folder: bool,
    kept: bool,
) -> None:
    path = resealed(own_cache, source)
    open_to(path)
    with caplog.at_level(logging.WARNING, logger="mwzeval"):
        build = Build()
        for _ in range(2):
            assert derive("test", [source], 1, build) == VALUE
    assert build.calls == (1 if kept else 2)
    (record,) = caplog.records
    assert (path.name in record.getMessage()) != is_folder
    if kept:
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_uid == os.geteuid()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such owners and modes")
def test_a_memory_that_others_may_have_written_is_not_believed(
    own_cache: Path, source: Path
) -> None:
    put_a_lie(own_cache, source)
    (memory,) = (own_cache / "checksums").iterdir()
    memory.chmod(0o622)
    assert fingerprint(source) == sha256("content")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such owners and modes")
def test_a_link_that_others_left_in_an_open_folder_is_not_written_through(
    own_cache: Path, source: Path, tmp_path: Path
) -> None:
    path = resealed(own_cache, source)
    precious = written(tmp_path / "precious", "mine")
    path.unlink()
    path.symlink_to(precious)
    path.parent.chmod(0o777)
    assert derive("test", [source], 1, Build()) == VALUE
    assert precious.read_text() == "mine"
    assert not path.is_symlink()


def test_a_damaged_file_is_told(
    own_cache: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    derive("test", [source], 1, Build())
    derived_file(own_cache).write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING, logger="mwzeval"):
        assert derive("test", [source], 1, Build()) == VALUE
        assert derive("test", [source], 1, Build()) == VALUE
    (record,) = caplog.records
    assert derived_file(own_cache).name in record.getMessage()


def test_a_source_that_changes_while_it_is_read_is_not_kept(own_cache: Path, source: Path) -> None:
    def build() -> str:
        written(source, "meanwhile")
        return "neither"

    assert derive("test", [source], 1, build) == "neither"
    assert list((own_cache / "derived").glob("*")) == []


def test_only_the_three_newest_of_a_name_stay(own_cache: Path, source: Path) -> None:
    derive("test-longer", [source], 1, Build())
    for revision in range(6):
        derive("test", [source], revision, Build())
        for path in (own_cache / "derived").glob("test-[0-9a-f]*"):
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    assert len(list((own_cache / "derived").iterdir())) == 4
    for revision in (3, 4, 5):
        derive("test", [source], revision, kept := Build())
        assert kept.calls == 0
    derive("test-longer", [source], 1, kept := Build())
    assert kept.calls == 0


def test_a_cache_that_cannot_be_written_is_done_without_and_told_once(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = written(tmp_path / "a file where the cache should be", "mine")
    monkeypatch.setenv("MWZEVAL_CACHE", str(blocked / "cache"))
    build = Build()
    with caplog.at_level(logging.WARNING, logger="mwzeval"):
        for _ in range(3):
            assert derive("test", [source], 1, build) == VALUE
    assert build.calls == 3
    assert blocked.read_text() == "mine"
    (record,) = caplog.records
    assert "MWZEVAL_CACHE" in record.getMessage()


def test_a_full_cache_that_became_read_only_is_still_read(own_cache: Path, source: Path) -> None:
    derive("test", [source], 1, Build())
    folders = [own_cache, *(path for path in own_cache.iterdir() if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        derive("test", [source], 1, build := Build())
        derive("test", [source], 2, Build())
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert build.calls == 0


@pytest.mark.integration
def test_many_processes_at_once_all_get_the_value(own_cache: Path, source: Path) -> None:
    code = (
        "from pathlib import Path; from mwzeval.files.cache import derive\n"
        "for revision in range(20):\n"
        f"    value = derive('test', [Path({str(source)!r})], revision, lambda: ['v', revision])\n"
        "    assert value == ['v', revision], value\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(4)]
    assert [process.wait(HANGING) for process in processes] == [0] * 4
    assert not list((own_cache / "derived").glob(".*"))


def test_a_name_that_is_no_file_name_is_refused(source: Path) -> None:
    for name in ("", "../x", "a/b", ".hidden", "A b"):
        with pytest.raises(ValueError, match="file name"):
            derive(name, [source], 1, Build())
