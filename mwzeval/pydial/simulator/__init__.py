"""The simulator: user, channel, tracker and system acts, on numbers ("codes") for words.

Each rule exists once, as plain Python on lists. `compiled.py` has the same source compiled by numba
for many dialogues at once; `view.py` translates into acts and beliefs, and back.
"""
