"""Compiling takes longer than all of these tests: batched simulation runs as Python in them.

`tests/pydial/batched/test_compiled.py` compiles.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # before numba is imported
