"""Downloads that end: no larger than a file may be, and within a time in all."""

from __future__ import annotations

import sys
from threading import Thread
from typing import BinaryIO

from mwzeval.files.reading import SIZE_VARIABLE, size_limit

TIMEOUT_SECONDS = 30
"""So long a server may be silent."""
DOWNLOAD_SECONDS = 1800.0
"""A download that takes longer is given up, however steadily it comes."""


def transfer(url: str, stream: BinaryIO) -> None:
    """Write what is at an address to a stream. Raises `OSError` or `ValueError` when it fails."""
    from pooch import HTTPDownloader

    downloader = HTTPDownloader(
        progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=TIMEOUT_SECONDS
    )
    problems: list[Exception] = []
    bounded = _Bounded(stream)

    def in_thread() -> None:
        try:
            downloader(url=url, output_file=bounded, pooch=None)
        except Exception as error:  # told to whoever waits
            problems.append(error)

    # A server may send a byte now and then for ever: only another thread sees the time pass.
    thread = Thread(target=in_thread, daemon=True)
    thread.start()
    try:
        thread.join(DOWNLOAD_SECONDS)
    finally:
        bounded.is_wanted = False
    if problems:
        raise problems[0]
    if thread.is_alive():
        raise OSError(f"it had not come whole after {DOWNLOAD_SECONDS:g} seconds")


class _Bounded:
    """What a download is written to, as long as it is wanted and no larger than a file may be."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._size = 0
        self.is_wanted = True

    def write(self, content: bytes) -> None:
        self._size += len(content)
        if self._size > size_limit():
            raise OSError(
                f"it is larger than {size_limit() / 1e6:,.0f} MB; {SIZE_VARIABLE} raises the limit"
            )
        if not self.is_wanted:
            raise OSError("nobody waits for it any more")
        self._stream.write(content)

    def flush(self) -> None:
        if self.is_wanted:
            self._stream.flush()
