"""The included systems: rules, templates and trained models."""
