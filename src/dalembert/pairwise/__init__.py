"""Radial forces between particles: cell lists, Barnes–Hut trees, all pairs."""
