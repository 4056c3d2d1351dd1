"""Run batched simulation as plain Python, because compilation takes longer than all of these tests.

`test_compiled_code_passes_the_same_tests` compiles.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # must precede the import of numba
