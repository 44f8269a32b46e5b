"""Joints: what a user gives, and the parts that each joint is composed of."""
