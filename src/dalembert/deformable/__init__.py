"""The time step of particles: explicit and implicit schemes, and their contact with shapes."""

# The modules here that add a scheme; see `schemes`.
SCHEME_FILES: tuple[str, ...] = ()
