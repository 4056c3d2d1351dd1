"""An import contract that forbids import cycles.

Imports inside functions and imports for type checking count as well.
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class NoCyclesContract(Contract):
    """Forbids import cycles between the modules of the root packages."""

    type_name = "no_cycles"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find a shortest cycle through each import that is part of a cycle."""
        cycles = {}
        for module in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                if back := graph.find_shortest_chain(imported, module):
                    cycles[frozenset(back)] = (module, *back)
        return ContractCheck(kept=not cycles, metadata={"cycles": list(cycles.values())})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one cycle per line."""
        for cycle in check.metadata["cycles"]:
            output.print_error(" → ".join(cycle))
