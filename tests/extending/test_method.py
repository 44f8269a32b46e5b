"""docs/extending.md: an integration method."""


def test_an_integration_method_is_one_file_with_its_tableau(extended):
    extended("An integration method")
