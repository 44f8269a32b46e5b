"""docs/extending.md: a file format."""


def test_a_file_format_is_one_file_that_commands_read_write_and_list(extended):
    said = extended("A file format")
    assert "give name mass radius x y z" in said and "a list of balls (.balls)" in said
