"""Compiling takes longer than all of these tests: batched simulation runs as Python in them.

`test_compiled_code_passes_the_same_tests` compiles.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # before numba is imported
