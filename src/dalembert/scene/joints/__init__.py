"""Joints, one file each: what a user gives, and the parts that a joint is composed of."""
