"""Completions are found again for the same request, and never a part of one."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mwzeval.conversation.completions import Completion, FolderCache, request_of, tools_text
from mwzeval.errors import MwzevalError

URL = "http://localhost/v1"
FOUND = Completion({"role": "assistant", "content": "ä\ud800"}, "stop", {"in": 1, "ms": 2})


def test_what_was_kept_is_found_for_this_server_request_and_trial(tmp_path: Path) -> None:
    cache = FolderCache(tmp_path / "new" / "folder", URL)
    cache.put("{}", 1, FOUND)
    assert cache.get("{}", 1) == FOUND
    assert cache.get("{}", 2) is None
    assert cache.get("{} ", 1) is None
    assert FolderCache(tmp_path / "new" / "folder", URL + "2").get("{}", 1) is None
    assert FolderCache(tmp_path / "new" / "folder", URL).get("{}", 1) == FOUND


def test_the_same_request_is_the_same_text() -> None:
    said = {"role": "user", "content": "hi"}
    turned = {"content": "hi", "role": "user", "usage": {"ms": 1}}
    tools = tools_text([{"a": 1, "b": 2}]), tools_text([{"b": 2, "a": 1}])
    first = request_of("m", [said], tools[0], {"x": 1, "y": 2, "z": None})
    assert first == request_of("m", [turned], tools[1], {"y": 2, "x": 1})
    others = [
        request_of("n", [said], tools[0], {"x": 1, "y": 2}),
        request_of("m", [said, said], tools[0], {"x": 1, "y": 2}),
        request_of("m", [said], "", {"x": 1, "y": 2}),
        request_of("m", [said], tools[0], {"x": 1, "y": 3}),
    ]
    assert len({first, *others}) == 5


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", "{}", '{"message": 1, "finish_reason": null, "usage": {}}']
)
def test_what_is_damaged_is_asked_for_again(damaged: str, tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, URL)
    cache.put("{}", 1, FOUND)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(damaged)
    assert cache.get("{}", 1) is None
    cache.put("{}", 1, FOUND)
    assert cache.get("{}", 1) == FOUND


def test_many_threads_write_and_read_at_once(tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, URL)

    def work(number: int) -> Completion | None:
        request = str(number % 7)
        cache.put(request, 1, Completion({"content": request * 5000}, None, {"ms": 1}))
        return cache.get(request, 1)

    with ThreadPoolExecutor(16) as pool:
        for number, found in enumerate(pool.map(work, range(200))):
            assert found is not None
            assert found.message == {"content": str(number % 7) * 5000}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 7


KILLED = """
import resource, signal, sys
from mwzeval.conversation.completions import Completion, FolderCache
folder, url, request = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
FolderCache(folder, url).put(request, 1, Completion({"content": "x" * 1_000_000}, None, {}))
"""
"""Is killed by the system when a tenth of the completion is written."""


@pytest.mark.integration
@pytest.mark.parametrize("request_", ["{}", "new"])
def test_who_is_killed_while_a_completion_is_written_leaves_what_was_there(
    request_: str, tmp_path: Path
) -> None:
    cache = FolderCache(tmp_path, URL)
    cache.put("{}", 1, FOUND)
    command = [sys.executable, "-c", KILLED, str(tmp_path), URL, request_]
    assert subprocess.run(command, check=False).returncode == -signal.SIGXFSZ
    assert cache.get("{}", 1) == FOUND
    assert cache.get("new", 1) is None
    cache.put(request_, 1, FOUND)
    assert cache.get(request_, 1) == FOUND


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MwzevalError, match="file"):
        FolderCache(tmp_path / "file", URL)
