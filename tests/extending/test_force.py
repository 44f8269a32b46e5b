"""docs/extending.md: a force on bodies."""


def test_a_force_on_bodies_balances_its_energy(extended):
    extended("A force on bodies")
