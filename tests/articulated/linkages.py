"""Linkages with loops, turned in space, which the tests of loops share. `turn` : a SciPy Rotation."""

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as dal

ACROSS = np.array([0.0, 1.0, 0.0])
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))
SHAFTS = 0.5  # rad, between the shafts of Hooke's joint


def turns(count, seed=0):
    """Rotations at random."""
    return list(Rotation.random(count, random_state=seed))


def quaternion(turn):
    x, y, z, w = turn.as_quat()
    return (w, x, y, z)


def bar(scene, name, start, end, mass, turn, **more):
    """A box from one point to another, both in the plane x, z before the turn."""
    along = end - start
    own = turn * Rotation.from_rotvec(-np.arctan2(along[2], along[0]) * ACROSS)
    return scene.add_body(name, dal.Box(np.linalg.norm(along), 0.05, 0.08), mass=mass, orientation=quaternion(own),
                          position=turn.apply(0.5 * (start + end)), **more)  # fmt: skip


def strut(scene, name, start, end, mass, turn, **more):
    """A cylinder from one point to another."""
    along = end - start
    own = turn * Rotation.align_vectors([along / np.linalg.norm(along)], [[0, 0, 1]])[0]
    return scene.add_body(name, dal.Cylinder(0.03, np.linalg.norm(along)), mass=mass, orientation=quaternion(own),
                          position=turn.apply(0.5 * (start + end)), **more)  # fmt: skip


def rotor(axis, speed=5.0):
    """A box on two bearings, whose axis goes through its centre of mass."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    scene = dal.Scene("rotor")
    place = np.array((0.1, 0.2, 0.3))
    body = scene.add_body("rotor", dal.Box(0.3, 0.2, 0.5), mass=2.0, position=place, angular_velocity=speed * axis)
    for name, side in (("one", -0.5), ("two", 0.5)):
        scene.hinge(name, dal.WORLD, body, at=place + side * axis, axis=axis)
    return scene


def four_bar(turn, speed=3.0, tilt=0.0, gap=0.0):
    """A crank, a coupler and a rocker; weight is turned as well. tilt : of the last hinge (rad). gap : of that which closes
    the loop in joint coordinates (m)."""
    scene = dal.Scene("four-bar", gravity=tuple(turn.apply([0, 0, -9.81])))
    a, b, c, d = (np.array(p) for p in ([0.0, 0, 0], [0.2, 0, 0.35], [1.05, 0, 0.8], [1.0, 0, 0]))
    shape = np.array([np.cross(ACROSS, c - b), -np.cross(ACROSS, c - d)]).T[[0, 2]]
    rates = [speed, *np.linalg.solve(shape, -np.cross(speed * ACROSS, b - a)[[0, 2]])]
    velocities = [0.5 * np.cross(speed * ACROSS, b - a), None, 0.5 * np.cross(rates[2] * ACROSS, c - d)]
    velocities[1] = 2.0 * velocities[0] + np.cross(rates[1] * ACROSS, 0.5 * (c - b))
    carrier = dal.WORLD
    for i, (start, end, mass) in enumerate(((a, b, 1.0), (b, c, 2.0), (c, d, 1.5))):
        body = bar(scene, f"bar {i}", start, end, mass, turn, velocity=turn.apply(velocities[i]),
                   angular_velocity=turn.apply(rates[i] * ACROSS))  # fmt: skip
        scene.hinge(f"hinge {i}", carrier, body, at=turn.apply(start), axis=turn.apply(ACROSS),
                    at_b=turn.apply(start + [gap if i == 2 else 0.0, 0.0, 0.0]))  # fmt: skip
        carrier = body
    scene.hinge("hinge 3", carrier, dal.WORLD, at=turn.apply(d), axis=turn.apply([np.sin(tilt), np.cos(tilt), 0.0]))
    return scene


def hooke(turn, link=False, speed=4.0):
    """Two shafts on bearings, the first of which starts with its pin at right angles to the plane of both. link : whether
    hinges on a link without mass, the second of them twice, stand for the universal joint between them."""
    scene = dal.Scene("Hooke", gravity=(0, 0, 0))
    first, second = np.array([1.0, 0, 0]), np.array([np.cos(SHAFTS), np.sin(SHAFTS), 0])
    pins = np.array([0, 0, 1.0]), np.cross([0, 0, 1.0], second)
    bodies = []
    for name, along, end, rate in (("one", first, -first, speed), ("two", second, second, speed * np.cos(SHAFTS))):
        spin = turn.apply(rate * along)
        body = strut(scene, name, np.zeros(3), end, 1.0 + len(bodies), turn, angular_velocity=spin)
        scene.hinge(f"bearing {name}", dal.WORLD, body, at=turn.apply(end), axis=turn.apply(along))
        bodies.append(body)
    if link:
        cross = scene.add_link("cross", position=(0, 0, 0))
        scene.hinge("first pin", bodies[0], cross, at=(0, 0, 0), axis=turn.apply(pins[0]))
        scene.hinge("second pin", cross, bodies[1], at=(0, 0, 0), axis=turn.apply(pins[1]))
        scene.close_loop("bearing two")
        scene.close_loop(scene.hinge("second pin again", cross, bodies[1], at=(0, 0, 0), axis=turn.apply(pins[1])))
    else:
        scene.universal("cross", *bodies, at=(0, 0, 0), axis_a=turn.apply(pins[0]), axis_b=turn.apply(pins[1]))
    return scene


def bricard(turn):
    """Six hinges along edges of a cube: 30 − 6 · 5 = 0 by Grübler's count, and yet it moves."""
    scene = dal.Scene("Bricard", gravity=tuple(turn.apply([0, 0, -9.81])))
    carrier = dal.WORLD
    for i in range(5):
        a, b = CORNERS[i], CORNERS[i + 1]
        rod = scene.add_body(f"rod {i}", dal.Box(*(np.abs(b - a) + 0.05)), mass=1.0, position=turn.apply(0.5 * (a + b)),
                             orientation=quaternion(turn))  # fmt: skip
        scene.hinge(f"joint {i}", carrier, rod, at=turn.apply(a), axis=turn.apply(AXES[i]))
        carrier = rod
    scene.hinge("joint 5", carrier, dal.WORLD, at=turn.apply(CORNERS[5]), axis=turn.apply(AXES[5]))
    return scene


def double_weld(turn):
    scene = dal.Scene("double weld")
    one = scene.add_body("one", dal.Box(0.3, 0.2, 0.1), mass=1.0, position=turn.apply([0.5, 0, 0]))
    two = scene.add_body("two", dal.Box(0.2, 0.4, 0.1), mass=2.0, position=turn.apply([0.9, 0.1, 0]))
    scene.hinge("hinge", dal.WORLD, one, at=turn.apply([0, 0, 0.1]), axis=turn.apply([0.3, 1, 0.2]))
    scene.weld("first", one, two, at=turn.apply([0.7, 0, 0]))
    scene.weld("second", one, two, at=turn.apply([0.8, 0.1, 0.05]))
    return scene


def stewart(turn):
    """A platform on six legs with springs: universal joints below, sliders, balls above. All six freedoms are left."""
    scene = dal.Scene("Stewart platform")
    top = scene.add_body("top", dal.Cylinder(0.5, 0.1), mass=5.0, position=turn.apply([0, 0, 1.0]),
                         orientation=quaternion(turn))  # fmt: skip
    for k in range(6):
        side = 1 if k % 2 else -1
        low, high = 2.0 * np.pi * (k // 2) / 3.0 + 0.2 * side, 2.0 * np.pi * (k // 2) / 3.0 + 0.8 * side
        foot = np.array([0.9 * np.cos(low), 0.9 * np.sin(low), 0.0])
        head = np.array([0.5 * np.cos(high), 0.5 * np.sin(high), 1.0])
        middle, along = 0.5 * (foot + head), head - foot
        lower, upper = (
            strut(scene, f"lower {k}", foot, middle, 0.4, turn),
            strut(scene, f"upper {k}", middle, head, 0.3, turn),
        )
        side = np.cross(along, [0, 0, 1.0])
        scene.universal(f"foot {k}", dal.WORLD, lower, at=turn.apply(foot), axis_a=turn.apply(side),
                        axis_b=turn.apply(np.cross(along, side)))  # fmt: skip
        scene.slider(f"slide {k}", lower, upper, at=turn.apply(middle), axis=turn.apply(along))
        scene.ball(f"head {k}", upper, top, at=turn.apply(head))
        scene.spring(
            f"spring {k}", lower, upper, at_a=turn.apply(foot), at_b=turn.apply(head), stiffness=300.0 + 40.0 * k
        )
    return scene


def ladder(turn, count=3):
    """Planar four-bars, each on the coupler of the one below."""
    scene = dal.Scene("ladder")
    carrier, left, right = dal.WORLD, np.zeros(3), np.array([1.0, 0, 0])
    for k in range(count):
        above, beside = left + np.array([0.3, 0, 0.8]), right + np.array([0.1, 0, 0.9])
        one, two = bar(scene, f"left {k}", left, above, 1.0, turn), bar(scene, f"right {k}", right, beside, 0.7, turn)
        coupler = bar(scene, f"coupler {k}", above, beside, 0.5, turn)
        for name, a, b, at in (("a", carrier, one, left), ("b", carrier, two, right), ("c", one, coupler, above),
                               ("d", two, coupler, beside)):  # fmt: skip
            scene.hinge(f"{name} {k}", a, b, at=turn.apply(at), axis=turn.apply(ACROSS))
        carrier, left, right = coupler, above, beside
    return scene


def slider_crank(turn):
    scene = dal.Scene("slider crank")
    shaft, pin = np.zeros(3), 0.3 * np.array([np.cos(0.7), 0, np.sin(0.7)])
    wrist = np.array([pin[0] + np.sqrt(1.0 - pin[2] ** 2), 0, 0])
    crank, rod = bar(scene, "crank", shaft, pin, 1.0, turn), bar(scene, "rod", pin, wrist, 0.5, turn)
    piston = scene.add_body("piston", dal.Box(0.2, 0.1, 0.1), mass=0.8, position=turn.apply(wrist),
                            orientation=quaternion(turn))  # fmt: skip
    scene.hinge("main", dal.WORLD, crank, at=turn.apply(shaft), axis=turn.apply(ACROSS))
    scene.hinge("big end", crank, rod, at=turn.apply(pin), axis=turn.apply(ACROSS))
    scene.slider("guide", dal.WORLD, piston, at=turn.apply(wrist), axis=turn.apply([1, 0, 0]))
    scene.hinge("small end", rod, piston, at=turn.apply(wrist), axis=turn.apply(ACROSS))
    return scene


def ring(turn, count=7):
    """A ring of bodies, free in space, with balls, a slider, a hinge and a spring across."""
    scene = dal.Scene("ring")
    angles = 2.0 * np.pi * np.arange(count) / count
    points = np.stack([np.cos(angles), np.sin(angles), 0.3 * np.sin(2.0 * angles)], axis=1)
    speed, spin = np.array([0.4, -0.2, 0.3]), np.array([0.5, 1.0, -0.7])
    bodies = []
    for k, own in enumerate(turns(count, seed=5)):
        x = 0.5 * (points[k] + points[(k + 1) % count])
        velocity = turn.apply(speed + np.cross(spin, x))
        bodies.append(scene.add_body(f"link {k}", dal.Box(0.3, 0.2, 0.25), mass=0.5 + 0.2 * k, position=turn.apply(x),
                                     orientation=quaternion(turn * own), velocity=velocity,
                                     angular_velocity=turn.apply(spin)))  # fmt: skip
    for k in range(count):
        a, b, at = bodies[k - 1], bodies[k], turn.apply(points[k])
        if k == 2:
            scene.slider(f"joint {k}", a, b, at=at, axis=turn.apply([1, 0.3, 0.2]))
        elif k == 4:
            scene.hinge(f"joint {k}", a, b, at=at, axis=turn.apply([0.1, 0.3, 1]))
        else:
            scene.ball(f"joint {k}", a, b, at=at)
    scene.spring("spring", bodies[0], bodies[3], at_a=turn.apply(points[0]), at_b=turn.apply(points[3]), stiffness=30.0,
                 rest=1.0)  # fmt: skip
    return scene


def big_and_small(turn):
    """A closed planar chain with a link of 1 mm and 1 g beside links of 10 m and a tonne."""
    scene = dal.Scene("big and small")
    points = [np.array(p, float) for p in ([0, 0, 0], [10, 0, 1], [10.001, 0, 1.0005], [10.5, 0, -2], [5, 0, -8])]
    carrier = dal.WORLD
    for k, mass in enumerate((1e3, 1e-3, 1.0, 500.0)):
        start, along = points[k], points[k + 1] - points[k]
        length = np.linalg.norm(along)
        own = turn * Rotation.from_rotvec(-np.arctan2(along[2], along[0]) * ACROSS)
        body = scene.add_body(f"link {k}", dal.Box(length, 0.1 * length, 0.1 * length), mass=mass,
                              position=turn.apply(start + 0.5 * along), orientation=quaternion(own))  # fmt: skip
        scene.hinge(f"hinge {k}", carrier, body, at=turn.apply(start), axis=turn.apply(ACROSS))
        carrier = body
    scene.hinge("last", carrier, dal.WORLD, at=turn.apply(points[-1]), axis=turn.apply(ACROSS))
    return scene


def table(turn, legs=5):
    """A plate on bent legs, balls at both ends of each: many loops close at the plate."""
    scene = dal.Scene("table", gravity=tuple(turn.apply([0, 0, -9.81])))
    plate = scene.add_body("plate", dal.Cylinder(1.0, 0.2), mass=4.0, position=turn.apply([0, 0, 1.0]),
                           orientation=quaternion(turn))  # fmt: skip
    for i in range(legs):
        out = np.array([np.cos(2.0 * np.pi * i / legs), np.sin(2.0 * np.pi * i / legs), 0.0])
        foot, knee, hip = out, 1.2 * out + [0, 0, 0.5], out + [0, 0, 1.0]
        shank, thigh = (
            strut(scene, f"shank {i}", foot, knee, 0.5, turn),
            strut(scene, f"thigh {i}", knee, hip, 0.5, turn),
        )
        scene.ball(f"foot {i}", dal.WORLD, shank, at=turn.apply(foot))
        scene.hinge(f"knee {i}", shank, thigh, at=turn.apply(knee), axis=turn.apply([-out[1], out[0], 0]))
        scene.ball(f"hip {i}", thigh, plate, at=turn.apply(hip))
    scene.external_force("push", plate, force=turn.apply([3.0, 5.0, 0.0]))
    return scene


def lever(turn, offset):
    """A bar on a hinge, held by a rod that passes so far (m) from the axis."""
    scene = dal.Scene("lever", gravity=tuple(turn.apply([0, 0, -9.81])))
    body = bar(scene, "lever", np.zeros(3), np.array([1.0, 0, 0]), 1.0, turn)
    scene.hinge("hinge", dal.WORLD, body, at=(0, 0, 0), axis=turn.apply(ACROSS))
    scene.rod("rod", dal.WORLD, body, at_a=turn.apply([-1.0, 0, offset]), at_b=turn.apply([1.0, 0, offset]))
    return scene


def geared(turn):
    """A four-bar whose crank drives a wheel."""
    scene = four_bar(turn)
    wheel = scene.add_body("wheel", dal.Cylinder(0.2, 0.1), mass=1.0, position=turn.apply([0, 0.5, 0]),
                           angular_velocity=turn.apply([0, -6.0, 0]))  # fmt: skip
    scene.hinge("wheel", dal.WORLD, wheel, at=turn.apply([0, 0.5, 0]), axis=turn.apply(ACROSS))
    scene.gear("gear", "hinge 0", "wheel", -2.0)
    return scene


def particles(turn):
    """Two bodies that rods tie to each other through particles."""
    scene = dal.Scene("particles")
    one = scene.add_body(
        "one", dal.Box(1.0, 0.1, 0.1), mass=1.0, position=turn.apply([0.5, 0, 0]), orientation=quaternion(turn)
    )
    two = scene.add_body(
        "two", dal.Box(1.0, 0.1, 0.1), mass=2.0, position=turn.apply([0.5, 1, 0]), orientation=quaternion(turn)
    )
    scene.hinge("hinge", dal.WORLD, one, at=(0, 0, 0), axis=turn.apply([0, 1, 0.2]))
    scene.ball("ball", dal.WORLD, two, at=turn.apply([0, 1, 0]))
    first, second = scene.add_particles("p", turn.apply([[1.2, 0.3, 0.1], [1.2, 0.7, -0.1]]), mass=0.3)
    tip = turn.apply([1.0, 0, 0])
    scene.rod("a", one, first, at_a=tip)
    scene.rod("b", first, second)
    scene.rod("c", second, two, at_b=turn.apply([1.0, 1.0, 0]))
    scene.rod("d", one, second, at_a=tip)
    return scene


def closed_chain(count):
    """Bars on balls that hang between two points."""
    scene = dal.Scene("chain")
    x = np.linspace(0.0, 1.0, count + 1)
    points = np.stack([x, 0.05 * np.sin(3.0 * x) * (1.0 - x), -0.6 * np.sin(np.pi * x)], axis=1)
    carrier = dal.WORLD
    for k in range(count):
        body = strut(scene, f"link {k}", points[k], points[k + 1], 0.1, Rotation.identity())
        scene.ball(f"ball {k}", carrier, body, at=points[k])
        carrier = body
    scene.ball("last", carrier, dal.WORLD, at=points[-1])
    return scene
