"""docs/extending.md: a scene."""


def test_a_scene_is_one_file_that_commands_find(extended):
    said = extended("A scene")
    assert "A seesaw with a child on each side" in said
