"""Execute the notebooks of `examples/` and store their output.

`python -m tools.notebooks` updates all notebooks to the output of the current version.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.ipynb"))


def executed(path: Path) -> dict[str, Any]:
    """Execute a notebook in its folder; return it without metadata that differ between runs.

    Raises `nbclient.exceptions.CellExecutionError` with the cell that fails.
    """
    nbformat: Any = import_module("nbformat")  # its functions have no types
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=folder, coalesce_streams=True
    )
    # Kernels enable colours, whose escape codes would be part of the output.
    client.execute(env={**os.environ, "NO_COLOR": "1"})
    plain: dict[str, Any] = json.loads(nbformat.writes(notebook))
    plain["metadata"] = {"kernelspec": plain["metadata"]["kernelspec"]}
    for cell in plain["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = None
    return plain


def printed(notebook: dict[str, Any]) -> list[str]:
    """Return the text output of each cell, "" for pictures."""
    return [
        "".join(
            "".join(output.get("text", output.get("data", {}).get("text/plain", [])))
            for output in cell.get("outputs", ())
            if "image/png" not in output.get("data", {})
        )
        for cell in notebook["cells"]
    ]


if __name__ == "__main__":
    for path in NOTEBOOKS:
        path.write_text(json.dumps(executed(path), indent=1, ensure_ascii=False) + "\n", "utf-8")
