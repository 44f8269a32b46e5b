"""The explicit methods, by name. Each is validated the first time it is asked for.

A method is a function that builds its tableau and registers itself; one in another file of this folder needs a line in
`__init__`.
"""

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.polynomial import Polynomial

from . import dop853 as c8
from .tableau import Array, Tableau, build


class _Methods(Mapping[str, Tableau]):
    """Name → `Tableau`, built when first asked for."""

    def __init__(self) -> None:
        self._builders: dict[str, Callable[[], Tableau]] = {}

    def register(self, builder: Callable[[], Tableau]) -> Callable[[], Tableau]:
        """Add the method that a function builds, under the function's name; use it as a decorator. The first line of the
        function's docstring describes the method. Raises ValueError for a name that is taken."""
        if builder.__name__ in self._builders:
            raise ValueError(
                f"there is an integration method {builder.__name__!r} already; give the function another name"
            )
        self._builders[builder.__name__] = functools.cache(builder)
        return builder

    def __getitem__(self, name: str) -> Tableau:
        return self._builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)

    def __contains__(self, name: object) -> bool:
        return name in self._builders

    def describe(self, name: str) -> str:
        """What a method is, in a line."""
        return (self._builders[name].__doc__ or name).strip().splitlines()[0]


METHODS = _Methods()
register, describe = METHODS.register, METHODS.describe


@register
def euler() -> Tableau:
    """Forward Euler."""
    return build("euler", [[]], [1.0], 1)


@register
def adaptive_euler() -> Tableau:
    """Step doubling with Euler: two steps of h/2 are kept; their distance from one step of h is the error."""
    return build(
        "adaptive_euler",
        [[], [1 / 2]],
        [1 / 2, 1 / 2],
        1,
        error=[[-1 / 2, 1 / 2]],
        error_orders=[1],
        beta=0.0,
    )


@register
def symplectic_euler() -> Tableau:
    """Symplectic Euler: momenta first, then positions.

    `explicit.symplectic_step` takes the step; row 1 of k is then its mean derivative."""
    return build("symplectic_euler", [[], []], [0.0, 1.0], 1, partitioned=1)


@register
def splitting() -> Tableau:
    """Strang splitting: between kicks bodies turn freely, with constant angular momentum; the energy stays bounded.

    Free rigid bodies move exactly on their momentum spheres: see `explicit.splitting_step`. Row 1 of k is its mean
    derivative."""
    return build("splitting", [[], []], [0.0, 1.0], 1, partitioned=2)


@register
def midpoint() -> Tableau:
    """Explicit midpoint rule (Runge 1895)."""
    return build("midpoint", [[], [1 / 2]], [0.0, 1.0], 2)


@register
def rk4() -> Tableau:
    """Classical Runge–Kutta method (Kutta 1901)."""
    return build("rk4", [[], [1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], 4)


@register
def bogacki_shampine() -> Tableau:
    """Pair of orders 3 and 2 by Bogacki & Shampine (1989)."""
    return build(
        "bogacki_shampine",
        [[], [1 / 2], [0.0, 3 / 4]],
        [2 / 9, 1 / 3, 4 / 9],
        3,
        error=[[5 / 72, -1 / 12, -1 / 9, 1 / 8]],
        error_orders=[2],
    )


@register
def dormand_prince() -> Tableau:
    """Pair of orders 5 and 4 by Dormand & Prince (1980); the default for smooth motion.

    The dense output of order 4 is Shampine's (1986)."""
    return build(
        "dormand_prince",
        [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        5,
        error=[[-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40]],
        error_orders=[4],
        dense=np.array(
            [
                [1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
                [0.0, 0.0, 0.0, 0.0],
                [0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
                [0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
                [0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
                [0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
                [0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
            ]
        ),
        dense_order=4,
    )


@register
def dop853() -> Tableau:
    """Hairer's method of order 8, with error estimates of orders 5 and 3; cheapest at small tolerances.

    Its dense output has order 7."""
    a = [_row(row, 16) for row in c8.A]
    b = a[12]
    third = b - _row(c8.B3, 16)
    return build(
        "dop853",
        [row[:12] for row in a[:12]],
        b[:12],
        8,
        c=c8.C[:12],
        error=[_row(c8.E5, 13), third[:13]],
        error_orders=[5, 3],
        error_order=7,
        dense=_dop853_dense(b),
        dense_order=7,
        extra_a=a[13:],
        extra_c=c8.C[13:],
    )


def _row(entries: dict[int, float], width: int) -> Array:
    row = np.zeros(width)
    row[list(entries)] = list(entries.values())
    return row


def _dop853_dense(b: Array) -> Array:
    """Hairer's nested form θ(F₀ + (1-θ)(F₁ + θ(F₂ + (1-θ)(F₃ + …)))) in powers of θ: float64[16, 7]."""
    first, last = np.eye(16)[0], np.eye(16)[12]
    parts = [b, first - b, 2 * b - first - last, *(_row(row, 16) for row in c8.D)]
    theta = Polynomial([0.0, 1.0])
    basis, dense = Polynomial([1.0]), np.zeros((16, 7))
    for i, part in enumerate(parts):
        basis = basis * (theta if i % 2 == 0 else 1 - theta)
        dense[:, : len(basis.coef) - 1] += np.outer(part, basis.coef[1:])
    return dense


def method(name: str) -> Tableau:
    """The tableau of that name. Raises ValueError listing the valid names."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]
