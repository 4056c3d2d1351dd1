"""The actions of `mwzeval pydial`."""
