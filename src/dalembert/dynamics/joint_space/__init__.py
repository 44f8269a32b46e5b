"""Dynamics in joint coordinates: coordinates u and speeds w of a tree of joints, without multipliers for these joints."""
