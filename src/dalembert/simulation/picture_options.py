"""The keywords of `Trajectory.save_picture` and `save_movie`, for type checkers and completion; see `view.still`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ..view.still import Arrow


class ViewOptions(TypedDict, total=False):
    """What pictures and films have in common."""

    trail: bool
    elevation: float | None
    azimuth: float | None
    ground: float | None
    contacts: Iterable[Literal["forces", "pressure"]]
    sensors: bool


class PictureOptions(ViewOptions, total=False):
    """Keywords of `view.still.picture`."""

    time: float | None
    ghosts: Iterable[float]
    arrows: Iterable[Arrow]
    size: tuple[int, int]
    fine: int
    focus: Iterable[str]


class MovieOptions(ViewOptions, total=False):
    """Keywords of `view.still.save_movie`."""

    speed: float
    rate: float | None
    size: tuple[int, int] | None
    clock: bool
