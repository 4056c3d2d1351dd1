"""Data folders and their files: `--data`, `MWZEVAL_DATA`, the user's cache, or data in the package.

Each benchmark has a table of its public files. Files that a user supplies are used unchanged; only
the cache is filled, by verified downloads. `MWZEVAL_MIRROR` names a server to use instead of
GitHub; `MWZEVAL_OFFLINE=1` disables downloads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from mwzeval.errors import DataError, UsageError, shorten
from mwzeval.files.cache import Checksums, cache_directory, checksums_of, remembered_checksums
from mwzeval.files.reading import COMPRESSED, SIZE_VARIABLE, data_bytes, plain_name, size_limit
from mwzeval.output import counting, notify

DATA_VARIABLE = "MWZEVAL_DATA"
OFFLINE_VARIABLE = "MWZEVAL_OFFLINE"
MIRROR_VARIABLE = "MWZEVAL_MIRROR"
GITHUB = "https://raw.githubusercontent.com"
RETRIES = 2
"""The number of retries of a failed download; a partial download is continued."""
TIMEOUT_SECONDS = 30
SAMPLE_ADVICE = "To try the tool without data, use the embedded sample: {}"

Origin = Literal["--data", "MWZEVAL_DATA", "cache", "embedded"]


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of a public repository at a fixed commit, and the path of the file in a data folder.

    `sha256` is None if the checksum is not known yet; then `git_blob` (if known) verifies the file.
    """

    local: str
    repository: str
    commit: str
    path: str
    git_blob: str | None
    sha256: str | None = None

    @property
    def is_verifiable(self) -> bool:
        """Whether any checksum of the file is known."""
        return self.git_blob is not None or self.sha256 is not None

    def has(self, found: Checksums) -> bool:
        """Return whether the checksums agree with all known checksums of the file."""
        return self.git_blob in (None, found.git_blob) and self.sha256 in (None, found.sha256)

    @property
    def url(self) -> str:
        """The URL of the file, at `MWZEVAL_MIRROR` if this variable is set, otherwise at GitHub."""
        base = os.environ.get(MIRROR_VARIABLE) or GITHUB
        return f"{base.rstrip('/')}/{self.repository}/{self.commit}/{quote(self.path)}"


def public_files(table: Path) -> tuple[PublicFile, ...]:
    """Return the files listed in a tab-separated table; lines that begin with `#` are comments."""
    lines = table.read_text(encoding="utf-8").splitlines()
    _, *rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return tuple(PublicFile(*row[:4], *(sum_ or None for sum_ in row[4:])) for row in rows)


def embedded(*parts: str) -> Path:
    """Return the path of data in the package: in `sample`, `predictions`, `docs` and others."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "data"
    if installed.is_dir():
        return installed.joinpath(*parts)
    checkout = package.parent
    beside = parts[:1] in (("predictions",), ("docs",))
    return (checkout if beside else checkout / "data").joinpath(*parts)


@dataclass(frozen=True, slots=True)
class DataRoot:
    """A folder with data in the public layout, and the published files that belong to the folder.

    `sample` is the option that selects the embedded sample; messages about missing files mention
    this option. `corpora` maps the name of each corpus to the patterns of its files.
    """

    path: Path
    origin: Origin
    published: tuple[PublicFile, ...] = ()
    offline: bool = False
    sample: str = ""
    corpora: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @classmethod
    def locate(
        cls,
        data: str | Path | None,
        table: Path,
        name: str,
        *,
        offline: bool | None = None,
        sample: str = "",
        corpora: Mapping[str, tuple[str, ...]] | None = None,
    ) -> DataRoot:
        """Return the data root: the folder `data` if given, else `MWZEVAL_DATA`, else the cache.

        `table` lists the public files. `name` is the name of the benchmark's folder in the cache. A
        folder with the data of several benchmarks can contain the same subfolder. If `offline` is
        None, `MWZEVAL_OFFLINE` determines whether files are downloaded. `sample` is the option that
        selects the embedded data. `corpora` has the file patterns of each corpus.

        Raises:
            DataError: If the folder `data` does not exist.
        """
        corpora = {} if corpora is None else corpora
        published = public_files(table)
        if offline is None:
            offline = os.environ.get(OFFLINE_VARIABLE, "").strip().lower() in {"1", "true", "yes"}
        origin: Origin = "--data"
        if data is None:
            data, origin = os.environ.get(DATA_VARIABLE) or None, "MWZEVAL_DATA"
        if data is None:
            return cls(cache_directory() / name, "cache", published, offline, sample, corpora)
        folder = Path(os.path.expanduser(data))  # noqa: PTH111 - Path raises for unknown users
        # An empty name comes from an unset shell variable and is not the current folder. `Path`
        # would raise an error for a name that is too long.
        if not str(data) or not os.path.isdir(folder):  # noqa: PTH112
            what = "is not a folder" if os.path.isfile(folder) else "does not exist"  # noqa: PTH113
            raise DataError(
                f'{origin}: "{shorten(str(data), 300)}" {what}; name the folder that holds the '
                f"data in the public layout, or leave it out to use {cache_directory() / name}"
            )
        # A folder with a published file at its path contains only this benchmark, even if it has a
        # subfolder with the benchmark's name, as some repositories have.
        inner = folder / name
        if inner.is_dir() and not any((folder / file.local).is_file() for file in published):
            folder = inner
        return cls(folder, origin, published, offline, sample, corpora)

    def find(self, *alternatives: str) -> Path | None:
        """Return the path of the first file that exists; damaged files in the cache are ignored."""
        for local in alternatives:
            place = self.path / local
            if place.is_file():
                file = self._published.get(local) if self.origin == "cache" else None
                if file is None or file.has(remembered_checksums(place)):
                    return place
        return None

    def require(self, *alternatives: str) -> Path:
        """Return the path of the first existing file, or download a file into the cache.

        At most one file is downloaded: the first of the given files that is published. Raises
        `DataError` if none of the files exists or can be downloaded.
        """
        if found := self.find(*alternatives):
            return found
        published = [self._published[local] for local in alternatives if local in self._published]
        if self.origin == "cache" and published:
            return self.fetch(published[:1])[0]
        raise MissingError(self, [" or ".join(alternatives)], published)

    def other_than_published(self, paths: Iterable[Path]) -> tuple[str, ...]:
        """Return the places of files that are not published, or differ from the published files.

        Embedded data have no published files; for them, nothing is returned.
        """
        different = []
        for path in paths if self.published else ():
            file, checksums = self.published_as(path)
            if file is None or not file.has(checksums):
                different.append(self.local(path))
        return tuple(different)

    def local(self, path: Path) -> str:
        """Return the path of a file within the data folder, with slashes."""
        return path.relative_to(self.path).as_posix()

    def published_as(
        self, path: Path, *, reread: bool = False
    ) -> tuple[PublicFile | None, Checksums]:
        """Return the published file that a file corresponds to, if any, and the file's checksums.

        If a compressed file (`x.json.gz`) is not published, the published file is `x.json`, and the
        checksums are those of the decompressed content. `reread` bypasses the cache of checksums.
        """
        local, published = self.local(path), self._published
        file = published.get(local)
        if file is None and (file := published.get(plain_name(local))):
            return file, Checksums.of(data_bytes(path))
        return file, (checksums_of if reread else remembered_checksums)(path)

    def checksum(self, *paths: Path) -> str:
        """Return the first eight digits of the SHA-256 of the (decompressed) contents of files."""
        return Checksums.of(b"".join(map(data_bytes, paths))).sha256[:8]

    def matching(self, pattern: str) -> list[Path]:
        """Return the sorted files whose path in the data folder matches a pattern such as `*.json`.

        If the data folder is the cache, only published files are returned; missing files are
        downloaded.

        Raises:
            MissingError: If nothing matches.
        """
        published = self.published_matching([pattern])
        if self.origin == "cache" and published:
            return self.fetch(published)
        if found := self.files_at(pattern):
            return found
        raise MissingError(self, [pattern], published)

    def files_at(self, pattern: str) -> list[Path]:
        """Return the files in the folder that match a pattern and are not hidden, sorted.

        `*.json` also matches the compressed file `x.json.gz`, unless there is a file `x.json`.
        """
        found: dict[str, Path] = {}
        for ending in ("", *COMPRESSED):
            for path in self.path.glob(pattern + ending):
                if path.is_file() and not path.name.startswith("."):
                    found.setdefault(str(path).removesuffix(ending), path)
        return sorted(found.values())

    def published_matching(self, patterns: Sequence[str]) -> list[PublicFile]:
        """Return the published files whose path matches one of the patterns, sorted by path."""
        found = (file for file in self.published if matches(file.local, patterns))
        return sorted(found, key=lambda file: file.local)

    def fetch(self, files: Iterable[PublicFile]) -> list[Path]:
        """Return the paths of published files in the cache, and download missing files.

        Raises `UsageError` if the data folder is not the cache. Raises `MissingError` with all
        missing files if downloads are disabled, and `DataError` if a download fails.
        """
        if self.origin != "cache":
            raise UsageError(
                f"files are only downloaded into the cache, not into {self.path} "
                f"({self.origin}): leave out --data and unset {DATA_VARIABLE}"
            )
        wanted = list(files)
        missing = [file for file in wanted if self.find(file.local) is None]
        if missing and self.offline:
            raise MissingError(self, [file.local for file in missing], missing)
        for file in missing:
            download(file, self.path, self.sample)
        return [self.path / file.local for file in wanted]

    @property
    def _published(self) -> dict[str, PublicFile]:
        return {file.local: file for file in self.published}


STATES = ("published", "different", "unverified", "unlisted", "missing")


class FileState(NamedTuple):
    """A file in a data folder, and its state (one of `STATES`).

    The state "unverified" means that no checksum of a published file is known. The state "unlisted"
    means that a corpus would read the file although it is not published. `expected` and `found` are
    git blob ids (None: not known).
    """

    local: str
    state: str
    corpora: tuple[str, ...]
    expected: str | None
    found: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether this file may lead to scores that differ from scores with the published data."""
        return self.state in ("different", "unlisted")


def file_states(root: DataRoot, *, reread: bool = False) -> list[FileState]:
    """Return the state of each file of the corpora; `reread` bypasses the cache of checksums."""
    published = {file.local: file for file in root.published}
    found: dict[str, Path] = {}
    for path in chain.from_iterable(map(root.files_at, chain(*root.corpora.values()))):
        local = root.local(path)
        found[local if local in published else plain_name(local)] = path
    states = []
    for local in sorted({*published, *found}):
        users = tuple(name for name, patterns in root.corpora.items() if matches(local, patterns))
        if not users:
            continue
        if local not in found:
            states.append(FileState(local, "missing", users, published[local].git_blob, None))
            continue
        file, checksums = root.published_as(found[local], reread=reread)
        if file is None:
            state = "unlisted"
        elif not file.has(checksums):
            state = "different"
        else:
            state = "published" if file.is_verifiable else "unverified"
        blobs = file.git_blob if file else None, checksums.git_blob
        states.append(FileState(root.local(found[local]), state, users, *blobs))
    return states


def matches(local: str, patterns: Iterable[str]) -> bool:
    """Return whether a path in a data folder matches one of the patterns, like `Path.glob`."""
    return any(PurePosixPath("/", local).match(f"/{pattern}") for pattern in patterns)


def download(file: PublicFile, folder: Path, sample: str = "") -> Path:
    """Download a published file to its path in the data folder, and return this path.

    The file appears at this path only when the download is complete and verified. After an
    interruption, the next call continues the download. Raises `DataError`.
    """
    import pooch

    place = folder / file.local
    interrupted = place.with_name(f".{place.name}.part")

    def receive(url: str, output_file: str, _: object) -> None:
        received = Path(f"{output_file}.part")
        with suppress(FileNotFoundError):
            interrupted.replace(received)  # no other process can continue it
        try:
            _receive(url, received)
        except BaseException:
            with suppress(FileNotFoundError):
                received.replace(interrupted)
            raise
        found = checksums_of(received)
        if not file.is_verifiable:
            about = f"there are no published checksums for it; its sha256 is {found.sha256}"
            notify(f"{file.local} cannot be verified: {about}")
        if not file.has(found):
            size = received.stat().st_size
            received.unlink()
            raise ValueError(
                f"the received file ({size} bytes) is not the published one and was removed; "
                f"expected: git blob {file.git_blob}, sha256 {file.sha256}"
            )
        received.replace(output_file)

    pooch.get_logger().setLevel("WARNING")  # this module prints messages itself
    notify(f"downloading {file.local} from {file.url}")
    try:
        if file.sha256 is None:
            place.unlink(missing_ok=True)  # pooch would accept a damaged file
        registry, urls = {file.local: file.sha256}, {file.local: file.url}
        store = pooch.Pooch(folder, GITHUB, registry, urls, RETRIES)
        store.fetch(file.local, downloader=receive)
    except (OSError, ValueError) as error:  # errors of requests are OSErrors
        reason = f"cannot download {file.local}: {_reason(error)}"
        raise DataError(reason, *_advice(folder, [file], sample)) from None
    return place


def _receive(url: str, target: Path) -> None:
    """Download a file, or its remaining bytes if a part exists."""
    import requests

    begun = target.stat().st_size if target.exists() else 0
    # The range counts bytes of the file, not of a compressed response.
    headers = {"Range": f"bytes={begun}-", "Accept-Encoding": "identity"} if begun else {}
    with requests.get(url, stream=True, timeout=TIMEOUT_SECONDS, headers=headers) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            target.unlink()
        response.raise_for_status()
        is_rest = response.status_code == requests.codes.partial_content
        length = int(response.headers.get("Content-Length", 0))
        with counting(length, "B") as update, target.open("ab" if is_rest else "wb") as stream:
            for block in response.iter_content(1 << 16):
                if stream.tell() + len(block) > size_limit():
                    raise OSError(
                        f"it is larger than {size_limit() / 1e6:,.0f} MB; {SIZE_VARIABLE} raises "
                        "the limit"
                    )
                stream.write(block)
                update(len(block))
            stream.flush()
            os.fsync(stream.fileno())


def _reason(error: BaseException) -> str:
    while cause := error.__cause__ or error.__context__:
        error = cause
    return shorten(getattr(error, "strerror", None) or str(error), 300)


class MissingError(DataError):
    """Files of a folder are missing; one message lists all of them, with their sources and places.

    `wanted` are the missing paths, `files` are the published files among these paths, and `about`
    is the beginning of the message.
    """

    def __init__(
        self, root: DataRoot, wanted: Sequence[str], files: Sequence[PublicFile], about: str = ""
    ) -> None:
        self.root, self.wanted, self.files, self.about = root, wanted, files, about
        message = f"not found in {root.path} ({root.origin}): {', '.join(wanted)}"
        if root.origin == "embedded":
            more = ["The embedded sample has only some folds. Otherwise, install mwzeval again."]
        else:
            more = _advice(root.path, files, root.sample)
        if root.origin == "cache" and files:
            message += f"; downloads are disabled ({OFFLINE_VARIABLE})"
            more.append(
                f"With a network connection, `mwzeval data download {root.path.name}` "
                "downloads all files."
            )
        super().__init__(f"{about}: {message}" if about else message, *more)

    def __reduce__(self) -> tuple[Any, ...]:
        return DataError, self.args  # makes the error picklable for other processes


def all_there(*calls: Callable[[], Any]) -> list[Any]:
    """Call all functions and return their results.

    Raises one `MissingError` for all missing files of a folder.
    """
    found = []
    missing: list[MissingError] = []
    for call in calls:
        try:
            found.append(call())
        except MissingError as error:  # noqa: PERF203
            missing.append(error)
    if missing:
        first = missing[0]
        same = [error for error in missing if error.root == first.root]
        wanted = dict.fromkeys(place for error in same for place in error.wanted)
        files = dict.fromkeys(file for error in same for file in error.files)
        raise MissingError(first.root, list(wanted), list(files), first.about)
    return found


def _advice(folder: Path, files: Sequence[PublicFile], sample: str) -> list[str]:
    return [
        *(f"  {file.local} is published at {file.url}" for file in files),
        f"Put the missing files into {folder} under the names above, or name a folder that has "
        f"the data with --data or {DATA_VARIABLE}.",
        *([SAMPLE_ADVICE.format(sample)] if sample else []),
    ]
