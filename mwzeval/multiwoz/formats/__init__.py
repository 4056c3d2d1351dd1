"""The formats in which systems leave their predictions, each read into the one that is checked."""
