"""The invented domains for dialogue management, of the same shapes as those of PyDial."""
