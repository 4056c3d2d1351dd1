"""The simulator: user, channel, tracker and system acts, with numeric codes for words.

Each rule is implemented once, as plain Python on lists. `compiled.py` compiles the same source with
numba for many parallel dialogues; `view.py` converts between codes and acts or beliefs.
"""
