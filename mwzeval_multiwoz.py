"""Where verifiers finds the environment `mwzeval-multiwoz`: `vf-eval mwzeval-multiwoz`."""

from mwzeval.multiwoz.frameworks.verifiers import (
    MultiwozEnv,
    MultiwozHarness,
    MultiwozTaskset,
    load_environment,
)

__all__ = ["MultiwozEnv", "MultiwozHarness", "MultiwozTaskset", "load_environment"]
