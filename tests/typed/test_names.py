"""What completion shows: public names alone."""

import importlib.resources

import dalembert as dal


def test_the_package_has_its_public_names_alone():
    assert dir(dal) == sorted(dal.__all__)
    assert "importlib" not in dir(dal) and "gallery" in dir(dal)
    assert all(getattr(dal, name) is not None for name in dal.__all__)


def test_the_gallery_and_figures_have_their_public_names_alone():
    run = dal.simulate(dal.gallery.load("pendulum").build(), 0.1)
    assert dir(dal.gallery) == ["Example", "load", "names"]
    assert set(dir(run.plot)) == {name for name in vars(type(run.plot)) if name[0] != "_"} | {"trajectory"}
    own = dir(run.trajectory)
    assert {"position", "kinetic", "save", "plot"} <= set(own) and not any(name.startswith("_") for name in own)
    assert "contact_residual" not in own  # nothing touches, and it was not recorded


def test_type_checkers_are_told_that_the_package_has_types():
    assert importlib.resources.files(dal).joinpath("py.typed").is_file()
