"""The time step of particles: explicit and implicit schemes, and their contact with shapes."""
