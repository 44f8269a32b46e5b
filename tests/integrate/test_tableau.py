import numpy as np
import pytest

from dalembert.integrate import METHODS, method_names
from dalembert.integrate.tableaus import build, trees


def test_number_of_rooted_trees():
    assert [len(trees(order)) for order in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


@pytest.mark.parametrize("name", method_names)
def test_every_method_is_valid_and_of_one_type(name):
    tableau = METHODS[name]
    assert tableau.a.shape == (tableau.stages, tableau.stages)
    assert tableau.error.shape[1] == tableau.stages + 1
    assert tableau.rows == tableau.stages + 1 + tableau.extra_c.size
    for array in (tableau.a, tableau.b, tableau.c, tableau.error, tableau.dense, tableau.extra_a, tableau.extra_c):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
    np.testing.assert_allclose(tableau.error.sum(axis=1), 0.0, atol=1e-15)


@pytest.mark.parametrize(("name", "order"), [("rk4", 4), ("dormand_prince", 5), ("dop853", 8), ("bogacki_shampine", 3)])
def test_claiming_one_order_more_is_refused(name, order):
    tableau = METHODS[name]
    assert tableau.order == order
    with pytest.raises(ValueError, match=f"'tall {name}': condition of order {order + 1}"):
        build(f"tall {name}", tableau.a, tableau.b, order + 1, c=tableau.c)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [1.0], 1), "not explicit"),
        (([[], [0.5]], [0.5, 0.6], 1), "condition of order 1|row sums"),
        (([[], [0.5]], [1.0, 0.0], 2), "condition of order 2"),
    ],
)
def test_bad_tableaus_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=f"'bad'.*({message})"):
        build("bad", *arguments)


def test_other_mistakes_are_refused():
    good = ([[], [0.5]], [0.0, 1.0], 2)
    with pytest.raises(ValueError, match="row sums"):
        build("bad", *good, c=[0.0, 0.4])
    with pytest.raises(ValueError, match="error row vanishes"):
        build("bad", *good, error=[[0.5, 0.5]], error_orders=[1])
    with pytest.raises(ValueError, match="dense output of order 2"):
        build("bad", *good, dense=np.array([[0.0], [1.0], [0.0]]), dense_order=2)
    with pytest.raises(ValueError, match="dense output of order 2, tree"):
        build("bad", *good, dense=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), dense_order=2)
