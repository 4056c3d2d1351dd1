"""The agenda user of live dialogues, in acts."""

from mwzeval.multiwoz.live.agenda_user.user import LiveUser

__all__ = ["LiveUser"]
