"""docs/extending.md: an energy of particles."""


def test_an_energy_of_particles_has_right_derivatives_and_balances(extended, monkeypatch):
    monkeypatch.setenv(
        "NUMBA_DISABLE_JIT", "1"
    )  # a few particles take less time than the kernels of steps of particles
    extended("An energy of particles")
