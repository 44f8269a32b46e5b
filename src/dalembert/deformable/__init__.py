"""Cloth, soft bodies and particles: explicit and implicit time steps, and contact with shapes."""

# The modules here that add a scheme; see `schemes`.
SCHEME_FILES: tuple[str, ...] = ()
