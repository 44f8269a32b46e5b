"""Collision detection: bounds → sweep and prune → narrow phase → contact manifolds; and queries."""
