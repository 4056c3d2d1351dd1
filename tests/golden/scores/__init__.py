"""What is recorded of each benchmark: a module that computes it, a file with its numbers.

A module is named after its benchmark and has `current()`, which returns case → group → name →
number. A group of scores is called by their signature (without versions), any other as it likes.
Everything is computed from embedded data.
"""
