"""Mistakes that a type checker must report: each at the line that ends in "# error", and none elsewhere."""

# ruff: noqa: B018

import dalembert as dal

scene = dal.Scene("mistakes")
body = scene.add_body("body", dal.Sphere(0.1), mass=1.0)
ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.0))
run = dal.simulate(scene, 1.0)
points = [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]

# Names that do not exist
dal.Secne("scene")  # error
dal.Simulate(scene, 1.0)  # error
dal.load_modle("robot.urdf")  # error
dal.gallery.laod("pendulum")  # error
dal.gallery.load("pendulum").bild()  # error
scene.add_bodi("other", dal.Sphere(0.1), mass=1.0)  # error
scene.load("f", body, force=(0, 0, 1))  # error
dal.sheet(1.0, 1.0, 2, 2)  # error
scene.hindge("joint", dal.WORLD, body, (0, 0, 0), (0, 1, 0))  # error
run.trajectry  # error
run.state.positon  # error
run.trajectory.positon  # error
run.report.energy_eror  # error
run.report.contact.penetraton if run.report.contact else None  # error
run.plot.enrgy()  # error
body.velocty  # error
run[body].positon  # error
run[body].effort  # error
run[body].apply_forse((1.0, 0.0, 0.0))  # error
run.joint("joint").targt  # error

# Keywords that do not exist
dal.Scene("scene", gravty=(0.0, 0.0, 0.0))  # error
dal.Material(frcition=0.5)  # error
dal.Sphere(radios=1.0)  # error
dal.simulate(scene, 1.0, metod="rk4")  # error
dal.simulate(scene, 1.0, step=0.01)  # error
dal.Simulation(scene, frame=60.0)  # error
dal.Simulation(scene, frames=60.0)  # error
dal.Simulation(scene, rtoll=1e-9)  # error
dal.RungeKutta("rk4", step=0.01)  # error
dal.TimeStepping(dt=0.01, threds=2)  # error
dal.show(scene, wait=False, hostname="localhost")  # error
dal.sweep("pendulum", {"length": [1.0]}, 1.0, worker=2)  # error
dal.run_batch(scene, 1.0, vary={}, control_rat=10.0)  # error
dal.replay(run.trajectory, controler=None)  # error
dal.load_model("robot.urdf", floatng=True)  # error
scene.add_body("b", dal.Sphere(0.1), mas=1.0)  # error
scene.add_obstacle("o", dal.HalfSpace(), frction=0.5)  # error
scene.add_particles("p", points, mass=1.0, radios=0.1)  # error
scene.thread("t", points, density=1.0, colour="#ffffff")  # error
scene.spring("s", body, ball, stifness=1.0, stiffness=1.0)  # error
scene.motor("m", "joint", torque=1.0)  # error
scene.motor("m", "joint", gain=1.0)  # error
scene.limit("l", "joint", min=0.0)  # error
scene.event("e", lambda t, y: t - 1.0, stopp=True)  # error
run.advance(1.0, progres=None)  # error
run.set_motor("m", velocity=1.0)  # error
run.trajectory.save_picture("p.png", when=1.0)  # error
run.trajectory.save_movie("m.mp4", fps=30)  # error
run.ray_cast((0, 0, 1), (0, 0, -1), range=2.0)  # error

# Values of another type
dal.simulate(scene, "1.0")  # error
dal.simulate("pendulum", 1.0)  # error
dal.simulate(scene)  # error
dal.simulate(scene, 1.0, method="runge_kutta")  # error
dal.simulate(scene, 1.0, method=4)  # error
dal.simulate(scene, 1.0, dt="0.01")  # error
dal.simulate(scene, 1.0, hold="projektion")  # error
dal.simulate(scene, 1.0, coordinates="joints")  # error
dal.simulate(scene, 1.0, dt=0.01, solver="gauss-seidel")  # error
dal.simulate(scene, 1.0, impacts="newton")  # error
dal.simulate(scene, 1.0, controller=5.0)  # error
dal.simulate(scene, 1.0, controller=lambda: None)  # error
dal.ImplicitParticles(dt=0.01, linear_solver="lu")  # error
dal.Sphere("0.1")  # error
dal.Box(1.0, 1.0)  # error
dal.Material("rubber")  # error
scene.add_body(dal.Sphere(0.1), mass=1.0)  # error
scene.add_body("b", "sphere", mass=1.0)  # error
scene.add_body("b", dal.Sphere(0.1), mass="1 kg")  # error
scene.add_body("b", dal.Sphere(0.1), mass=1.0, position=None)  # error
scene.add_body("b", dal.Sphere(0.1), mass=1.0, position="up")  # error
scene.add_body("b", dal.Sphere(0.1), mass=1.0, velocity=3.0)  # error
scene.add_body("b", dal.Sphere(0.1), mass=1.0, orientation=("1", "0", "0", "0"))  # error
scene.add_obstacle("o", dal.HalfSpace(), position="floor")  # error
scene.add_particles("p", "points", mass=1.0)  # error
scene.hinge("joint", dal.WORLD, body, (0, 0, 0), "z")  # error
scene.external_force("f", body, force="down")  # error
dal.Scene("scene", gravity=9.81)  # error
dal.Scene("scene", gravity="down")  # error
dal.ConvexHull("points")  # error
dal.degrees("90")  # error
run.ray_cast("here", (0, 0, 1))  # error
scene.add_body("b", dal.Sphere(0.1), mass=1.0, material=0.5)  # error
scene.add_body("b", dal.Sphere(0.1), 1.0)  # error
scene.add_obstacle("o", dal.HalfSpace(), motion="still")  # error
scene.hinge("joint", dal.WORLD, body, (0, 0, 0))  # error
scene.hinge("joint", dal.WORLD, 3, (0, 0, 0), (0, 1, 0))  # error
scene.motor("m", "joint", coordinate="rotation")  # error
scene.external_force("f", body, frame="local")  # error
scene.event("e", lambda t: t - 1.0)  # error
scene.field("f", function=lambda t, x: (0.0, 0.0, 0.0))  # error
scene.field("f", function=lambda t, x, v: "down")  # error
scene.wind("w", "cloth", function=lambda t, x, v: (0.0, 0.0, 0.0))  # error
scene.radial("r", function=lambda r, s: (0.0, 0.0))  # error
scene.external_force("f", body, function=lambda t, x, q: (0.0, 0.0, 0.0))  # error
scene.motor("m", "joint", function=lambda t, s: 0.0)  # error
scene.constraint("c", [body], lambda x: (0.0,), rows=1)  # error
scene.event("e", lambda t, y: t - 1.0, direction=2)  # error
scene.spring("s", body, ball)  # error
run.advance("1 s")  # error
run.advance()  # error
run.set_joint_state({"joint": 0.1})  # error
run.trajectory.save_picture("p.png", time="end")  # error
run.trajectory.save_picture("p.png", contacts=["arrows"])  # error
run.plot.energy("energy.png")  # error
settings: dal.Settings = {"metod": "rk4"}  # error
