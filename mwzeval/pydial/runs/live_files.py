"""Episodes of live dialogues: what a file of trajectories says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.conversation.protocols import INFRASTRUCTURE, LIMIT
from mwzeval.conversation.trajectory import Trajectory, check_live
from mwzeval.errors import shorten
from mwzeval.pydial import NAME, TITLE
from mwzeval.pydial.simulator.talk import EXCHANGES, FINAL_GOAL, REWARD, SUCCESS, turns_of
from mwzeval.pydial.tasks import USERS
from mwzeval.scores.findings import Findings

ITEM = re.compile(r"(?P<task>[^/]+)/(?P<seed>\d{1,18})/(?P<dialogue>\d{1,18})")
FACTS = (SUCCESS, EXCHANGES, REWARD, "policy", "legacy")


def episodes_of_trajectories(text: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield the lines of an episode file that say the same as a file of trajectories.

    What failed for infrastructure is left out with a warning. Problems go to `findings`.
    """
    live = check_live(text, findings)
    said = live.header.get("benchmark", NAME)
    if said != NAME:
        message = f'the header says that the benchmark is "{shorten(str(said))}", not {TITLE}'
        findings.error("other-benchmark", f"{message}: leave out --benchmark", key="benchmark")
        return
    of_all: dict[str, Any] = {"legacy": live.header.get("legacy")}
    agent = live.header.get("agent")
    if isinstance(agent, Mapping):
        of_all["policy"] = agent.get("spec")
    user = live.header.get("user")
    if isinstance(user, Mapping) and user.get("spec") not in USERS:
        of_all["user"] = str(user.get("spec"))
    for name, trajectory in live.dialogues.items():
        if trajectory.end == INFRASTRUCTURE:
            message = "the dialogue failed for infrastructure, which is nobody's fault: not scored"
            findings.warning("infrastructure", message, dialogue=name)
        elif (match := ITEM.fullmatch(trajectory.item)) is None:
            message = 'a dialogue is called TASK/SEED/NUMBER, such as "CR-1/0/000003"'
            findings.error("shape", message, dialogue=name)
        else:
            yield {
                **of_all,
                "task": match["task"],
                "seed": int(match["seed"]),
                "dialogue": int(match["dialogue"]),
                **_plain(trajectory),
            }


def _plain(trajectory: Trajectory) -> dict[str, Any]:
    more = trajectory.more
    return {
        **{key: more[key] for key in FACTS if key in more},
        "trial": trajectory.trial if trajectory.is_numbered else None,
        "out_of_time": trajectory.end == LIMIT,
        "end": trajectory.end,
        "problem": trajectory.problem,
        "goal": more.get(FINAL_GOAL, trajectory.goal),
        "turns": turns_of(trajectory.acts),
    }
