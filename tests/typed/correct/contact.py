"""Boxes on the ground, obstacles, particles and cloth; contacts, queries and reports."""

import dalembert as dal

rubber = dal.Material(friction=0.8, restitution=0.2, rolling_friction=0.001)
scene = dal.Scene("boxes", material=rubber)
ground = scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.5))
belt = scene.add_obstacle("belt", dal.Box(2.0, 1.0, 0.1), motion="set", surface_velocity=(0.5, 0.0, 0.0))
boxes = [
    scene.add_body(f"box {k}", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.05 + 0.1 * k)) for k in range(3)
]
ghost = scene.add_body(
    "ghost",
    dal.Compound([(dal.Sphere(0.1), (0, 0, 0)), (dal.Box(0.1, 0.1, 0.1), (0, 0, 0.1))]),
    mass=1.0,
    material=None,
)
scene.set_contact(boxes[0], "ground", friction=0.1)
scene.set_contact(boxes[1], boxes[2], enabled=False)

vertices, faces = dal.triangle_grid(1.0, 1.0, 10, 10)
cloth = scene.cloth(
    "cloth", vertices, faces, density=0.2, stretch=1e3, shear=1e2, pinned=[0, 10], radius=0.005, color="#4c78a8"
)
hair = scene.thread("hair", [(0, 0, 1), (0, 0, 0.9), (0, 0, 0.8)], density=0.01, bend=1e-6, pinned=[0])
grains = scene.add_particles("grains", [(0, 0, 2), (0, 0, 3)], mass=0.1, radius=0.01, velocity=(0, 0, 1))
scene.spring("leash", grains[0], boxes[0], at_b=(0, 0, 0.1), stiffness=10.0, damping=0.1)
scene.gravitation("pull", [grains, "hair"], constant=1.0, softening=0.01)
scene.wind("wind", cloth, velocity=(1.0, 0.0, 0.0))

run = dal.Simulation(scene, dt=1 / 240, solver="converging", sleep_after=0.5, threads=2, stop_unsolved=True)
run.set_motion("belt", velocity=(0.1, 0, 0))
run.advance(0.5).advance_frame()
for contact in run.contacts:
    print(contact.a, contact.b, contact.force, contact.position)
hit = run.ray_cast((0, 0, 5), (0, 0, -1), reach=10.0)
if hit is not None:
    print(hit.name, hit.distance)
print(run.gap("box 0", "box 2").distance, run.overlapping(), run.asleep)
print(run.report.contact.penetration, run.report.particles.newton)
forces = run.trajectory.contact_force_between("ground", "box 0").values
step = dal.TimeStepping(dt=1e-3, iterations=30)
implicit = dal.ImplicitParticles("bdf2", dt=1e-2, linear_solver="direct")
run = dal.simulate(scene, 1.0, method=implicit)
