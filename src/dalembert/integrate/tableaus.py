"""The explicit methods as Butcher tableaus, and the check that each has the order it claims.

In order: `Tableau` and `validate`; the coefficients of DOP853; the registry `METHODS`, with one builder a method.

An explicit Runge–Kutta method of s stages advances y by
    k_i = f(t + c_i h, y + h Σ_j a_ij k_j),   y_new = y + h Σ_i b_i k_i.
A method keeps its derivatives in the rows of one array `k`: s stages, then the derivative at the end, then the extra
stages of the dense output, if any. Dense output is y(t + θh) = y + h Σ_i k_i Σ_j dense_ij θ^(j+1).

A method has order p if Σ_i b_i Φ_i(τ) = 1/γ(τ) for every rooted tree τ of at most p nodes (Butcher; Hairer, Nørsett &
Wanner, *Solving Ordinary Differential Equations I*, II.2); dense output if Σ_i b_i(θ) Φ_i(τ) = θ^|τ|/γ(τ) (II.6).
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Row = Sequence[float] | Array
Rows = Sequence[Row]
Tree = tuple["Tree", ...]


ORDER_TOLERANCE = 1e-12  # of the conditions of order


class Tableau(NamedTuple):
    """A method as data. s = `stages`, m = s + 1 + the number of extra stages: the rows of `k`."""

    a: Array  # (s, s) strictly lower triangular
    b: Array  # (s,)
    c: Array  # (s,)
    error: (
        Array  # (r, s + 1): error = h Σ error_i k_i; r = 0 none, 1 an embedded pair, 2 DOP853's fifth and third order
    )
    dense: Array  # (m, degree): coefficients of θ, θ², … for each row of k
    extra_a: Array  # (m - s - 1, m): extra stages, from all rows before them
    extra_c: Array  # (m - s - 1,)
    stages: int
    order: int
    error_order: int  # the error estimate shrinks as h^(error_order + 1)
    dense_order: int
    fsal: int  # 1 if the error estimate uses the derivative at the end
    partitioned: int  # 1: positions move with the new momenta (symplectic Euler); 2: Strang splitting
    beta: float  # weight of the last but one error in the step-size controller; 0: none

    @property
    def rows(self) -> int:
        """The number of rows of `k`."""
        return int(self.dense.shape[0])


def hermite(b: ArrayLike) -> Array:
    """Dense output from both ends and their derivatives: the cubic Hermite polynomial, (s + 1, 3)."""
    weights = np.append(np.asarray(b, dtype=np.float64), 0.0)
    dense = np.outer(weights, [0.0, 3.0, -2.0])
    dense[0] += [1.0, -2.0, 1.0]
    dense[-1] += [0.0, -1.0, 1.0]
    return dense


def build(
    name: str,
    a: Rows,
    b: Row,
    order: int,
    *,
    c: Row | None = None,
    error: Rows = (),
    error_orders: Sequence[int] = (),
    error_order: int = 0,
    dense: Array | None = None,
    dense_order: int | None = None,
    extra_a: Rows = (),
    extra_c: Row = (),
    partitioned: int = 0,
    beta: float = 0.04,
) -> Tableau:
    """A validated `Tableau`. Rows of `a`, `error` and `extra_a` may be short: the rest is zero.

    error_orders: the order up to which each error row vanishes. Raises ValueError naming the method.
    """
    s = len(b)
    m = s + 1 + len(extra_c)
    matrix = _pad(a, s, s)
    tableau = Tableau(
        a=matrix,
        b=np.array(b, dtype=np.float64),
        c=matrix.sum(axis=1) if c is None else np.array(c, dtype=np.float64),
        error=_pad(error, len(error), s + 1),
        dense=np.ascontiguousarray(hermite(b) if dense is None else dense),
        extra_a=_pad(extra_a, len(extra_c), m),
        extra_c=np.array(extra_c, dtype=np.float64),
        stages=s,
        order=order,
        error_order=error_order or (error_orders[0] if error_orders else 0),
        dense_order=min(order, 3) if dense_order is None else dense_order,
        fsal=int(any(len(row) > s and row[s] != 0.0 for row in error)),
        partitioned=partitioned,
        beta=beta,
    )
    validate(name, tableau, error_orders)
    return tableau


def validate(name: str, tableau: Tableau, error_orders: Sequence[int] = ()) -> None:
    """Check triangularity, row sums and the order of the method, its error rows and its dense output.

    Raises ValueError naming the method and the condition that fails.
    """
    s, m = tableau.stages, tableau.rows
    if np.any(np.triu(tableau.a)):
        raise ValueError(f"method {name!r}: a is not strictly lower triangular, so it is not explicit")
    if tableau.dense.shape[1] < tableau.dense_order:
        raise ValueError(f"method {name!r}: dense output of order {tableau.dense_order} needs as high a degree")
    full = np.zeros((m, m))
    full[:s, :s] = tableau.a
    full[s, :s] = tableau.b
    full[s + 1 :] = tableau.extra_a
    c = np.concatenate([tableau.c, [1.0], tableau.extra_c])
    _expect(name, "row sums of a equal c", full, np.ones(m), c)
    for order in range(1, tableau.order + 1):
        for tree in trees(order):
            weights, target = _weights(full, tree), 1.0 / _density(tree)
            _expect(name, f"condition of order {order}, tree {tree}", tableau.b, weights[:s], target)
            for row, limit in zip(tableau.error, error_orders, strict=True):
                if order <= limit:
                    _expect(name, f"error row vanishes at order {order}, tree {tree}", row, weights[: s + 1], 0.0)
            if order <= tableau.dense_order:
                powers = np.zeros(tableau.dense.shape[1])
                powers[order - 1] = target
                _expect(name, f"dense output of order {order}, tree {tree}", weights, tableau.dense, powers)


@functools.cache
def trees(order: int) -> tuple[Tree, ...]:
    """The rooted trees of `order` nodes; a tree is the sorted tuple of its root's subtrees."""
    found = {tuple(sorted(forest)) for sizes in _partitions(order - 1, order - 1) for forest in _forests(sizes)}
    return tuple(sorted(found))


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)


def _forests(sizes: tuple[int, ...]) -> Iterator[tuple[Tree, ...]]:
    return itertools.product(*(trees(size) for size in sizes))


def _nodes(tree: Tree) -> int:
    return 1 + sum(_nodes(branch) for branch in tree)


def _density(tree: Tree) -> int:
    """γ(τ): the number of nodes times the densities of the root's subtrees."""
    density = _nodes(tree)
    for branch in tree:
        density *= _density(branch)
    return density


def _weights(a: Array, tree: Tree) -> Array:
    """Φ_i(τ): the product over the root's subtrees of Σ_j a_ij Φ_j."""
    weights = np.ones(a.shape[0])
    for branch in tree:
        weights *= a @ _weights(a, branch)
    return weights


def _pad(rows: Rows, height: int, width: int) -> Array:
    matrix = np.zeros((height, width))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


def _expect(name: str, what: str, left: Array, right: Array, wanted: ArrayLike) -> None:
    """Raises ValueError unless left @ right is what is wanted, to `ORDER_TOLERANCE` of the largest coefficient of a method
    (or of 1): rounding errors grow with it, and the order in which NumPy's library adds depends on the processor."""
    off = float(np.max(np.abs(left @ right - np.asarray(wanted))))
    if not off < ORDER_TOLERANCE * max(1.0, float(np.max(np.abs(left))), float(np.max(np.abs(right)))):
        raise ValueError(f"method {name!r}: {what} does not hold (off by {off:.1e})")


# The coefficients of DOP853 -------------------------------------------------------------------------------------------
# Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, II.5 and II.10.
#
# Rows are written as {column: value}; a column left out is zero. Rows 0 to 11 of A are the stages, row 12 the weights b, rows
# 13 to 15 the extra stages of the dense output.

A: tuple[dict[int, float], ...] = (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {
        0: 0.03709200011850479,
        3: 0.17038392571223998,
        4: 0.10726203044637328,
        5: -0.015319437748624402,
        6: 0.008273789163814023,
    },
    {
        0: 0.6241109587160757,
        3: -3.3608926294469414,
        4: -0.868219346841726,
        5: 27.59209969944671,
        6: 20.154067550477894,
        7: -43.48988418106996,
    },
    {
        0: 0.47766253643826434,
        3: -2.4881146199716677,
        4: -0.590290826836843,
        5: 21.230051448181193,
        6: 15.279233632882423,
        7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    {
        0: -0.9371424300859873,
        3: 5.186372428844064,
        4: 1.0914373489967295,
        5: -8.149787010746927,
        6: -18.52006565999696,
        7: 22.739487099350505,
        8: 2.4936055526796523,
        9: -3.0467644718982196,
    },
    {
        0: 2.273310147516538,
        3: -10.53449546673725,
        4: -2.0008720582248625,
        5: -17.9589318631188,
        6: 27.94888452941996,
        7: -2.8589982771350235,
        8: -8.87285693353063,
        9: 12.360567175794303,
        10: 0.6433927460157636,
    },
    {
        0: 0.054293734116568765,
        5: 4.450312892752409,
        6: 1.8915178993145003,
        7: -5.801203960010585,
        8: 0.3111643669578199,
        9: -0.1521609496625161,
        10: 0.20136540080403034,
        11: 0.04471061572777259,
    },
    {
        0: 0.056167502283047954,
        6: 0.25350021021662483,
        7: -0.2462390374708025,
        8: -0.12419142326381637,
        9: 0.15329179827876568,
        10: 0.00820105229563469,
        11: 0.007567897660545699,
        12: -0.008298,
    },
    {
        0: 0.03183464816350214,
        5: 0.028300909672366776,
        6: 0.053541988307438566,
        7: -0.05492374857139099,
        10: -0.00010834732869724932,
        11: 0.0003825710908356584,
        12: -0.00034046500868740456,
        13: 0.1413124436746325,
    },
    {
        0: -0.42889630158379194,
        5: -4.697621415361164,
        6: 7.683421196062599,
        7: 4.06898981839711,
        8: 0.3567271874552811,
        12: -0.0013990241651590145,
        13: 2.9475147891527724,
        14: -9.15095847217987,
    },
)
C = (
    0.0,
    0.05260015195876773,
    0.0789002279381516,
    0.1183503419072274,
    0.2816496580927726,
    0.3333333333333333,
    0.25,
    0.3076923076923077,
    0.6512820512820513,
    0.6,
    0.8571428571428571,
    1.0,
    1.0,
    0.1,
    0.2,
    0.7777777777777778,
)
# b minus this row is the error of third order
B3 = {0: 0.2440944881889764, 8: 0.7338466882816118, 11: 0.022058823529411766}
E5 = {
    0: 0.01312004499419488,
    5: -1.2251564463762044,
    6: -0.4957589496572502,
    7: 1.6643771824549864,
    8: -0.35032884874997366,
    9: 0.3341791187130175,
    10: 0.08192320648511571,
    11: -0.022355307863886294,
}
D: tuple[dict[int, float], ...] = (
    {
        0: -8.428938276109013,
        5: 0.5667149535193777,
        6: -3.0689499459498917,
        7: 2.38466765651207,
        8: 2.117034582445028,
        9: -0.871391583777973,
        10: 2.2404374302607883,
        11: 0.6315787787694688,
        12: -0.08899033645133331,
        13: 18.148505520854727,
        14: -9.194632392478356,
        15: -4.436036387594894,
    },
    {
        0: 10.427508642579134,
        5: 242.28349177525817,
        6: 165.20045171727028,
        7: -374.5467547226902,
        8: -22.113666853125306,
        9: 7.733432668472264,
        10: -30.674084731089398,
        11: -9.332130526430229,
        12: 15.697238121770845,
        13: -31.139403219565178,
        14: -9.35292435884448,
        15: 35.81684148639408,
    },
    {
        0: 19.985053242002433,
        5: -387.0373087493518,
        6: -189.17813819516758,
        7: 527.8081592054236,
        8: -11.57390253995963,
        9: 6.8812326946963,
        10: -1.0006050966910838,
        11: 0.7777137798053443,
        12: -2.778205752353508,
        13: -60.19669523126412,
        14: 84.32040550667716,
        15: 11.99229113618279,
    },
    {
        0: -25.69393346270375,
        5: -154.18974869023643,
        6: -231.5293791760455,
        7: 357.6391179106141,
        8: 93.40532418362432,
        9: -37.45832313645163,
        10: 104.0996495089623,
        11: 29.8402934266605,
        12: -43.53345659001114,
        13: 96.32455395918828,
        14: -39.17726167561544,
        15: -149.72683625798564,
    },
)


# The methods ----------------------------------------------------------------------------------------------------------
# By name. A file adds one with `@METHODS.add`; each is validated when it is first used.


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
    """Euler with step control: the result is two steps of h/2; their distance from one step of h is the error."""
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
    """Strang splitting for mechanisms, order 2: free rigid bodies move exactly between impulses of half a step.

    Each moves on its momentum sphere; see `explicit.splitting_step`. Row 1 of k is its mean derivative.
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
    a = [_row(row, 16) for row in A]
    b = a[12]
    third = b - _row(B3, 16)
    return build(
        "dop853",
        [row[:12] for row in a[:12]],
        b[:12],
        8,
        c=C[:12],
        error=[_row(E5, 13), third[:13]],
        error_orders=[5, 3],
        error_order=7,
        dense=_dop853_dense(b),
        dense_order=7,
        extra_a=a[13:],
        extra_c=C[13:],
    )


def _row(entries: dict[int, float], width: int) -> Array:
    row = np.zeros(width)
    row[list(entries)] = list(entries.values())
    return row


def _dop853_dense(b: Array) -> Array:
    """Hairer's nested form θ(F₀ + (1-θ)(F₁ + θ(F₂ + (1-θ)(F₃ + …)))) in powers of θ: float64[16, 7]."""
    first, last = np.eye(16)[0], np.eye(16)[12]
    parts = [b, first - b, 2 * b - first - last, *(_row(row, 16) for row in D)]
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
