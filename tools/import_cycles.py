"""An import contract: no module imports itself by way of others.

Imports in functions and those for types alone count as well.
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class NoCyclesContract(Contract):
    """Forbids cycles of imports between the modules of the root packages."""

    type_name = "no_cycles"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find a shortest cycle through each import that is part of one."""
        cycles = {}
        for module in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                if back := graph.find_shortest_chain(imported, module):
                    cycles[frozenset(back)] = (module, *back)
        return ContractCheck(kept=not cycles, metadata={"cycles": list(cycles.values())})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the cycles, one a line."""
        for cycle in check.metadata["cycles"]:
            output.print_error(" → ".join(cycle))
