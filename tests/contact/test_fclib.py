"""Problems in files of FCLib: both forms are read and solved alike; damaged files, and links to others, are refused."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import dalembert as dal

from .frictional import random_given


def write_matrix(group, matrix, kind):
    """By columns (-1), by rows (-2), or as triplets (0)."""
    if kind == 0:
        found = sp.coo_array(matrix)
        p, i, x, nz = found.row, found.col, found.data, found.nnz
    else:
        found = sp.csc_array(matrix) if kind == -1 else sp.csr_array(matrix)
        p, i, x, nz = found.indptr, found.indices, found.data, kind
    for name, value in (("m", matrix.shape[0]), ("n", matrix.shape[1]), ("nz", nz), ("nzmax", len(x))):
        group[name] = np.array([value], np.int32)
    group["p"], group["i"], group["x"] = p.astype(np.int32), i.astype(np.int32), x


def write(path, form, kind=-1, **parts):
    """A file of matrices and vectors, by their names in FCLib."""
    with h5py.File(path, "w") as file:
        group = file.create_group(form)
        group["spacedim"] = np.array([3], np.int32)
        for name, part in parts.items():
            if name.isupper():
                write_matrix(group.create_group(name), part, kind)
            else:
                group[f"vectors/{name}"] = part
    return path


def write_global(path, given, kind=-1):
    return write(
        path, "fclib_global", kind, M=given.M, H=given.J.T, f=given.M @ given.v, w=given.offset.ravel(), mu=given.mu
    )  # fmt: skip


@pytest.mark.parametrize("kind", [-1, -2, 0])
def test_a_global_problem_is_that_of_its_matrices(tmp_path, kind):
    given = random_given(0)
    problem = dal.load_contact_problem(write_global(tmp_path / "a.hdf5", given, kind))
    assert "10 contacts" in repr(problem)
    np.testing.assert_allclose(problem.solve().velocity, given.solve().velocity, atol=1e-7)


def test_equations_of_a_global_problem_hold(tmp_path):
    """Gᵀ v + b = 0."""
    given, G = random_given(0), np.random.default_rng(0).normal(size=(30, 2))
    path = write(
        tmp_path / "a.hdf5", "fclib_global", M=given.M, H=given.J.T, G=sp.csr_array(G), f=given.M @ given.v,
        w=given.offset.ravel(), mu=given.mu, b=np.array([0.1, -0.2]),
    )  # fmt: skip
    found = dal.load_contact_problem(path).solve()
    assert found.converged
    np.testing.assert_allclose(G.T @ found.velocity, [-0.1, 0.2], atol=1e-7)


def test_a_local_problem_has_the_motion_of_the_global_one(tmp_path):
    """W = J M⁻¹ Jᵀ, V = J M⁻¹ G, R = Gᵀ M⁻¹ G."""
    given, G = random_given(4), np.random.default_rng(1).normal(size=(30, 2))
    both = np.vstack([given.J.toarray(), G.T])
    W = both @ np.linalg.solve(given.M.toarray(), both.T)
    W, m = 0.5 * (W + W.T), len(given.mu)
    q, s = given.J @ given.v + given.offset.ravel(), G.T @ given.v
    path = write(
        tmp_path / "a.hdf5", "fclib_local", W=sp.csr_array(W[: 3 * m, : 3 * m]), V=sp.csr_array(W[: 3 * m, 3 * m :]),
        R=sp.csr_array(W[3 * m :, 3 * m :]), q=q, s=s, mu=given.mu,
    )  # fmt: skip
    found = dal.load_contact_problem(path).solve()
    expected = given._replace(rows=dal.ScalarRows(G.T)).solve()
    assert found.converged and expected.converged
    np.testing.assert_allclose(found.contact_velocity, expected.contact_velocity, atol=1e-7)


def test_files_that_are_none_of_fclib_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        dal.load_contact_problem(tmp_path / "none.hdf5")
    (tmp_path / "text.hdf5").write_text("hello")
    with pytest.raises(ValueError, match="is not an HDF5 file"):
        dal.load_contact_problem(tmp_path / "text.hdf5")
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["x"] = 1.0
    with pytest.raises(ValueError, match="neither fclib_global nor fclib_local"):
        dal.load_contact_problem(tmp_path / "other.hdf5")


def link_away(file):
    del file["fclib_global/M"]
    file["fclib_global/M"] = h5py.ExternalLink("/etc/passwd", "/M")


def link_within(file):
    del file["fclib_global/vectors/f"]
    file["fclib_global/vectors/f"] = h5py.SoftLink("/fclib_global/vectors/w")


def numbers_elsewhere(file):
    del file["fclib_global/vectors/f"]
    file["fclib_global/vectors"].create_dataset("f", (30,), float, external=[("/etc/passwd", 0, 240)])


def too_large(file):
    del file["fclib_global/vectors/f"]
    file["fclib_global/vectors"].create_dataset("f", (10**12,), float, chunks=(1024,))


def in_a_plane(file):
    file["fclib_global/spacedim"][0] = 2


def index_outside(file):
    file["fclib_global/H/i"][3] = 999


def starts_unordered(file):
    file["fclib_global/H/p"][1] = 10_000


def unknown_storage(file):
    file["fclib_global/M/nz"][0] = -7


def no_friction(file):
    del file["fclib_global/vectors/mu"]


def text_for_numbers(file):
    del file["fclib_global/vectors/f"]
    file["fclib_global/vectors/f"] = "text"


def no_masses(file):
    del file["fclib_global/M"]


@pytest.mark.parametrize(
    "damage, message",
    [
        (link_away, "fclib_global/M is a link"),
        (link_within, "vectors/f is a link"),
        (numbers_elsewhere, "in another file"),
        (too_large, "has 1000000000000 entries"),
        (in_a_plane, "spacedim is 2"),
        (index_outside, "H has an index outside 0 … 29"),
        (starts_unordered, "H/p does not say where"),
        (unknown_storage, "M/nz is -7"),
        (no_friction, "vectors/mu is missing"),
        (text_for_numbers, "vectors/f holds"),
        (no_masses, "fclib_global has no M"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, message):
    path = write_global(tmp_path / "a.hdf5", random_given(0))
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(ValueError, match=message):
        dal.load_contact_problem(path)
