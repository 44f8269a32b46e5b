"""Articulated bodies in joint coordinates: kinematics, inverse and forward dynamics, mass matrix, of trees of joints."""
