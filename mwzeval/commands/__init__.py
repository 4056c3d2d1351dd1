"""One module per command of the command line: its arguments and its output.

`add_arguments(parser, benchmark)` adds the options; `run(arguments, benchmark)` prints and writes
the output and returns the exit code. The docstring of a module is the text of its `--help`. Slow
modules are imported in `run`, so that `--help` is fast.
"""
