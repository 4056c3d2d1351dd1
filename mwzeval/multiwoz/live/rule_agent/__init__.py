"""Agents of rules, in words and with tools: what they understand, decide and say."""

from mwzeval.multiwoz.live.rule_agent.agent import CallingAgent, RuleAgent
from mwzeval.multiwoz.live.rule_agent.convlab_policy import ConvlabPolicy
from mwzeval.multiwoz.live.rule_agent.spoken_values import Vocabulary

__all__ = ["CallingAgent", "ConvlabPolicy", "RuleAgent", "Vocabulary"]
