"""docs/extending.md: a particle scheme."""


def test_a_particle_scheme_is_one_file_of_numbers(extended):
    extended("A particle scheme")
