"""docs/extending.md: a joint."""


def test_a_joint_holds_in_both_coordinates(extended):
    extended("A joint")
