"""Every reader of every benchmark reads damaged files in a process with limits.

An unreadable file must cause an error that names the file, with exit code 2, within 20 CPU seconds
and 1 GB, and nothing may be written. A new reader needs a new row in `READERS`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import zstandard

from mwzeval.cli import main
from mwzeval.pydial.job import Job
from tests import fuzzing_child
from tests.places import ROOT
from tests.pydial.runs import run_job

EACH = int(os.environ.get("MWZEVAL_FUZZING", "27"))
"""Damaged files for each reader."""

PYTHON = re.compile(
    r"Traceback|codec can't|set_int_max|object is not|object has no|NoneType|indices must be|"
    r"\b(Type|Value|Key|Index|Attribute|Lookup|Overflow|Recursion|Unicode\w+)Error\b|"
    r"maximum recursion|unhashable|could not convert|invalid literal|while decompressing"
)
"""Patterns of messages that Python prints and mwzeval never does."""

GOOD = "predictions/sample-good.json"
SAMPLE = "evaluate -bsrd -q --corpus sample"
CORPUS = "evaluate -bsrd -q --data data/sample --corpus"
"""The sample is given as `--data`, because the corpus name "sample" means the embedded copy."""
CROSSWOZ = "evaluate --benchmark crosswoz -q"
UBUNTU = "evaluate --benchmark dstc7-ubuntu-1 -q"
OVERLAP = "predictions/dstc7-overlap/Ubuntu_subtask_1.json"
TARGETS = "data/dstc7/ubuntu_responses_subtask_1.tsv"
DIALOGUES = "data/dstc7/ubuntu_test_subtask_1.json"
RANK = "dstc7 predict --baseline tfidf -o OUT/Ubuntu_subtask"
SIMULATE = "crosswoz simulate -q --level text --per-type 1 --revision sample -o OUT/log.jsonl"


class Reader(NamedTuple):
    """A file of the repository, a command that reads it, and its preparation.

    In the command, FILE is the file, OUT an empty folder, and other paths belong to a copy of the
    repository's data. `place` is the path of the file in that copy (None: the same path).
    `surround` writes further required files before each call. An error may also name `other`, a
    file that is inconsistent with the damaged file.
    """

    file: str
    command: str
    prepare: Callable[[bytes], bytes] = bytes
    place: str | None = None
    surround: Callable[[Path], None] | None = None
    other: str | None = None


def as_lines(raw: bytes) -> bytes:
    return "\n".join(
        json.dumps({"dialogue": name, "turns": turns}) for name, turns in json.loads(raw).items()
    ).encode()


def zipped(name: str) -> Callable[[bytes], bytes]:
    def pack(raw: bytes) -> bytes:
        archive = io.BytesIO()
        with ZipFile(archive, "w", ZIP_DEFLATED) as members:
            members.writestr(name, raw)
        return archive.getvalue()

    return pack


def always(content: bytes) -> Callable[[bytes], bytes]:
    return lambda raw: content


RUN_FILE = b"1 Q0 A 1 0.5 x\n1 Q0 B 2 0.25 x\n2 Q0 C 1 0.1 x\n"
QRELS = b"1 0 A 1\n1 0 B 0\n2 0 NONE 1\n"
EPISODE = b"""\
{"task": "Demo-CR-1", "seed": 1, "dialogue": 0, "success": true, "exchanges": 4, "reward": 16.0}
{"task": "Demo-CR-1", "seed": 1, "dialogue": 1, "success": false, "exchanges": 25, "reward": -25}
"""


DEMO = "data/pydial/demo"
RUN = "data/run"


def as_database(raw: bytes) -> bytes:
    rows = json.loads(raw)
    columns, marks = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
    with TemporaryDirectory() as folder:
        file = Path(folder, "own.db")
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(f"CREATE TABLE CamRestaurants ({columns})")
            values = [tuple(row.values()) for row in rows]
            database.executemany(f"INSERT INTO CamRestaurants VALUES ({marks})", values)
        return file.read_bytes()


def as_learned(name: str) -> Callable[[bytes], bytes]:
    def learn(raw: bytes) -> bytes:
        job = Job("Demo-CR-1", "gp-sarsa", 0, (2,), tests=1)
        with TemporaryDirectory() as folder:
            run_job(job, folder)
            return (job.folder(folder) / name).read_bytes()

    return learn


def as_live(agent: str, level: str = "words") -> Callable[[bytes], bytes]:
    def hold(raw: bytes) -> bytes:
        with TemporaryDirectory() as folder:
            file = Path(folder, "live.jsonl")
            goals = ("--corpus", "sample", "--goals", "corpus:test:3", "-q")
            assert main(["live", "--agent", agent, "--level", level, *goals, "-o", str(file)]) == 0
            return file.read_bytes()

    return hold


def with_domain(place: Path) -> None:
    """Copy the undamaged file of a domain (ontology or entities) next to the damaged file."""
    for name in ("ontology/DemoGardens-rules.json", "db/DemoGardens-entities.json"):
        other = place.parents[1] / name.replace("DemoGardens", "CamRestaurants")
        if other.parent != place.parent:
            other.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / DEMO / name, other)


def with_test(place: Path) -> None:
    """Add the complete test of another seed to the run."""
    run = next(folder for folder in place.parents if folder.name == "run")
    other = run / "Demo-CR-1/handcrafted/seed-1/test-000000.jsonl"
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(EPISODE)


DATA_2_1 = "data/sample/data/MultiWOZ_2.1/data.json"
DATA_2_2 = "data/sample/data/MultiWOZ_2.2"
IN_2_1, IN_2_2 = (f"{CORPUS} multiwoz-{version} {GOOD} -o OUT/o.json" for version in ("2.1", "2.2"))
PREDICTIONS = f"{SAMPLE} FILE -o OUT/o.json"
OF_CROSSWOZ = "predictions/crosswoz-sample"
TEMPLATES = "data/crosswoz/templates/manual_user_template_nlg.json"
OWN_DOMAIN = "pydial play CR-1 --seed 1 --data data/own"

READERS: dict[str, Reader] = {
    "predictions": Reader(GOOD, PREDICTIONS),
    "predictions in lines": Reader(GOOD, PREDICTIONS, as_lines, "p.jsonl"),
    "packed predictions": Reader(GOOD, PREDICTIONS, zstandard.compress, "p.json.zst"),
    "a shard": Reader(GOOD, "shards -bsd --corpus sample FILE -o OUT/o.json", as_lines, "p.jsonl"),
    "a baseline": Reader(
        GOOD, f"{SAMPLE} predictions/sample-no-phone.json --fail-below FILE -o OUT/o.json"
    ),
    "responses in words": Reader(
        "predictions/sample-lexicalized.json",
        "delexicalize --corpus sample FILE -o OUT/o.json --mentions OUT/m.jsonl",
    ),
    "a venue table": Reader("data/sample/db/hotel_db.json", IN_2_2),
    "dialogues of 2.2": Reader(f"{DATA_2_2}/test/dialogues_001.json", IN_2_2),
    "acts of 2.2": Reader(f"{DATA_2_2}/dialog_acts.json", IN_2_2),
    "references": Reader(
        GOOD, f"{IN_2_2} --references own", place="data/sample/references/own.json"
    ),
    "live dialogues": Reader(GOOD, PREDICTIONS, as_live("rule"), "live.jsonl"),
    "live dialogues in acts": Reader(
        GOOD, PREDICTIONS, as_live("rule-convlab", "acts"), "live.jsonl"
    ),
    "data.json": Reader(DATA_2_1, IN_2_1),
    "data.json.zip": Reader(DATA_2_1, IN_2_1, zipped("data.json"), f"{DATA_2_1}.zip"),
    "CrossWOZ states": Reader(f"{OF_CROSSWOZ}-dst.json", f"{CROSSWOZ} FILE -o OUT/o"),
    "CrossWOZ acts": Reader(f"{OF_CROSSWOZ}-nlu.json", f"{CROSSWOZ} FILE -o OUT/o"),
    "CrossWOZ systems": Reader(f"{OF_CROSSWOZ}-e2e.json", f"{CROSSWOZ} FILE -o OUT/o"),
    "CrossWOZ simulations": Reader(f"{OF_CROSSWOZ}-simulation.jsonl", f"{CROSSWOZ} FILE -o OUT/o"),
    "CrossWOZ templates": Reader(TEMPLATES, f"{SIMULATE} --templates data/crosswoz/templates"),
    "CrossWOZ templates in a zip": Reader(
        TEMPLATES,
        f"{SIMULATE} --templates FILE",
        zipped("manual_user_template_nlg.json"),
        "t.zip",
    ),
    "a CrossWOZ corpus": Reader(
        "data/crosswoz/sample/test.json",
        f"{CROSSWOZ} {OF_CROSSWOZ}-dst.json --data data/crosswoz/sample -o OUT/o",
    ),
    "a CrossWOZ table": Reader(
        "data/crosswoz/sample/database/hotel_db.json", f"{SIMULATE} --data data/crosswoz/sample"
    ),
    "a submission": Reader(OVERLAP, f"{UBUNTU} FILE --targets {TARGETS} -o OUT/o"),
    "targets": Reader(TARGETS, f"{UBUNTU} {OVERLAP} --targets FILE -o OUT/o"),
    "DSTC7 dialogues": Reader(
        DIALOGUES, f"{UBUNTU} {OVERLAP} --targets {TARGETS} --dialogues FILE -o OUT/o"
    ),
    "DSTC7 dialogues to rank": Reader(DIALOGUES, f"{RANK}_1.json FILE"),
    "a pool": Reader(
        "data/dstc7/ubuntu_subtask_2_candidates.tsv",
        f"{RANK}_2.json data/dstc7/ubuntu_test_subtask_2.json --pool FILE",
    ),
    "man pages": Reader(
        "data/dstc7/man_pages.jsonl", f"{RANK}_5.json {DIALOGUES} --knowledge FILE"
    ),
    "courses": Reader(
        "data/dstc7/course-info.json",
        "dstc7 predict --baseline tfidf data/dstc7/advising_test_subtask_1.json "
        "--knowledge FILE -o OUT/Advising_subtask_5_case1.json",
    ),
    "a run": Reader(
        TARGETS, "dstc7 convert FILE --to submission -o OUT/o", always(RUN_FILE), "run.txt"
    ),
    "qrels": Reader(
        TARGETS, "dstc7 convert FILE --to targets -o OUT/o", always(QRELS), "qrels.txt"
    ),
    "episodes": Reader(
        GOOD, "evaluate --benchmark pydial -q FILE -o OUT/o", always(EPISODE), "e.jsonl"
    ),
    "an ontology": Reader(
        f"{DEMO}/ontology/DemoGardens-rules.json",
        OWN_DOMAIN,
        place="data/own/ontology/CamRestaurants-rules.json",
        surround=with_domain,
        other="CamRestaurants-entities",
    ),
    "entities": Reader(
        f"{DEMO}/db/DemoGardens-entities.json",
        OWN_DOMAIN,
        place="data/own/db/CamRestaurants-entities.json",
        surround=with_domain,
    ),
    "entities in SQLite": Reader(
        f"{DEMO}/db/DemoGardens-entities.json",
        OWN_DOMAIN,
        as_database,
        "data/own/db/CamRestaurants-dbase.db",
        with_domain,
    ),
    "tests of a run": Reader(
        GOOD,
        f"pydial table {RUN}",
        always(EPISODE.replace(b'"seed": 1', b'"seed": 0')),
        f"{RUN}/Demo-CR-1/handcrafted/seed-0/test-000000.jsonl",
        with_test,
    ),
    "settings of a run": Reader(
        GOOD,
        f"pydial table {RUN}",
        always(b'{"format": 4, "tests": 2, "legacy": false}'),
        f"{RUN}/run.json",
        with_test,
    ),
    "a learned policy": Reader(
        GOOD,
        "pydial play Demo-CR-1 --seed 1 --policy FILE",
        as_learned("model-000002.safetensors"),
        "policy.safetensors",
    ),
    "a tagger": Reader(
        "data/crosswoz/sample/test.json",
        "crosswoz nlu predict FILE --revision sample -o OUT/o",
        place="nlu.safetensors",
    ),
    "a tracker": Reader(
        "data/crosswoz/sample/test.json",
        "crosswoz dst predict FILE --revision sample -o OUT/o",
        place="trade.safetensors",
    ),
}


@pytest.fixture(scope="module")
def child() -> Iterator[Callable[[list[str], Path], dict[str, Any]]]:
    with subprocess.Popen(
        [sys.executable, "-m", fuzzing_child.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout

        def ask(call: list[str], heard: Path) -> dict[str, Any]:
            print(json.dumps({"call": call, "heard": str(heard)}), file=asked, flush=True)
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer

        yield ask
        asked.close()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for folder in ("data", "predictions"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def call_of(reader: Reader, world: Path, out: Path) -> list[str]:
    file = world / (reader.place or reader.file)
    words = reader.command.replace("FILE", str(file)).split()
    words = [str(world / w) if w.startswith(("data/", "predictions/")) else w for w in words]
    return [word.replace("OUT", str(out)) for word in words]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")
@pytest.mark.parametrize("name", READERS)
@pytest.mark.integration
def test_damaged_files_cause_an_error_with_a_location(
    name: str, child: Callable[[list[str], Path], dict[str, Any]], world: Path
) -> None:
    reader = READERS[name]
    whole = reader.prepare((world / reader.file).read_bytes())
    place = world / (reader.place or reader.file)
    names = [name for name in (place.stem, place.parent.name, reader.other) if name]
    if reader.place is not None and reader.place.endswith("data.json.zip"):
        (world / reader.file).unlink()
    rng = Random(name)
    out, heard = world / "out", world / "heard"
    wrong: dict[str, str] = {}
    for number in range(EACH + len(SPECIAL)):
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            place.rmdir()
        place.parent.mkdir(parents=True, exist_ok=True)
        if reader.surround is not None:
            reader.surround(place)
        if number < EACH:
            mutate = MUTATIONS[number % len(MUTATIONS)]
            what = f"{number} ({mutate.__name__})"
            place.write_bytes(mutate(whole, rng))
        else:
            what = SPECIAL[number - EACH]
            place.write_bytes(whole)
            special(place, what)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        answer = child(call_of(reader, world, out), heard)
        if answer["code"] == 0 or (answer["code"] == 1 and answer["said"].startswith("failed: ")):
            continue  # the damage is harmless or only lowers scores
        # A prompt may be printed before the error.
        said: str = answer["said"]
        faults = [
            *([f"exit code {answer['code']}"] if answer["code"] != 2 else []),
            *(["a message of Python"] if PYTHON.search(said) else []),
            *(["no error"] if "error: " not in said else []),
            *(["no place"] if not any(name in said for name in names) else []),
            *[f"{path.name} is written" for path in out.iterdir()],
        ]
        if faults:
            wrong[what] = f"{', '.join(faults)}: {said.strip()[-400:]}"
    assert not wrong, "\n\n".join(f"{what}: {fault}" for what, fault in wrong.items())


VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 10**400, "", " ", "x", "\ud800", "\u202e\x1b[31m"),
    *([], {}, [[]], {"": {}}, [None], ["x", 1], {"x": [1]}, "0" * 5000),
)
NOT_JSON = ("NaN", "-Infinity", "1e999", "01", "'x'", "{,}", "[1,]", "9" * 5000)

Mutation = Callable[[bytes, Random], bytes]


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of all values nested in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_of(inner)


def _parsed(raw: bytes) -> tuple[Any, bool]:
    """Return the value of JSON or the list of JSON Lines, and whether the text is JSON Lines."""
    try:
        return json.loads(raw), False
    except ValueError:
        return [json.loads(line) for line in raw.splitlines() if line.strip()], True


def _written(value: Any, is_lines: bool) -> bytes:
    if is_lines and isinstance(value, list):
        return "\n".join(json.dumps(line) for line in value).encode()
    return json.dumps(value).encode()


def structure(raw: bytes, rng: Random) -> bytes:
    """Remove, rename, duplicate or replace a part of a JSON value, or lines of another file."""
    try:
        value, is_lines = _parsed(raw)
    except (ValueError, UnicodeDecodeError):
        return lines(raw, rng)
    places = list(places_of(value)) if isinstance(value, dict | list) else []
    if not places or rng.random() < 0.05:
        return _written(rng.choice(VALUES), False)
    for _ in range(rng.randint(1, 3)):
        # Outer values are chosen more often than uniformly, because most values are deeply nested.
        container, key = rng.choice(places[: 4 ** rng.randint(1, 8)])
        kind = rng.choice(("drop", "type", "type", "type", "wrap", "rename", "swap"))
        if (isinstance(container, list) and key >= len(container)) or (
            isinstance(container, dict) and key not in container
        ):
            continue
        if kind == "drop":
            del container[key]
        elif kind == "wrap":
            container[key] = [container[key]]
        elif kind == "rename" and isinstance(container, dict):
            container[f"{key}x"] = container.pop(key)
        elif kind == "swap":
            other, there = rng.choice(places)
            if isinstance(other, list) and there < len(other):
                container[key] = json.loads(json.dumps(other[there]))
        else:
            container[key] = rng.choice(VALUES)
    return _written(value, is_lines)


def lines(raw: bytes, rng: Random) -> bytes:
    """Drop, duplicate or shorten a line, or add columns to it."""
    rows = raw.split(b"\n")
    at = rng.randrange(len(rows))
    row = rows[at]
    rows[at] = rng.choice((b"", row + b"\n" + row, row[: len(row) // 2], b"\t" + row, b"\t\t\t"))
    if rng.random() < 0.3:
        rows[at] = row.replace(b"\t", b" ") + b"\0"
    return b"\n".join(rows)


def syntax(raw: bytes, rng: Random) -> bytes:
    """Insert invalid JSON after a colon, comma or bracket."""
    ends = [place for place, byte in enumerate(raw) if byte in b":,["] or [0]
    at = rng.choice(ends) + 1
    return raw[:at] + rng.choice(NOT_JSON).encode() + raw[at:]


def damage(raw: bytes, rng: Random) -> bytes:
    """Flip, cut, duplicate or insert bytes."""
    damaged = bytearray(raw)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(damaged) + 1)
        kind = rng.choice(("flip", "cut", "drop", "double", "insert"))
        if kind == "flip" and at < len(damaged):
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == "cut" and rng.random() < 0.3:
            del damaged[at:]
        elif kind == "drop":
            del damaged[at : at + rng.randint(1, 40)]
        elif kind == "double":
            damaged[at:at] = damaged[at : at + 60]
        else:
            damaged[at:at] = rng.randbytes(rng.randint(1, 9))
    return bytes(damaged)


def encoding(raw: bytes, rng: Random) -> bytes:
    """Save text in another encoding."""
    text = raw.decode("utf-8", errors="replace") + "é名"
    name = rng.choice(("utf-16", "utf-32", "latin-1", "gb18030", "cp1252", "utf-8-sig"))
    return text.encode(name, errors="replace")


def compression(raw: bytes, rng: Random) -> bytes:
    """Compress a damaged file, damage a compressed file, or write a zip archive."""
    pack: Callable[[bytes], bytes] = rng.choice((gzip.compress, zstandard.compress))
    kind = rng.choice(("whole", "damaged", "cut", "tail", "twice", "zip"))
    if kind == "whole":
        return pack(structure(raw, rng))
    if kind == "damaged":
        return damage(pack(raw), rng)
    if kind == "cut":
        return pack(raw)[: -rng.randint(1, 20)]
    if kind == "tail":
        return pack(raw) + b"tail"
    if kind == "twice":
        return pack(pack(raw))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("other.json", raw)
    return archive.getvalue()


def size(raw: bytes, rng: Random) -> bytes:
    """Return content that becomes very large when it is decompressed or parsed."""
    return rng.choice(
        (
            lambda: zstandard.compress(bytes(10**7)) * 1000,
            lambda: zstandard.compress(b"[" * 10**7) * 100,
            lambda: gzip.compress(b"[" + b"{}," * 10**7 + b"{}]", 1),
            lambda: gzip.compress(b'{"a":' * 10**6, 1),
            lambda: gzip.compress(b"1\n" * 10**6, 1),
            lambda: gzip.compress(b'"' + b"x" * 10**8 + b'"', 1),
            lambda: b"",
            lambda: b" \n" * 10**6,
            lambda: b"[" * 10**5,
        )
    )()


MUTATIONS: tuple[Mutation, ...] = (
    *(structure, structure, structure, structure),
    *(syntax, damage, encoding, compression, size),
)


def special(place: Path, kind: str) -> None:
    """Replace a file with a folder, a device or another special file."""
    place.unlink()
    if kind == "folder":
        place.mkdir()
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "zeros":
        place.symlink_to("/dev/zero")
    elif kind == "sparse":
        with place.open("wb") as stream:
            stream.truncate(3 * 10**9)


SPECIAL = ("missing", "folder", "loop", "zeros", "sparse")
