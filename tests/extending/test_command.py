"""docs/extending.md: a command."""


def test_a_command_is_one_file(extended):
    said = extended("A command")
    assert "1000 g" in said and "give kg or g" in said and "Print the mass of everything in a scene." in said
