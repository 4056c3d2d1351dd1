"""One module per verb of the command line: its arguments, and what it prints and writes.

`add_arguments(parser, benchmark)` adds the options; `run(arguments, benchmark)` prints and writes,
and returns the exit code. The docstring of a module is the text of its `--help`. Heavy modules are
imported in `run`, so that `--help` answers at once.
"""
