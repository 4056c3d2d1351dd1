"""An agent of rules, in words and with tools: what it understands, decides and says."""

from mwzeval.multiwoz.live.rule_agent.agent import RuleAgent
from mwzeval.multiwoz.live.rule_agent.spoken_values import Vocabulary

__all__ = ["RuleAgent", "Vocabulary"]
