"""Energy from what a run recorded of its states, and nothing of its audit.

Kinetic and potential energy follow from positions, orientations and momenta by the definitions, with the masses, inertias,
springs and gravity of the scene; the work of a force by quadrature of force times velocity along the recorded path, by one of
two rules:

- "smooth", for motions that an integration method made: Simpson's rule over the frames;
- "steps", for time steps, which change velocities at one place of a step: the force in the middle between two frames times
  the displacement from one to the other. Record every step for it: it is exact then where a force depends on neither
  place nor velocity, and of the first order in a step where velocities jump.

Forces whose size no state tells (impulses of contacts, stops, dry friction, motors without damping) are taken as recorded:
`effort`, and the contacts of each step (`advance_watching`). What it does not know it refuses with NotImplementedError,
naming the force.

    account = audit(run)                 # of a finished Simulation
    account.error                        # (frames,) J: E − E₀ − Σ W
    disagreement(run)                  # largest difference of its audit from this one, over `energy_scale`

No function here reads `work`, `balance`, `kinetic` or `potential` of a trajectory, nor calls a kernel, but `disagreement`,
which compares with them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.spatial.transform import Rotation

from dalembert.scene.body import Body
from dalembert.scene.particles import Particle

TIME_STEPS = ("time_stepping", "linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2")
IMPULSIVE = ("limit", "friction", "servo")  # of these no state tells the size
NO_WORK = ("gravitation", "electrostatics")
CONTACT = ("contact: impacts", "contact: friction")


@dataclass
class Books:
    """times : (f,) s. kinetic, potential : (f,) J. work : of each force since the start, (f,) J."""

    times: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    work: dict

    @property
    def error(self):
        """(f,) J: E − E₀ − Σ W."""
        earned = self.kinetic + self.potential - sum(self.work.values(), np.zeros(len(self.times)))
        return earned - earned[0]

    @property
    def scale(self):
        """J, the largest of the energies that change."""
        return max(self.kinetic.max(), np.ptp(self.kinetic), np.ptp(self.potential), 1e-300)


class Path:
    """The states of a run, frame by frame; arrays begin with the axis of frames."""

    def __init__(self, scene, trajectory):
        self.scene, self.times = scene, np.asarray(trajectory.time.values, float)
        self.bodies = {body.name: i for i, body in enumerate(scene.bodies.values())}
        self.x, q = trajectory.position.values, trajectory.orientation.values
        self.q, f = q, len(q)
        self.turn = Rotation.from_quat(q.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix().reshape(f, -1, 3, 3)
        masses = np.array([body.mass for body in scene.bodies.values()])
        self.v = trajectory.momentum.values / masses[:, None]
        self.spin = trajectory.angular_momentum.values
        inertia = np.array([body.inertia for body in scene.bodies.values()]).reshape(-1, 3, 3)
        own = np.linalg.solve(inertia[None], np.swapaxes(self.turn, -1, -2) @ self.spin[..., None])
        self.omega = (self.turn @ own)[..., 0]
        self.masses = masses
        if scene.particles:
            groups = list(scene.particles.values())
            self.mass = np.concatenate([group.mass for group in groups])
            self.y = trajectory.particle_position.values
            self.p = trajectory.particle_momentum.values
            self.u = self.p / self.mass[:, None]

    def middles(self):
        """The path between frames, as if it were of as many frames less one: places in the middle, and the velocities that
        make the displacement from one frame to the next."""
        out = object.__new__(Path)
        h = np.diff(self.times)[:, None, None]
        out.scene, out.bodies, out.masses = self.scene, self.bodies, self.masses
        out.times = 0.5 * (self.times[1:] + self.times[:-1])
        out.x, out.v = 0.5 * (self.x[1:] + self.x[:-1]), np.diff(self.x, axis=0) / h
        before, after = (Rotation.from_matrix(t.reshape(-1, 3, 3)) for t in (self.turn[:-1], self.turn[1:]))
        way = (after * before.inv()).as_rotvec()
        middle = Rotation.from_rotvec(0.5 * way) * before
        out.turn = middle.as_matrix().reshape(self.turn[:-1].shape)
        out.q = middle.as_quat()[:, [3, 0, 1, 2]].reshape(self.q[:-1].shape)
        out.omega = way.reshape(out.v.shape) / h
        if self.scene.particles:
            out.mass = self.mass
            out.y, out.u = 0.5 * (self.y[1:] + self.y[:-1]), np.diff(self.y, axis=0) / h
        return out

    def point(self, frame, at):
        """(place, velocity, place at the start), (f, 3) each, of a point of a body, the world or a particle; at : where it is
        at the start."""
        at = np.asarray(at, float)
        if isinstance(frame, Particle):
            return self.y[:, frame.number], self.u[:, frame.number]
        if not isinstance(frame, Body):
            return np.broadcast_to(at, (len(self.times), 3)), np.zeros((len(self.times), 3))
        i = self.bodies[frame.name]
        arm = self.turn[:, i] @ (frame.rotation.T @ (at - frame.position))
        return self.x[:, i] + arm, self.v[:, i] + np.cross(self.omega[:, i], arm)

    def rotation(self, frame):
        """((f, 3, 3) turn since the start, (f, 3) angular velocity)."""
        if not isinstance(frame, Body):
            return np.broadcast_to(np.eye(3), (len(self.times), 3, 3)), np.zeros((len(self.times), 3))
        i = self.bodies[frame.name]
        return self.turn[:, i] @ frame.rotation.T, self.omega[:, i]

    def coordinate(self, joint, which):
        """(value, rate), (f,) each, of the angle or the displacement of a joint: rad or m, 0 at the start."""
        (turn_a, omega_a), (turn_b, omega_b) = self.rotation(joint.a), self.rotation(joint.b)
        axis = turn_a @ joint.axis
        if which == "angle":
            relative = np.swapaxes(turn_a, -1, -2) @ turn_b
            q = Rotation.from_matrix(relative).as_quat()
            angle = 2.0 * np.arctan2(q[:, :3] @ joint.axis, q[:, 3])
            return np.unwrap(angle), np.sum(axis * (omega_b - omega_a), axis=1)
        part = joint.parts[0]
        start_a, start_b = part.point_a, part.point_b
        if part.kind != "plane":
            start_a = start_b = joint.at
        (a, v_a), (b, v_b) = self.point(joint.a, start_a), self.point(joint.b, start_b)
        along = np.sum(axis * (b - a), axis=1)
        rate = np.sum(axis * (v_b - v_a), axis=1) + np.sum(np.cross(omega_a, axis) * (b - a), axis=1)
        return along - joint.axis @ (start_b - start_a), rate


# Energies of a state ----------------------------------------------------------------------------------------------------


def kinetic(path):
    """(f,) J: ½ m v² + ½ ω·L of bodies, ½ p²/m of particles, and ½ I ṡ² of the rotors of joints."""
    total = 0.5 * np.sum(path.masses[:, None] * path.v**2, axis=(1, 2)) + 0.5 * np.sum(
        path.omega * path.spin, axis=(1, 2)
    )
    if path.scene.particles:
        total = total + 0.5 * np.sum(path.p * path.u, axis=(1, 2))
    for joint in path.scene.joints.values():
        if joint.armature:
            _, rate = path.coordinate(joint, "angle" if joint.angle else "displacement")
            total = total + 0.5 * joint.armature * rate**2
    return total


def potential(path):
    """(f,) J: −m g·x, and what springs, torsion springs and uniform fields hold."""
    gravity = np.asarray(path.scene.gravity, float)
    total = -(path.x @ gravity) @ path.masses
    for force in path.scene.forces.values():
        if force.kind == "spring":
            length = np.linalg.norm(path.point(force.b, force.at_b)[0] - path.point(force.a, force.at_a)[0], axis=1)
            total = total + 0.5 * force.stiffness * (length - force.rest) ** 2
        elif force.kind == "torsion_spring":
            value, _ = path.coordinate(force.joint, force.coordinate)
            total = total + 0.5 * force.stiffness * (value - force.rest) ** 2
        elif force.kind == "field" and force.function is None:
            for group in force.groups:
                part = slice(group.first, group.last)
                pull = path.mass[part, None] * force.values["acceleration"] + force.values["force"]
                total = total - np.sum(path.y[:, part] * pull, axis=(1, 2))
        elif force.kind == "springs":
            stretch = np.linalg.norm(_spans(force, path.y), axis=2) - force.values["rest"]
            total = total + 0.5 * np.sum(force.values["stiffness"] * stretch**2, axis=1)
    if path.scene.particles:
        total = total - (path.y @ gravity) @ path.mass
    return total


# Powers of forces -------------------------------------------------------------------------------------------------------


def power(force, path):
    """(f,) W of what a force does that no potential knows of."""
    known = {"drag": _drag, "external_force": _load, "spring": _spring, "torsion_spring": _torsion, "motor": _motor,
             "medium": _medium, "field": _field, "springs": _damped_springs, "wind": _wind}  # fmt: skip
    if force.kind not in known:
        raise NotImplementedError(f"force {force.name!r}: the energy of {force.kind!r} is not known here")
    return known[force.kind](force, path)


def _drag(force, path):
    total = np.zeros(len(path.times))
    for body in path.scene.bodies.values() if force.bodies is None else force.bodies:
        i = path.bodies[body.name]
        for rate, (linear, quadratic, _) in ((path.v[:, i], force.vector), (path.omega[:, i], force.torque)):
            speed = np.linalg.norm(rate, axis=1)
            total -= linear * speed**2 + quadratic * speed**3
    return total


def _load(force, path):
    i = path.bodies[force.a.name]
    _, v = path.point(force.a, force.at_a)
    f = np.broadcast_to(np.concatenate([force.vector, force.torque]), (len(path.times), 6))
    if force.function is not None:
        states = zip(path.times, path.x[:, i], path.q[:, i], path.v[:, i], path.omega[:, i], strict=True)
        f = np.array([np.pad(np.asarray(force.function(*state), float), (0, 6))[:6] for state in states])
    push, torque = f[:, :3], f[:, 3:]
    if force.in_body:
        push, torque = ((path.turn[:, i] @ part[..., None])[..., 0] for part in (push, torque))
    return np.sum(push * v, axis=1) + np.sum(torque * path.omega[:, i], axis=1)


def _spring(force, path):
    (a, v_a), (b, v_b) = path.point(force.a, force.at_a), path.point(force.b, force.at_b)
    length = np.linalg.norm(b - a, axis=1)
    return -force.damping * (np.sum((b - a) * (v_b - v_a), axis=1) / np.where(length > 0.0, length, np.inf)) ** 2


def _torsion(force, path):
    return -force.damping * path.coordinate(force.joint, force.coordinate)[1] ** 2


def _motor(force, path):
    value, rate = path.coordinate(force.joint, force.coordinate)
    if force.function is not None:
        effort = np.array([force.function(*state) for state in zip(path.times, value, rate, strict=True)])
    else:
        effort = force.rest + force.stiffness * (force.position - value) + force.damping * (force.target - rate)
        effort = np.clip(effort, -force.limit, force.limit)
    return effort * rate


def _medium(force, path):
    total = np.zeros(len(path.times))
    for group in force.groups:
        v = path.u[:, group.first : group.last]
        slip = v - force.values["velocity"]
        size = force.values["linear"] + force.values["quadratic"] * np.linalg.norm(slip, axis=2, keepdims=True)
        total -= np.sum(size * slip * v, axis=(1, 2))
    return total


def _field(force, path):
    total = np.zeros(len(path.times))
    if force.function is None:
        return total
    for group in force.groups:
        for i in range(group.first, group.last):
            states = zip(path.times, path.y[:, i], path.u[:, i], strict=True)
            pull = np.array([force.function(*state) for state in states])
            total += np.sum(pull * path.u[:, i], axis=1)
    return total


def _damped_springs(force, path):
    way, rate = _spans(force, path.y), _spans(force, path.u)
    length = np.linalg.norm(way, axis=2)
    return -np.sum(force.values["damping"] * (np.sum(way * rate, axis=2) / length) ** 2, axis=1)


def _spans(force, values):
    """From one end of springs between particles to the other, (f, m, 3)."""
    first, second = np.asarray(force.values["nodes"]).T
    return values[:, second] - values[:, first]


def _wind(force, path):
    nodes = np.asarray(force.values["nodes"])
    a, b, c = (path.y[:, nodes[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    twice = np.linalg.norm(normal, axis=2, keepdims=True)
    mean = path.u[:, nodes].mean(axis=2)
    flow = np.broadcast_to(force.values["velocity"], mean.shape)
    if force.function is not None:
        middle = path.y[:, nodes].mean(axis=2)
        flow = np.array([[force.function(t, x) for x in row] for t, row in zip(path.times, middle, strict=True)])
    through = np.sum((flow - mean) * normal, axis=2, keepdims=True) / twice
    push = force.values["pressure"] * 0.5 * twice * np.abs(through) * through * normal / twice
    return np.sum(push * mean, axis=(1, 2))


# Books of a run ---------------------------------------------------------------------------------------------------------


def audit(run, contact_work=None, rule=None):
    """The `Books` of a finished `Simulation`. contact_work : (f,) J, the work of all contacts since the start: see
    `advance_watching`; left out, that of contacts is not booked. rule : "smooth" or "steps", chosen by the method."""
    scene, trajectory = run.model.scene, run.trajectory
    rule = rule or ("steps" if run.method in TIME_STEPS else "smooth")
    path = Path(scene, trajectory)
    middles = path.middles() if rule == "steps" else None
    work = {}
    for force in scene.forces.values():
        if force.kind in NO_WORK or (force.kind == "field" and force.function is None):
            continue
        if force.kind in IMPULSIVE:
            work[force.name] = _recorded_work(force, path, trajectory)
        elif rule == "steps":
            work[force.name] = _summed(np.diff(path.times) * power(force, middles))
        else:
            work[force.name] = cumulative_simpson(power(force, path), x=path.times, initial=0.0)
    if contact_work is not None:
        work["contact"] = np.asarray(contact_work)
    return Books(path.times, kinetic(path), potential(path), work)


def _recorded_work(force, path, trajectory):
    """Of what acts by impulses on a coordinate: the recorded effort of each step times the displacement in it."""
    value, _ = path.coordinate(force.joint, force.coordinate)
    effort = trajectory.effort.sel(force=force.name).values
    return _summed(effort[1:] * np.diff(value))


def _summed(parts):
    return np.concatenate([[0.0], np.cumsum(parts)])


def advance_watching(run, duration):
    """Advance a new `Simulation` that records each of its time steps, and return the (frames,) work of its contacts: their
    forces times the displacements of the points where they act; where bodies met on their way within a step, as the run has
    it, as its contacts have no common middle then."""
    met, impacts = [], [0]
    for _ in range(round(duration / run.settings["dt"])):
        run.advance(run.settings["dt"])
        met.append(run.contacts)
        impacts.append(run.report.contact.impacts)
    path = Path(run.model.scene, run.trajectory)
    assert len(path.times) == len(met) + 1, "record every step: frame_rate=1 / dt"
    middles = path.middles()
    powers = [sum(_contact_power(contact, k, middles) for contact in step) for k, step in enumerate(met)]
    own = run.trajectory.work.sel(force=list(CONTACT)).sum("force").values
    return _summed(np.where(np.diff(impacts) > 0, np.diff(own), np.diff(path.times) * powers))


def _contact_power(contact, k, path):
    total = 0.0
    for name, sign in ((contact.a, -1.0), (contact.b, 1.0)):
        if name in path.bodies:
            i = path.bodies[name]
            v = path.v[k, i] + np.cross(path.omega[k, i], contact.position - path.x[k, i])
            total += sign * float(contact.force @ v)
    return total


def disagreement(run, account=None):
    """The largest difference between a run's own audit and `audit`, over `Books.scale`: of kinetic energy, of the change of
    potential energy, of the work of each force, and of all contacts where `account` has it."""
    account, trajectory = account or audit(run), run.trajectory
    found = [np.abs(trajectory.kinetic.values - account.kinetic).max()]
    found.append(np.ptp(trajectory.potential.values - account.potential))
    for name, work in account.work.items():
        own = (
            trajectory.work.sel(force=list(CONTACT)).sum("force")
            if name == "contact"
            else trajectory.work.sel(force=name)
        )
        found.append(np.abs(own.values - own.values[0] - work).max())
    return max(found) / account.scale
