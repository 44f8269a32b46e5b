"""What is checked of a random mechanism. Each check gives a list of sentences: what disagrees with what, and by how much."""

import numpy as np

import dalembert as dal

from .mechanisms import constraint_rank

DURATION, FRAMES = 0.4, 100.0
RTOL = 1e-10
COARSE = 1e-7  # a run at this tolerance says how strongly the motion amplifies errors
FLOOR = 1e-7  # m, rad, kg m²/s: 1000 × rtol, which bounds the error of one step; no run is held to less


def simulate(scene, **settings):
    return dal.simulate(scene, DURATION, **{"method": "dop853", "rtol": RTOL, "frame_rate": FRAMES} | settings)


def mechanism_problems(scene):
    """All checks of one scene; an empty list where all agree."""
    run = simulate(scene)
    allowed = max(FLOOR, 0.1 * difference(run, simulate(scene, rtol=COARSE)))
    return [
        *coordinates_problems(scene, run, allowed),
        *rank_problems(scene, run),
        *energy_problems(scene, run, allowed),
        *momentum_problems(scene, run),
        *joint_problems(run),
    ]


def difference(run, other):
    """The largest difference of two runs of a scene in position (m) and orientation."""
    one, two = run.trajectory, other.trajectory
    if len(one.times) != len(two.times):
        return np.inf
    flips = np.sign((one.orientation.values * two.orientation.values).sum(axis=-1, keepdims=True))
    turned = np.abs(one.orientation.values - flips * two.orientation.values).max(initial=0.0)
    return max(np.abs(one.position.values - two.position.values).max(initial=0.0), turned)


def coordinates_problems(scene, run, allowed):
    """Joint coordinates against maximal ones: motion, energy, works, redundancy."""
    other = simulate(scene, coordinates="joint")
    found = difference(run, other)
    problems = []
    if not found <= allowed:
        problems.append(f"maximal and joint coordinates differ by {found:.3g}, {allowed:.3g} allowed")
    for kind in ("kinetic", "potential"):
        one, two = (getattr(each.trajectory, kind).values for each in (run, other))
        size = max(run.report.energy_scale, 1.0)
        if not np.abs(one - two).max() <= 100.0 * allowed * size:
            problems.append(f"{kind} energies differ by {np.abs(one - two).max():.3g} J")
    if other.report.energy_residual > 100.0 * allowed * max(run.report.energy_scale, 1.0):
        problems.append(f"energy balance in joint coordinates: {other.report.energy_residual:.3g} J")
    return problems + joint_problems(other)


def rank_problems(scene, run):
    """Whether the report calls constraints redundant exactly where their rank says so."""
    poses = {name: (body.position, body.rotation) for name, body in scene.bodies.items()}
    rank, rows = constraint_rank(scene, poses)
    if rank is None or run.report.redundant == (rank < rows):
        return []
    return [f"report.redundant is {run.report.redundant}, and the rank is {rank} of {rows} rows"]


def joint_problems(run):
    report = run.report
    found = []
    if not report.joint_error <= 1e-10:
        found.append(f"joint {report.worst_joint!r} is open by {report.joint_error:.3g} m")
    if not report.joint_velocity_error <= 1e-8:
        found.append(f"joint {report.worst_joint!r} moves apart with {report.joint_velocity_error:.3g} m/s")
    return found


def energy_problems(scene, run, allowed):
    """Energies of the audit against those from states alone, and their balance."""
    record = run.trajectory
    kinetic, potential = np.zeros(len(record.times)), np.zeros(len(record.times))
    for i, body in enumerate(scene.bodies.values()):
        rotation = rotations(record.orientation.values[:, i])
        momentum, spin = record.momentum.values[:, i], record.angular_momentum.values[:, i]
        local = np.einsum("tji,tj->ti", rotation, spin)
        kinetic += 0.5 * (momentum**2).sum(axis=1) / body.mass
        kinetic += 0.5 * np.einsum("ti,ij,tj->t", local, np.linalg.inv(body.inertia), local)
        potential -= body.mass * record.position.values[:, i] @ scene.gravity
    for force in scene.forces.values():
        if force.kind == "spring":
            length = np.linalg.norm(
                point_of(scene, record, force.a, force.at_a) - point_of(scene, record, force.b, force.at_b), axis=1
            )
            potential += 0.5 * force.stiffness * (length - force.rest) ** 2
    found = []
    size = max(run.report.energy_scale, 1.0)
    if np.abs(kinetic - record.kinetic.values).max() > 1e-9 * size:
        found.append(f"kinetic energy: {np.abs(kinetic - record.kinetic.values).max():.3g} J from that of the states")
    if not any(force.kind == "torsion_spring" for force in scene.forces.values()):
        off = potential - record.potential.values
        if np.abs(off - off[0]).max() > 1e-9 * size:
            found.append(f"potential energy: {np.abs(off - off[0]).max():.3g} J from that of the states")
    if run.report.energy_residual > 100.0 * allowed * size:
        found.append(f"energy balance in maximal coordinates: {run.report.energy_residual:.3g} J")
    return found


def momentum_problems(scene, run):
    """Newton's law for the whole, where nothing holds it to the world and all forces but gravity are inner ones."""
    held = any(not hasattr(body, "inertia") for joint in scene.joints.values() for body in joint.bodies)
    outer = any(
        force.kind in ("external_force", "drag") or (force.kind == "spring" and not hasattr(force.b, "inertia"))
        for force in scene.forces.values()
    )
    if held or outer:
        return []
    record = run.trajectory
    times = record.times - record.times[0]
    momentum = record.momentum.values.sum(axis=1)
    mass = sum(body.mass for body in scene.bodies.values())
    spin = (np.cross(record.position.values, record.momentum.values) + record.angular_momentum.values).sum(axis=1)
    masses = np.array([body.mass for body in scene.bodies.values()])
    center = np.einsum("i,tik->tk", masses / mass, record.position.values)
    spin = spin - np.cross(center, momentum)  # about the centre of mass, where gravity has no moment
    found = []
    # explicit methods keep what is linear in the state to rounding, and what is quadratic to their tolerance
    for what, error, allowed in (
        ("momentum", momentum - momentum[0] - mass * np.outer(times, scene.gravity), 1e-11),
        ("angular momentum", spin - spin[0], FLOOR),
    ):
        if np.abs(error).max() > allowed * max(1.0, np.abs(momentum).max(), np.abs(spin).max()):
            found.append(f"{what} changes by {np.abs(error).max():.3g} with no force from outside")
    return found


def rotations(q):
    """(..., 3, 3) of quaternions (..., 4), w first."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def point_of(scene, record, frame, at):
    """(t, 3) where a point of a body, given at the start, has been."""
    if not hasattr(frame, "inertia"):
        return np.broadcast_to(at, (len(record.times), 3))
    i = list(scene.bodies).index(frame.name)
    return record.position.values[:, i] + rotations(record.orientation.values[:, i]) @ frame.to_body(at)
