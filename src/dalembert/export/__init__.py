"""Scenes and runs as files for other software."""
