"""One module per verb of the command line: its arguments, and what it prints and writes.

The docstring of a module is the text of its `--help`. Heavy modules are imported in `run`, so that
`--help` answers at once.
"""
