"""Islands as problems in matrices, compared with rows in the middle of a step; see `test_island_problem`."""

import ctypes

import numpy as np
from tests.articulated.test_contact_islands import ground, robot

import dalembert as dal
from dalembert.contact import island_problem as ip
from dalembert.contact.gauss_seidel import axes_of
from dalembert.contact.rows import contact_velocity, respond_to_freedom
from dalembert.contact.solvers import SOLVERS
from dalembert.contact.tables import ROW, WAITING, relative_velocity
from dalembert.contact.time_stepping import FINISHER
from dalembert.core.c_function import C_TYPE
from dalembert.core.tables import allocate


def scene_of(name):
    scene = ground()
    if name == "linkage":
        turns = [(0.0, 0.03), (0.1, 0.23), (0.5, 0.23), (0.6, 0.03)]
        material = dal.Material(0.5)
        bodies = []
        for i, ((x, z), (u, v)) in enumerate(zip(turns, turns[1:] + turns[:1], strict=True)):
            along = np.array([u - x, 0.0, v - z])
            turn = np.arctan2(-along[2], along[0])
            bodies.append(
                scene.add_body(
                    f"bar {i}", dal.Box(float(np.linalg.norm(along)), 0.05, 0.05), mass=0.5 + 0.1 * i,
                    position=(0.5 * (x + u), 0.0, 0.5 * (z + v)),
                    orientation=(np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0), material=material,
                )
            )  # fmt: skip
        for i in range(4):
            x, z = turns[(i + 1) % 4]
            scene.hinge(f"hinge {i}", bodies[i], bodies[(i + 1) % 4], at=(x, 0.0, z), axis=(0.0, 1.0, 0.0))
        return scene
    robot(scene, "r", 0.0, height=0.101, stop=True)
    if name == "beside":
        robot(scene, "s", 0.9, height=0.101, stop=True)
        scene.add_body(
            "box", dal.Box(1.2, 0.1, 0.1), mass=0.5, position=(0.45, 0.0, 0.2512), material=dal.Material(0.6)
        )
    return scene


def dense(coupling, width, problem):
    """(width, speeds): J of a row of the problem."""
    out = np.zeros((width, problem.counts[ip.PROBLEM_SPEEDS]))
    for block, at in zip(coupling.blocks, coupling.at, strict=True):
        if block >= 0:
            own = problem.blocks[block]
            out[:, own.first : own.first + own.speeds] += problem.jacobian[at : at + width * own.speeds].reshape(
                width, -1
            )
    return out


def differences(name, coordinates):
    run = dal.Simulation(scene_of(name), dt=0.002, coordinates=coordinates, method="time_stepping", tolerance=1e-14)
    driver = run._driver
    driver._finisher = SOLVERS[FINISHER]
    driver._workspace = driver._make_workspace(driver._finisher)
    driver._fit()
    found = {"looks": 0, "contacts": 0, "counts": [], "response": 0.0, "velocity": 0.0, "bound": 0.0}
    tables = driver._addresses[0][0]
    if coordinates == "joint":
        problem = driver._joint_space.problem
    else:
        spans = [6] * len(run.model.body_names)
        problem = allocate(ip.IslandProblem, ip.room_of_problem(len(spans), 100, 10, len(tables.system.error), spans))

    def look(data, task, number, *unused):
        if problem is not driver._joint_space.problem if coordinates == "joint" else False:
            return 0  # the tables have grown since
        assert ip.describe_island(int(number), True, problem, tables)
        compare(int(number), problem, tables, driver, coordinates == "joint", found)
        return 0

    callback = C_TYPE(look)
    for _ in range(60):
        driver_tables = driver._addresses[0][0]
        if driver_tables is not tables:
            tables = driver_tables
            problem = driver._joint_space.problem if coordinates == "joint" else problem
        tables.callbacks.finisher = ctypes.cast(callback, ctypes.c_void_p).value
        run.advance(0.002)
        if found["looks"] > 3:
            break
    return found


def compare(number, problem, tables, driver, joint, found):
    counts, n = problem.counts, int(problem.counts[ip.PROBLEM_SPEEDS])
    island = tables.collision.islands[number]
    if island.end == island.first:
        return
    mass, w = np.zeros((n, n)), np.zeros(n)
    for block in problem.blocks[: counts[ip.BLOCKS]]:
        own, size = slice(block.first, block.first + block.speeds), block.speeds
        mass[own, own] = problem.masses[block.mass : block.mass + size * size].reshape(size, size)
        w[own] = tables.stepping.motion[block.packed : block.packed + size]
    assert np.allclose(mass, mass.T, rtol=0.0, atol=1e-12)
    rows = [dense(one, 1, problem) for one in problem.equations[: counts[ip.EQUATIONS]]]
    g = np.vstack(rows) if rows else np.zeros((0, n))
    free = np.linalg.inv(mass)
    compliance = np.diag(problem.compliance[: len(g)])
    closed = free - free @ g.T @ np.linalg.solve(g @ free @ g.T + compliance, g @ free) if len(g) else free
    for coupling in problem.contacts[: counts[ip.PROBLEM_CONTACTS]]:
        i, j = int(coupling.number), dense(coupling, 3, problem)
        k = (j @ (closed if joint else free) @ j.T)[np.triu_indices(3)]
        u = j @ w
        seen = tables.stepping.rows[ROW * i : ROW * i + 6]
        found["response"] = max(found["response"], float(np.abs(k - seen).max() / abs(k[0])))
        if joint:
            v = contact_velocity(i, tables.stepping.motion, driver._joint_space.rows)
        else:
            contact = tables.collision.contacts[i]
            v = np.array(axes_of(contact)) @ relative_velocity(
                tables.stepping.motion, contact, tuple(contact.arm_a), tuple(contact.arm_b)
            )
        found["velocity"] = max(found["velocity"], float(np.abs(np.array(v) - u).max()))
    for coupling in problem.bounds[: counts[ip.BOUNDS]]:
        j, bound = dense(coupling, 1, problem), tables.stepping.bounds[int(coupling.number)]
        if bound.response == WAITING:  # as when the stop first acts
            respond_to_freedom(int(coupling.number), bound, driver.own.tables, driver._joint_space)
        found["bound"] = max(found["bound"], abs(float((j @ closed @ j.T).item()) / bound.response - 1.0))
    found["looks"] += 1
    found["contacts"] += int(counts[ip.PROBLEM_CONTACTS])
    found["counts"] = [int(counts[k]) for k in (ip.BLOCKS, ip.BOUNDS, ip.EQUATIONS)]
