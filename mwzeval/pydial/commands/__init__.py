"""The subcommands of `mwzeval pydial`."""
