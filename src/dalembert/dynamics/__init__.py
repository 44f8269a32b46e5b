"""Equations of motion, in maximal and in joint coordinates."""
