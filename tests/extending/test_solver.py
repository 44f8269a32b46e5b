"""docs/extending.md: a contact solver."""


def test_a_contact_solver_is_one_file_with_its_defaults_and_its_kernel(extended):
    said = extended("A contact solver")
    assert "symmetric_gauss_seidel   sweeps forward and back; at most 100 passes, to 1e-06 m/s" in said
