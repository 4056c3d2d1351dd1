"""Live dialogues as an environment of verifiers: `vf-eval mwzeval-multiwoz`, and for training.

`load_environment` makes it from options. verifiers finds the three classes through the module
`mwzeval_multiwoz`, by the name of which the environment is called. See docs/frameworks.md.
"""

from mwzeval.libraries import required

required("verifiers.v1", "verifiers", "the environment needs verifiers")

from mwzeval.multiwoz.frameworks.verifiers.environment import (  # noqa: E402
    NAME,
    MultiwozEnv,
    MultiwozEnvConfig,
    load_environment,
    write_run,
)
from mwzeval.multiwoz.frameworks.verifiers.harness import MultiwozHarness  # noqa: E402
from mwzeval.multiwoz.frameworks.verifiers.tasks import (  # noqa: E402
    MultiwozTask,
    MultiwozTaskset,
    MultiwozTasksetConfig,
)

__all__ = [
    "NAME",
    "MultiwozEnv",
    "MultiwozEnvConfig",
    "MultiwozHarness",
    "MultiwozTask",
    "MultiwozTaskset",
    "MultiwozTasksetConfig",
    "load_environment",
    "write_run",
]
