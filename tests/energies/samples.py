"""Single elements, tables of them, and entry points to the compiled functions."""

import numpy as np

from dalembert.core.kernel import array, kernel, out
from dalembert.core.registry import by_kind
from dalembert.core.tables import handed
from dalembert.energies import elements as loops
from dalembert.energies.elements import ELEMENT_SET, Elements
from dalembert.energies.kinds import KINDS, OUT, SCRATCH

evaluate_any = by_kind(
    __name__, "evaluate_any", "i, x, order, out, elements", {k.number: k.derivatives for k in KINDS.values()}, "None",
    {k.number: f"elements.{name}[i], x, order, out" for name, k in KINDS.items()},
)  # fmt: skip
rows_of_any = by_kind(
    __name__, "rows_of_any", "i, x, rows, elements", {k.number: k.damping_rows for k in KINDS.values()}, "0",
    {k.number: f"elements.{name}[i], x, rows" for name, k in KINDS.items()},
)  # fmt: skip


@kernel
def evaluate_one(kind: int, i: int, x: array(), order: int, found: out(), elements: Elements) -> None:
    evaluate_any(kind, i, x, order, found, elements)


@kernel
def rows_of_one(kind: int, i: int, x: array(), rows: out(), elements: Elements) -> int:
    return rows_of_any(kind, i, x, rows, elements)


@kernel
def total_energy(x: array(), elements: Elements) -> float:
    return loops.total_energy(x, elements)


@kernel
def add_forces(x: array(), about: array(), v: array(), f: out(), g: out(), power: out(), elements: Elements) -> float:
    return loops.add_forces(x, about, v, f, g, power, elements)


@kernel
def add_matrix(
    x: array(), about: array(), stiffness_weight: float, damping_weight: float, values: out(), elements: Elements
) -> None:
    loops.add_matrix(x, about, stiffness_weight, damping_weight, values, elements)


class Model:
    """Tables of elements by name, with one set a kind (ledger entry: its place), or the sets given."""

    def __init__(self, sets=None, slots=None, **tables):
        slots = slots or {}
        if sets is None:
            sets = [(KINDS[name].number, 0, len(rows), i, 1) for i, (name, rows) in enumerate(tables.items())]
        full = [tables.get(name, np.zeros(0, kind.dtype)).view(np.recarray) for name, kind in KINDS.items()]
        full += [np.array([tuple(s) for s in sets], ELEMENT_SET).view(np.recarray)]
        full += [np.ascontiguousarray(slots.get(name, np.zeros(0)), np.int64).ravel() for name in KINDS]
        self.tables = Elements(*full, np.full(SCRATCH, np.nan))
        self.handle = handed(self.tables)

    def evaluate(self, name, x, order=3, i=0):
        """W, gradient and Hessian of one element by its own nodes; what was not asked for is NaN."""
        n = 3 * KINDS[name].nodes
        found = np.full(OUT, np.nan)
        evaluate_one(KINDS[name].number, i, flat(x), order, found, self.handle)
        assert np.isnan(found[1 + n + n * n :]).all(), "writes beyond its end"
        return found[0], found[1 : 1 + n].copy(), found[1 + n : 1 + n + n * n].reshape(n, n).copy()

    def rows(self, name, x, i=0):
        n = 3 * KINDS[name].nodes
        rows = np.full(6 * 12, np.nan)
        count = rows_of_one(KINDS[name].number, i, flat(x), rows, self.handle)
        assert count <= KINDS[name].rows and np.isnan(rows[count * n :]).all()
        return rows[: count * n].reshape(count, n)

    def energy(self, x):
        return total_energy(flat(x), self.handle)

    def forces(self, x, v=None, ledger=8):
        """W, forces (n, 3) and powers."""
        x = flat(x)
        f, power = np.zeros_like(x), np.zeros(ledger)
        energy = add_forces(x, x, np.zeros_like(x) if v is None else flat(v), f, f, power, self.handle)
        return energy, f.reshape(-1, 3), power

    def split_forces(self, x, about, v, ledger=8):
        """W, elastic forces and forces of damping (n, 3 each), which is looked at elsewhere, and powers."""
        x = flat(x)
        f, g, power = np.zeros_like(x), np.zeros_like(x), np.zeros(ledger)
        energy = add_forces(x, flat(about), flat(v), f, g, power, self.handle)
        return energy, f.reshape(-1, 3), g.reshape(-1, 3), power

    def matrix(self, x, blocks, stiffness_weight=1.0, damping_weight=0.0, about=None):
        values = np.zeros(9 * blocks)
        about = flat(x if about is None else about)
        add_matrix(flat(x), about, stiffness_weight, damping_weight, values, self.handle)
        return values.reshape(blocks, 3, 3)


def flat(x):
    return np.ascontiguousarray(x, float).ravel()


def table(name, nodes, **fields):
    """Elements of one kind; nodes (n, k) or (k,)."""
    nodes = np.atleast_2d(nodes)
    rows = np.zeros(len(nodes), KINDS[name].dtype)
    rows["nodes"] = nodes
    for field, value in fields.items():
        rows[field] = value
    return rows


def cloth_fields(material):
    """Inverse and area of a triangle with these material coordinates (3, 2)."""
    edges = (material[1:] - material[0]).T
    return {"inverse": np.linalg.inv(edges).ravel(), "area": 0.5 * abs(np.linalg.det(edges))}


def tetrahedron_fields(rest):
    """Inverse and volume of a tetrahedron (4, 3)."""
    edges = (rest[1:] - rest[0]).T
    return {"inverse": np.linalg.inv(edges).ravel(), "volume": abs(np.linalg.det(edges)) / 6.0}


def random_rotation(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


SHAPES = {
    "springs": np.array([[0.0, 0, 0], [1, 0, 0]]),
    "angles": np.array([[1.0, 0, 0], [0, 0, 0], [0, 1.2, 0]]),
    "curvatures": np.array([[0.0, 0, 0], [1, 0, 0], [2.2, 0, 0]]),
    "hinges": np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 0.9, 0], [0.7, -0.8, 0.3]]),
    "cloths": np.array([[0.0, 0, 0], [1, 0, 0], [0.3, 0.9, 0]]),
    "areas": np.array([[0.0, 0, 0], [1, 0, 0], [0.3, 0.9, 0]]),
    "volumes": np.array([[0.0, 0, 0], [1, 0.1, 0], [0.3, 0.9, 0], [0.2, 0.3, 0.8]]),
    "tetrahedra": np.array([[0.0, 0, 0], [1, 0.1, 0], [0.3, 0.9, 0], [0.2, 0.3, 0.8]]),
}
REST = {"springs": 1.0, "angles": 0.5 * np.pi, "hinges": -np.arctan2(0.3, 0.8), "areas": 0.45}
REST["volumes"] = np.linalg.det(SHAPES["volumes"][1:]) / 6.0


def fields_of(name):
    """Parameters of an element that is at rest in its shape of `SHAPES`."""
    shape = SHAPES[name]
    if name == "cloths":
        return {
            **cloth_fields(shape[:, :2]), "stretch_u": 30.0, "stretch_v": 20.0, "shear": 7.0, "damping_u": 0.3,
            "damping_v": 0.2, "shear_damping": 0.2,
        }  # fmt: skip
    if name == "tetrahedra":
        return {**tetrahedron_fields(shape), "mu": 3.0, "lame": 5.0, "viscosity": 0.4}
    fields = {"stiffness": 2.5, "damping": 0.7}
    return fields if name == "curvatures" else {**fields, "rest": REST[name]}


def one(name, **changes):
    """A model of one element on nodes 0, 1, …."""
    return Model(**{name: table(name, np.arange(KINDS[name].nodes), **(fields_of(name) | changes))})


def deformed(name, rng, size):
    """The shape of a kind, turned, moved and with every number changed by about `size`."""
    x = SHAPES[name] + size * rng.normal(size=SHAPES[name].shape)
    return x @ random_rotation(rng).T + rng.normal(size=3)
