"""A run that a person takes part in: it goes on frame by frame, can be taken back, grabbed and changed while it goes."""

from .session import Session

__all__ = ["Session"]
