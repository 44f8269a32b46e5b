"""What is known of one body at one frame, as a table."""

from __future__ import annotations

import numpy as np

from dalembert.view.drawing import BodyDrawing
from dalembert.view.frames import Frames
from dalembert.view.live_share import Share

__all__ = ["facts"]


def facts(body: BodyDrawing, number: int, frames: Frames, index: int, share: Share) -> str:
    """A Markdown table: the state of a body, and its share of the audit, at the frame `index`.

    The share is its kinetic energy: of translation P²/2m, and of spin, ½ ω·L, with ω found between frames if not recorded;
    and what `Share.of` knows.
    """
    position, further = frames.positions[index, number], {k: part[index] for k, part in frames.further.items()}
    rows = [("place, m", _vector(position)), ("turned, quaternion", _vector(frames.orientations[index, number]))]
    if body.mass:
        rows.append(("mass, kg", f"{body.mass:.6g}"))
    if "momentum" in further and body.mass:
        momentum = further["momentum"][number].astype(float)
        velocity = momentum / body.mass
        rows += [
            ("velocity, m/s", _vector(velocity)),
            ("speed, m/s", f"{np.linalg.norm(velocity):.5g}"),
            ("momentum, kg m/s", _vector(momentum)),
            ("kinetic energy of translation, J", f"{0.5 * momentum @ velocity:.5g}"),
        ]
    if "angular_momentum" in further:
        spin = further["angular_momentum"][number].astype(float)
        rows.append(("angular momentum, kg m²/s", _vector(spin)))
        known = further.get("angular_velocity")
        omega = _spin(frames, index, number) if known is None else known[number].astype(float)
        if omega is not None:
            rows += [("spin, rad/s", _vector(omega)), ("kinetic energy of spin, J", f"{0.5 * omega @ spin:.5g}")]
    if "contact_force" in further:
        rows.append(("force of contacts, N", _vector(further["contact_force"][number])))
    rows += [(_plain(name, 90), f"{value:.5g}") for name, value in share.of(number, frames, index)]
    kinetic, potential, balance = frames.energies[index]
    rows += [
        ("**of all bodies**", ""),
        ("kinetic energy, J", f"{kinetic:.6g}"),
        ("potential energy, J", f"{potential:.6g}"),
        ("energy error, J", f"{balance:.3g}"),
    ]
    lines = [f"**{_plain(body.name)}**, t = {frames.times[index]:.3f} s", "", "| | |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in rows)])


def _spin(frames: Frames, index: int, number: int) -> np.ndarray | None:
    """Angular velocity (3,) rad/s between the frame and the one before; None for the first one."""
    before = index - 1
    gap = frames.times[index] - frames.times[before] if before >= 0 else 0.0
    if gap <= 0.0:
        return None
    a, b = frames.orientations[before, number], frames.orientations[index, number]
    w = a @ b
    xyz = a[0] * b[1:] - b[0] * a[1:] - np.cross(b[1:], a[1:])
    length = float(np.linalg.norm(xyz))
    if length == 0.0:
        return np.zeros(3)
    return xyz / length * 2.0 * np.arctan2(length * np.sign(w), abs(w)) / gap


def _vector(values: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in np.round(values.astype(float), 9) + 0.0)


def _plain(name: str, most: int = 60) -> str:
    return "".join(c if c.isalnum() or c in " _-.,:[]()" else "·" for c in name)[:most]
