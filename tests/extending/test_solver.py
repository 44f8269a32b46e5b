"""docs/extending.md: a contact solver."""


def test_a_contact_solver_is_one_file_with_its_defaults_and_its_kernel(extended):
    assert "symmetric_gauss_seidel" in extended("A contact solver")
