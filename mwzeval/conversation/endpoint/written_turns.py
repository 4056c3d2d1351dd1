"""What a model that plays a user has written for a turn: what it says, and whether that is all.

A token on a line of its own says that it is done; within a line it is text like any other. Models
are made to be assistants, and some go on with what the agent might answer: from there on nothing
is the user's. Thoughts that a server leaves in the content are not said either.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DONE, GIVES_UP = "[DONE]", "[GIVE UP]"
"""What a user reports at the end: that it has everything, or that it does not go on."""

_LINE = r"^[ \t*_`>#]*{}[ \t*_`]*$\n?"
_TOKEN = re.compile(_LINE.format(r"(\[DONE\]|\[GIVE UP\])"), re.MULTILINE)
_OTHER_SIDE = re.compile(
    r"^[ \t*_`>#]*(?:the |ai |ai-|virtual )?(?:assistant|agent|system|chatbot|bot)[ \t*_`]*:",
    re.MULTILINE | re.IGNORECASE,
)
_THOUGHT = re.compile(r"\A(?:.*</think(?:ing)?>|\s*<think(?:ing)?>.*)", re.DOTALL)
"""Some templates begin the thought before the model does; one that does not end was cut off."""
_OWN_LABEL = re.compile(
    r"\A[\s*_`>#]*(?:user|visitor|customer|human)[ \t*_`]*:[ \t*_`]*", re.IGNORECASE
)


class Written(NamedTuple):
    """A turn: the text for the agent, and the token with which the user ends, None without one."""

    text: str
    token: str | None


def written_turn(content: str) -> Written:
    """Return what the content of a message says; the text is empty where nothing is said."""
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    content = _THOUGHT.sub("", content)
    other = _OTHER_SIDE.search(content)
    own = _OWN_LABEL.sub("", content[: other.start()] if other else content)
    tokens = _TOKEN.findall(own)
    return Written(_TOKEN.sub("", own).strip(), tokens[0] if tokens else None)
