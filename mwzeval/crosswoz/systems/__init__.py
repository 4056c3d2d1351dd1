"""Systems that come along: rules, templates, and models that are trained."""
