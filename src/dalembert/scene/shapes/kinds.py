"""The numbers of the kinds of colliders. They are few and compared often, so that they are constants of the kernels."""

# Shapes with contact functions of their own for some pairs, see `collide.narrow.family_of`; the order is that of a pair.
SPHERE, CAPSULE, BOX, HULL, CYLINDER, CONE, ELLIPSOID = range(7)
# Other convex shapes have the numbers from here on, in the order of registration.
FIRST_FREE = 7
HALF_SPACE = 61
MESH = 62
