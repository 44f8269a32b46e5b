"""Implicit time steps of particles."""
