"""The rules of simulated users, compiled; they are those of `mwzeval/pydial/dialogue`."""
