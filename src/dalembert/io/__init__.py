"""Models of robots from URDF and MJCF files, as scenes."""
