"""Files of arrays: the same bytes for the same arrays, and nothing else is loaded."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from mwzeval.errors import InputError
from mwzeval.neural.state import read_arrays, write_arrays

ARRAYS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3).T, "a": np.array(7, dtype=np.int64)}
ABOUT = {"名称": ["甲"], "n": 1}


@pytest.fixture(autouse=True)
def needed() -> None:
    pytest.importorskip("safetensors")


def test_arrays_and_what_is_said_of_them_come_back(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    write_arrays(file, "thing", ARRAYS, ABOUT)
    arrays, about = read_arrays(file, "thing")
    assert about == ABOUT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    again = tmp_path / "y.safetensors"
    write_arrays(again, "thing", dict(reversed(ARRAYS.items())), ABOUT)
    assert again.read_bytes() == file.read_bytes()


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Trap()),
        b"PK\x03\x04 a torch archive",
        b"",
        b"\x10\0\0\0\0\0\0\0{}",
        None,
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_arrays(file, "thing")
    assert error.value.problems[0].file == str(file)


def test_a_file_of_another_kind_or_cut_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    write_arrays(file, "thing", ARRAYS, ABOUT)
    with pytest.raises(InputError, match=r"other .*thing"):
        read_arrays(file, "other")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match="safetensors"):
        read_arrays(file, "thing")
