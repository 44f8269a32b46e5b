"""Compilation, tables, threads and vectors, which all other packages use. No mechanics."""
