"""Random chains of two joints, written out in SymPy as well: a third formulation. Code is generated once per kind."""

import functools

import numpy as np
import sympy as sp

import dalembert as dal

from .mechanisms import unit

KINDS = (("hinge", "hinge"), ("slider", "hinge"), ("hinge", "slider"))


def random_chain(seed):
    """A scene of two boxes, each joined to the one before it, and its generalized coordinates."""
    rng = np.random.default_rng([seed, 3])
    kinds = KINDS[seed % len(KINDS)]
    scene = dal.Scene(f"chain {seed}", gravity=9.81 * unit(rng.normal(size=3)))
    places = rng.normal(size=(2, 3))
    pins, axes = rng.normal(size=(2, 3)), np.array([unit(v) for v in rng.normal(size=(2, 3))])
    rates = rng.normal(size=2)
    speeds = initial_speeds(kinds, places, pins, axes, rates)
    carrier = dal.WORLD
    for i, kind in enumerate(kinds):
        body = scene.add_body(
            f"body {i}", dal.Box(*rng.uniform(0.1, 0.6, 3)), mass=rng.uniform(0.5, 3.0), position=places[i],
            velocity=speeds[i][0], angular_velocity=speeds[i][1],
        )  # fmt: skip
        getattr(scene, kind)(f"joint {i}", carrier, body, pins[i], axes[i])
        carrier = body
    anchor, hook = rng.normal(size=3), places[1] + 0.2 * rng.normal(size=3)
    scene.spring("spring", dal.WORLD, "body 1", anchor, hook, stiffness=rng.uniform(1, 40), damping=rng.uniform(0, 1))
    scene.drag("drag", linear=rng.uniform(0, 0.3), angular=rng.uniform(0, 0.1))
    symbols, coordinates, place = template(kinds)
    values = np.concatenate([places.ravel(), pins.ravel(), axes.ravel()])
    parameters = dict(zip(symbols, values, strict=True))
    return scene, dal.GeneralizedCoordinates(scene, coordinates, place, parameters=parameters)


def initial_speeds(kinds, places, pins, axes, rates):
    """(velocity, angular velocity) of each body for rates of the joints, at the start."""
    velocity = spin = np.zeros(3)
    at, found = np.zeros(3), []
    for i, kind in enumerate(kinds):
        velocity = velocity + np.cross(spin, places[i] - at)  # as if fixed to its carrier
        if kind == "hinge":
            velocity = velocity + rates[i] * np.cross(axes[i], places[i] - pins[i])
            spin = spin + rates[i] * axes[i]
        else:
            velocity = velocity + rates[i] * axes[i]
        at = places[i]
        found.append((velocity, spin))
    return found


@functools.cache
def template(kinds):
    """Symbols of places, pins and axes; coordinates; and where the bodies are."""
    symbols = sp.symbols("x:6 c:6 n:6")
    places, pins, axes = ([sp.Matrix(symbols[6 * k + 3 * i : 6 * k + 3 * i + 3]) for i in range(2)] for k in range(3))
    u = sp.symbols("u:2")
    turn, shift = sp.eye(3), sp.zeros(3, 1)  # of the carrier: p → turn p + shift
    place = {}
    for i, kind in enumerate(kinds):
        if kind == "hinge":
            own = rotation_about(axes[i], u[i])
            own_shift = pins[i] - own * pins[i]
        else:
            own, own_shift = sp.eye(3), u[i] * axes[i]
        shift = turn * own_shift + shift
        turn = turn * own
        place[f"body {i}"] = (tuple(turn * places[i] + shift), turn)
    return symbols, u, place


def rotation_about(n, angle):
    """Rodrigues' formula."""
    cross = sp.Matrix([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    return sp.eye(3) * sp.cos(angle) + sp.sin(angle) * cross + (1 - sp.cos(angle)) * n * n.T
