"""What is checked of a random scene of contact, from recorded states and reported forces alone.

A time step of contact changes all momenta at its midpoint (J. J. Moreau): the position there follows from the free motion
of the recorded state, so that Newton's law, Coulomb's law and the kinetic energy can be written out again here.
"""

import itertools

import numpy as np

import dalembert as dal
from collide.oracle import coal_distance, placed, support_height
from dalembert.collide.tables import CONTACTS

from .contact_scenes import DT
from .mechanism_checks import rotations

NEWTON = 1e-9  # of the momenta that are exchanged
ROUNDING = 1e-12
LAW = 1e-8  # m/s: how much the natural map found here may exceed the reported one
DRIFT = 1e-5  # times (ω h)⁵: the error of a rotation of the engine's, whose drift is of fourth order
OVERLAP = 1e-4  # m
# v @ CROSS: the nine numbers of the matrix of v ×
CROSS = np.cross(np.eye(3)[:, :, None], np.eye(3), axis=1).reshape(3, 9)


class Watch:
    """Collects what the steps of a run report, one step a frame."""

    def __init__(self):
        self.contacts, self.bends, self.again, self.impacts = [], [], [], [0]

    def __call__(self, run):
        self.contacts.append(run.contacts)
        self.bends.append(bends_of(run))
        self.again.append(int(run._driver.bodies.report.struck[0]))
        self.impacts.append(run.report.contact.impacts)


def bends_of(run):
    """What the velocities of contacts are moved by in the law, on curved paths (3,), m/s: of those at each position, where
    several corners of a rim may be."""
    rows, found = run._driver.bodies.collision, {}
    for row in rows.contacts[: rows.counts[CONTACTS]]:
        found.setdefault(tuple(row.position), []).append(row.bend @ row.frame.reshape(3, 3))
    return found


def watched_run(scene, steps, **settings):
    """A run of so many steps with each recorded, and what was watched in each."""
    watch = Watch()
    run = dal.Simulation(scene, method="time_stepping", dt=DT, frame_rate=1.0 / DT, **settings)
    run.advance(steps * DT, progress=watch)
    return run, watch


def contact_problems(scene, steps=240, **settings):
    """What is wrong in a run; of a step in which fast bodies met others on their way, only the momenta are
    checked, as its forces are sums over several instants and places."""
    watch = Watch()
    run = dal.Simulation(scene, method="time_stepping", dt=DT, frame_rate=1.0 / DT, **settings)
    run.advance(steps * DT, progress=watch)
    contacts = watch.contacts
    record = run.trajectory
    if len(record.times) != len(contacts) + 1:
        return [f"{len(record.times)} frames of {len(contacts)} steps"]
    problems = [*finite_problems(record), *balance_problems(run)]
    kept = float(run._driver._tables.options.kept[0])
    steps = [Step(scene, record, k, found, kept, watch.bends[k], watch.again[k]) for k, found in enumerate(contacts)]
    bounce = scene.material.restitution > 0.0
    assert np.count_nonzero(np.diff(watch.impacts)) < 0.5 * len(steps), "too few steps are checked"
    for step in steps:
        on_way = watch.impacts[step.k + 1] > watch.impacts[step.k]
        problems += step.newton_problems(turning=not on_way)
        if on_way:
            continue
        reported = float(record.contact_residual.values[step.k + 1])
        # sweeps end on the cone whatever is left of the law; the converging solver comes near it
        problems += step.cone_problems(reported if settings.get("solver") == "interior_point" else 0.0)
        problems += step.energy_problems(record)
        problems += step.bend_problems()
        if not bounce:
            problems += step.law_problems(reported)
        if len(problems) > 8:
            break
    return problems


def finite_problems(record):
    bad = [name for name in ("position", "orientation", "momentum", "angular_momentum", "kinetic", "contact_force")
           if not np.isfinite(getattr(record, name).values).all()]  # fmt: skip
    return [f"{name} is not finite" for name in bad]


def balance_problems(run):
    """The balance closes beside what putting overlap right does; for joints that is booked to first order only."""
    scale = max(run.report.energy_scale, 1e-3)
    if run.report.integration_error > (1e-4 if run.model.joint_names else 1e-6) * scale:
        return [f"energy balance: {run.report.integration_error:.3g} J of {scale:.3g} J beside projection"]
    return []


class Step:
    """One step: momenta before and after, and the state at its midpoint. kept : m, the gap over which contacts keep force.
    bends : see `bends_of`. again : the first so many contacts followed the others, where bodies were so fast after them that
    they meet more in the step: each is a sum over points of a pair, for which the laws of a point do not hold."""

    def __init__(self, scene, record, k, contacts, kept, bends=None, again=0):
        self.scene, self.k, self.contacts, self.kept, self.bends, self.again = (
            scene,
            k,
            contacts,
            kept,
            bends or {},
            again,
        )
        self.names = list(scene.bodies)
        bodies = list(scene.bodies.values())
        self.mass = np.array([b.mass for b in bodies])
        self.joined = {f.name for j in scene.joints.values() for f in j.bodies if hasattr(f, "inertia")}
        self.before = record.momentum.values[k], record.angular_momentum.values[k]
        self.after = record.momentum.values[k + 1], record.angular_momentum.values[k + 1]
        self.position = record.position.values[k] + 0.5 * DT * self.before[0] / self.mass[:, None]
        inertia = np.array([body.inertia for body in bodies])
        turns = free_rotations(record.orientation.values[k], self.before[1], inertia, 0.5 * DT)
        self.inverse = list(turns @ np.linalg.inv(inertia) @ turns.transpose(0, 2, 1))
        self.sizes = [size_of(body) for body in bodies]

    def newton_problems(self, turning=True):
        """Each body's momentum, and angular momentum if `turning`, change by gravity and its contacts, where no joint
        holds it."""
        force = np.zeros((len(self.names), 3))
        torque = np.zeros((len(self.names), 3))
        size = np.full(len(self.names), DT * self.mass * np.linalg.norm(self.scene.gravity))
        for contact in self.contacts:
            for name, sign in ((contact.a, -1.0), (contact.b, 1.0)):
                if name in self.names:
                    i = self.names.index(name)
                    force[i] += sign * contact.force
                    torque[i] += sign * (np.cross(contact.position - self.position[i], contact.force) + contact.torque)
                    size[i] += DT * np.linalg.norm(contact.force)
        found = []
        for i, name in enumerate(self.names):
            if name in self.joined:
                continue
            off = self.after[0][i] - self.before[0][i] - DT * (self.mass[i] * self.scene.gravity + force[i])
            turned = self.after[1][i] - self.before[1][i] - DT * torque[i]
            size[i] += np.linalg.norm(self.before[0][i])
            if np.abs(off).max() > NEWTON * size[i]:
                found.append(
                    f"step {self.k}: momentum of {name!r} off by {np.abs(off).max():.3g} of {size[i]:.3g} kg m/s"
                )
            if turning and np.abs(turned).max() > NEWTON * max(
                size[i] * self.sizes[i], np.linalg.norm(self.before[1][i])
            ):
                found.append(f"step {self.k}: angular momentum of {name!r} off by {np.abs(turned).max():.3g} kg m²/s")
        return found

    def cone_problems(self, reported=0.0):
        """Contacts push, with friction within Coulomb's cone, to the residual that the step reports (m/s)."""
        mu = self.scene.material.friction
        found = []
        weight = self.mass.sum() * np.linalg.norm(self.scene.gravity)
        rounding = ROUNDING * max([weight, *(np.linalg.norm(contact.force) for contact in self.contacts)])
        for contact in self.contacts[self.again :]:
            normal = contact.normal @ contact.force
            tangent = np.linalg.norm(contact.force - normal * contact.normal)
            allowed = rounding + np.hypot(1.0, mu) * reported / (DT * self.compliance(contact))
            if normal < -allowed or tangent > mu * normal + allowed:
                found.append(f"step {self.k}: force {normal:.6g}, {tangent:.6g} N outside the cone of μ = {mu:g}")
        return found

    def energy_problems(self, record):
        """Contacts take energy and bring none: p · ½ (u_free + u⁺) ≤ 0, with u_free the velocities that forces alone would
        give, and angular impulses likewise; and p · ½ (u⁻ + u⁺), with what putting overlap right took, is how much the energy
        changed; with what the weight does by the velocities that later contacts changed, in the second half of the step."""
        if self.joined:
            return []
        brought = changed = turned = 0.0
        for number, contact in enumerate(self.contacts):
            p = DT * contact.force
            after, before = (self.approach(contact, momenta) for momenta in (self.after, self.before))
            fall = (float(contact.b in self.names) - float(contact.a in self.names)) * DT * self.scene.gravity
            spin = sum(
                self.spin(contact.b, momenta) - self.spin(contact.a, momenta) for momenta in (self.before, self.after)
            )
            twisted = 0.5 * DT * contact.torque @ spin
            brought += 0.5 * p @ (before + fall + after) + twisted
            changed += 0.5 * p @ (before + after) + twisted
            if number < self.again:
                changed += 0.5 * p @ fall
            turned += np.linalg.norm(p) * (np.linalg.norm(before) + np.linalg.norm(after))
        total = [record.kinetic.values[k] + record.potential.values[k] + record.projection_loss.values[k]
                 for k in (self.k, self.k + 1)]  # fmt: skip
        size = max(turned, abs(total[0]), float(record.kinetic.values[self.k]))
        found = []
        missed = float(record.contact_residual.values[self.k + 1])
        if brought > 1e-9 * size + missed * sum(DT * np.linalg.norm(c.force) for c in self.contacts):
            found.append(f"step {self.k}: contacts bring {brought:.3g} J, {turned:.3g} J turned over")
        turn = DT * max(np.linalg.norm(self.spin(name, self.before)) for name in self.names)
        if abs(total[1] - total[0] - changed) > (1e-9 + DRIFT * turn**5) * size:
            found.append(
                f"step {self.k}: the energy changes by {total[1] - total[0]:.6g} J, contacts give {changed:.6g} J"
            )
        return found

    def bend_problems(self):
        """No bend lets a contact push its bodies apart faster than they approach, or along it faster than they slide."""
        found = []
        for contact in self.contacts:
            if {contact.a, contact.b} & self.joined:
                continue
            before = self.approach(contact, self.before)
            approach = before @ contact.normal
            sliding = np.linalg.norm(before - approach * contact.normal)
            allowed = LAW + self.drift_error(contact)
            for bend in self.bends.get(tuple(contact.position), []):
                normal = bend @ contact.normal
                along = np.linalg.norm(bend - normal * contact.normal)
                if normal < min(approach, 0.0) - allowed or along > sliding + allowed:
                    found.append(f"step {self.k}: bend {bend} m/s of a contact with {before} m/s before the step")
        return found

    def approach(self, contact, momenta):
        """The velocity of b over a at a contact, m/s."""
        return self.velocity(contact.b, contact.position, momenta) - self.velocity(contact.a, contact.position, momenta)

    def velocity(self, name, at, momenta):
        if name not in self.names:
            return np.zeros(3)
        i = self.names.index(name)
        return momenta[0][i] / self.mass[i] + np.cross(self.spin(name, momenta), at - self.position[i])

    def spin(self, name, momenta):
        """The angular velocity of a body or obstacle, rad/s."""
        if name not in self.names:
            return np.zeros(3)
        i = self.names.index(name)
        return self.inverse[i] @ momenta[1][i]

    def compliance(self, contact):
        """n · J W Jᵀ n, 1/kg."""
        value = 0.0
        for name in (contact.a, contact.b):
            if name in self.names:
                i = self.names.index(name)
                across = np.cross(contact.position - self.position[i], contact.normal)
                value += 1.0 / self.mass[i] + across @ self.inverse[i] @ across
        return value

    def drift_error(self, contact):
        """How much the velocity of a contact is off at most as the engine turns its bodies, m/s."""
        turn = max(np.linalg.norm(self.spin(name, self.before)) for name in (contact.a, contact.b)) * DT
        return DRIFT * turn**5 * np.linalg.norm(self.approach(contact, self.before))

    def natural_map(self):
        """The largest |p − proj_K(p − ρ û)| / ρ of the contacts between bodies that no joint holds, m/s."""
        mu, worst = self.scene.material.friction, 0.0
        for contact in self.contacts[self.again :]:
            if {contact.a, contact.b} & self.joined:
                return None
            u = self.approach(contact, self.after)
            biases = {max(contact.separation, 0.0) / DT}
            if contact.normal @ contact.force > 0.0 and contact.separation <= self.kept:
                biases.add(0.0)  # a contact keeps its force over a gap within the overlap that is tolerated
            c = self.compliance(contact)
            p = DT * contact.force
            maps = []
            for bias, bend in itertools.product(biases, self.bends.get(tuple(contact.position), [np.zeros(3)])):
                normal = (u + bend) @ contact.normal
                tangent = u + bend - normal * contact.normal
                raised = normal + bias + mu * np.linalg.norm(tangent)
                x = p - (tangent + raised * contact.normal) / c
                maps.append(c * np.linalg.norm(p - project(x, contact.normal, mu)))
            worst = max(worst, min(maps))
        return worst

    def law_problems(self, reported):
        """Coulomb's law with impenetrability, to what the run reports of this step."""
        found = self.natural_map()
        allowed = LAW + max((self.drift_error(contact) for contact in self.contacts), default=0.0)
        if found is None or found <= reported + allowed + 1e-6 * abs(found):
            return []
        return [f"step {self.k}: natural map {found:.3g} m/s, and {reported:.3g} is reported"]


def project(x, normal, mu):
    """The point of Coulomb's cone nearest to x."""
    n = x @ normal
    t = x - n * normal
    size = np.linalg.norm(t)
    if mu * size <= -n:
        return np.zeros(3)
    if size <= mu * n:
        return x
    n = (n + mu * size) / (1.0 + mu * mu)
    return n * normal + mu * n * t / size


def free_rotations(q, momentum, inertia, time, pieces=32):
    """The rotation matrices (n, 3, 3) after free motion from the orientations q (n, 4; w first), by classical Runge–Kutta
    steps. momentum : (n, 3). inertia : (n, 3, 3)."""
    turn, inverse, momentum = rotations(q), np.linalg.inv(inertia), momentum[:, :, None]

    def rate(matrix):
        velocity = matrix @ (inverse @ (matrix.transpose(0, 2, 1) @ momentum))
        return (velocity[:, :, 0] @ CROSS).reshape(-1, 3, 3) @ matrix

    h = time / pieces
    for _ in range(pieces):
        a = rate(turn)
        b = rate(turn + 0.5 * h * a)
        c = rate(turn + 0.5 * h * b)
        d = rate(turn + h * c)
        turn = turn + h / 6.0 * (a + 2 * b + 2 * c + d)
    return turn


def size_of(body):
    return 2.0 * np.sqrt(np.trace(body.inertia) / body.mass)


def overlap_problems(scene, steps=240, every=12, **settings):
    """The deepest overlap of convex solids, by an independent library, is no deeper than the run reports around that time.

    Positions are recorded half a step after the overlap was looked at: what moves on in between may go deeper by OVERLAP, and
    farther where an impact on the way follows at once: it is left out.
    """
    import coal

    run, watch = watched_run(scene, steps, **settings)
    record = run.trajectory
    found = []
    for k in range(every, steps, every):
        deepest, pair = deepest_overlap(coal, scene, record, k)
        reported = record.penetration.values[k : k + 3].max()
        if deepest > reported + OVERLAP and watch.impacts[k + 1] == watch.impacts[k]:
            found.append(f"frame {k}: {pair} overlap by {deepest:.3g} m, {reported:.3g} m is reported")
    return found


def deepest_overlap(coal, scene, record, k):
    solids = []
    for i, body in enumerate(scene.bodies.values()):
        solids.append((body, record.position.values[k, i], rotations(record.orientation.values[k, i])))
    solids += [(o, o.position, o.rotation) for o in scene.obstacles.values()]
    joined = {frozenset(f.name for f in joint.bodies) for joint in scene.joints.values()}
    deepest, pair = 0.0, ("", "")
    for a, (one, x, turn) in enumerate(solids[: len(scene.bodies)]):
        for other, y, turned in solids[a + 1 :]:
            if not (is_convex(one.shape) and is_convex(other.shape)) or frozenset((one.name, other.name)) in joined:
                continue
            shift = turn @ one.center if hasattr(one, "center") else 0.0
            shifted = turned @ other.center if hasattr(other, "center") else 0.0
            if isinstance(other.shape, dal.HalfSpace):
                tables = placed((one.shape, x - shift, turn))
                distance = -support_height(tables, 0, -turned[:, 2]) - turned[:, 2] @ y
            else:
                distance = coal_distance(
                    coal, placed((one.shape, x - shift, turn), (other.shape, y - shifted, turned))
                )[0]
            if -distance > deepest:
                deepest, pair = -distance, (one.name, other.name)
    return deepest, pair


def is_convex(shape):
    return isinstance(
        shape,
        dal.HalfSpace | dal.Sphere | dal.Capsule | dal.Box | dal.Cylinder | dal.Cone | dal.Ellipsoid | dal.ConvexHull,
    )
