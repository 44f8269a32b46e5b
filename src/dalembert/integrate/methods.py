"""The explicit methods, by name. A file adds one with `@METHODS.add`; each is validated the first time it is asked for."""

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.polynomial import Polynomial

from . import dop853 as c8
from .tableau import Array, Tableau, build


class Methods(Mapping[str, Tableau]):
    """Name → `Tableau`, built when first asked for."""

    def __init__(self) -> None:
        self._by_name: dict[str, Callable[[], Tableau]] = {}

    def add(self, builder: Callable[[], Tableau]) -> Callable[[], Tableau]:
        """Add the method that a function of that name builds: a decorator. Raises ValueError for a name that is taken."""
        name = builder.__name__
        if name in self._by_name:
            raise ValueError(f"two methods are called {name!r}; rename one of them")
        self._by_name[name] = functools.cache(builder)
        return builder

    def help(self, name: str) -> str:
        """What the method is: the first sentence of its builder's docstring."""
        return (self._by_name[name].__doc__ or "").partition("\n")[0].removesuffix(".")

    def __getitem__(self, name: str) -> Tableau:
        return self._by_name[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name


METHODS = Methods()


@METHODS.add
def euler() -> Tableau:
    """Forward Euler."""
    return build("euler", [[]], [1.0], 1)


@METHODS.add
def adaptive_euler() -> Tableau:
    """Euler with step control: two steps of h/2 are kept; their distance from one step of h is the error."""
    return build(
        "adaptive_euler",
        [[], [1 / 2]],
        [1 / 2, 1 / 2],
        1,
        error=[[-1 / 2, 1 / 2]],
        error_orders=[1],
        beta=0.0,
    )


@METHODS.add
def symplectic_euler() -> Tableau:
    """Symplectic Euler, order 1, for forces of position only.

    `explicit.symplectic_step` takes the step; row 1 of k is then its mean derivative.
    """
    return build("symplectic_euler", [[], []], [0.0, 1.0], 1, partitioned=1)


@METHODS.add
def splitting() -> Tableau:
    """Strang splitting for mechanisms, order 2: free rigid bodies move exactly between kicks.

    They move on their momentum spheres; see `explicit.splitting_step`. Row 1 of k is its mean derivative.
    """
    return build("splitting", [[], []], [0.0, 1.0], 1, partitioned=2)


@METHODS.add
def midpoint() -> Tableau:
    """The explicit midpoint rule (Runge 1895)."""
    return build("midpoint", [[], [1 / 2]], [0.0, 1.0], 2)


@METHODS.add
def rk4() -> Tableau:
    """The classical method of Kutta (1901)."""
    return build("rk4", [[], [1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], 4)


@METHODS.add
def bogacki_shampine() -> Tableau:
    """Bogacki & Shampine (1989), 3(2)."""
    return build(
        "bogacki_shampine",
        [[], [1 / 2], [0.0, 3 / 4]],
        [2 / 9, 1 / 3, 4 / 9],
        3,
        error=[[5 / 72, -1 / 12, -1 / 9, 1 / 8]],
        error_orders=[2],
    )


@METHODS.add
def dormand_prince() -> Tableau:
    """Dormand & Prince (1980), 5(4); the dense output of order 4 is Shampine's (1986)."""
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


@METHODS.add
def dop853() -> Tableau:
    """Hairer's method of order 8, with error estimates of order 5 and 3 and dense output of order 7."""
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


method_names = tuple(METHODS)


def method(name: str) -> Tableau:
    """The tableau of that name. Raises ValueError listing the valid names."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]
