"""The nearest inertia that a solid can have, for files whose numbers are none."""

from __future__ import annotations

import numpy as np

from ..scene.mass import validate_inertia

THIN = 1e-6  # of its largest, the least second moment that a repaired inertia has
POINT = 1e-3  # m, the radius of gyration given to a mass without inertia
NOTHING = 1e-9  # m, the radius of gyration of an inertia that is none


def nearest_inertia(mass: float, inertia: np.ndarray) -> tuple[np.ndarray, str | None]:
    """The inertia (3, 3) itself where a solid can have it, else the nearest one, and a sentence that says so.

    The second moment of mass Σ = ½ tr(I) 1 − I of a solid has no negative eigenvalue (Wensing, Kim and Slotine, IEEE RA-L
    3(1), 2018). Raising its eigenvalues that are below a millionth of the largest gives the nearest such Σ in the Frobenius
    norm, and I = tr(Σ) 1 − Σ. A mass without inertia is given a radius of gyration of 1 mm.
    """
    try:
        return np.array(validate_inertia("inertia", inertia)), None
    except ValueError as error:
        reason = str(error).removeprefix("inertia: ").split(";")[0]
    symmetric = 0.5 * (inertia + inertia.T)
    moments, axes = np.linalg.eigh(0.5 * np.trace(symmetric) * np.eye(3) - symmetric)
    floor = THIN * moments[2] if moments[2] > mass * NOTHING**2 else mass * POINT**2 / 2.0
    raised = np.maximum(moments, floor)
    second = axes @ np.diag(raised) @ axes.T
    repaired = np.trace(second) * np.eye(3) - second
    values = ", ".join(f"{value:.6g}" for value in np.linalg.eigvalsh(repaired))
    return repaired, f"{reason}; the nearest one that a solid can have is used, with principal moments {values} kg m²"
