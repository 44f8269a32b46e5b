"""Scenes and runs as files for other software."""

# The modules here that add formats; see `file_format`.
FORMAT_FILES = ("formats",)
