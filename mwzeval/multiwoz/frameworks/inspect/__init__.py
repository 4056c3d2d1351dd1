"""Live dialogues in inspect_ai: `inspect eval mwzeval/multiwoz`, and the parts that it is made of.

`multiwoz` is the task. For a task of one's own: `multiwoz_dataset` has the goals, `multiwoz_user`
is the solver in which our user talks to the model or to an agent, `multiwoz_tools` are the
functions for that agent, `task_success` is the scorer. `write_run` makes of a log the file that
`mwzeval` reads. See docs/frameworks.md.
"""

from mwzeval.libraries import required

required("inspect_ai", "inspect", "the task needs inspect_ai")

from mwzeval.multiwoz.frameworks.inspect.dialogues import write_run  # noqa: E402
from mwzeval.multiwoz.frameworks.inspect.scorer import task_success  # noqa: E402
from mwzeval.multiwoz.frameworks.inspect.task import multiwoz, multiwoz_dataset  # noqa: E402
from mwzeval.multiwoz.frameworks.inspect.tools import multiwoz_tools  # noqa: E402
from mwzeval.multiwoz.frameworks.inspect.user import multiwoz_user  # noqa: E402

__all__ = [
    "multiwoz",
    "multiwoz_dataset",
    "multiwoz_tools",
    "multiwoz_user",
    "task_success",
    "write_run",
]
