"""Joints: their arguments, and the parts that each joint is composed of."""
