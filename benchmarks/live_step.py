"""What a call of `Simulation.step` costs beside the steps themselves.

For each scene: the time of a call that makes one step, and of a step in a call that makes many. The difference is what Python
adds to each call. Each is the least of many short samples, so that other programs on the machine count little. No frames are
recorded in the meantime; the last columns are the times of recording one, and of a sample of an inertial unit.

    python benchmarks/live_step.py
"""

from time import perf_counter

import dalembert as dal

CALLS, MANY, SAMPLES = 4, 16, 3000  # calls of one step in a sample; steps of a call; samples
NO_FRAMES = 1e-3  # Hz


def pendulum() -> dal.Scene:
    scene = dal.Scene("pendulum")
    bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def box() -> dal.Scene:
    scene = dal.Scene("box", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1))
    return scene


RUNS: dict[str, tuple[dal.Scene, dal.Settings]] = {
    "pendulum, rk4": (pendulum(), {"method": "rk4"}),
    "pendulum, rk4, joint coordinates": (pendulum(), {"method": "rk4", "coordinates": "joint"}),
    "box on a floor": (box(), {}),
    "box on a floor, joint coordinates": (box(), {"coordinates": "joint"}),
}


def microseconds(sim: dal.Simulation) -> tuple[float, float, float]:
    """Of a call of one step, of a step in a call of many, and of recording a frame."""
    single = many = frame = float("inf")
    for _ in range(SAMPLES):
        start = perf_counter()
        for _ in range(CALLS):
            sim.step()
        middle = perf_counter()
        sim.step(MANY)
        end = perf_counter()
        single, many = min(single, (middle - start) / CALLS), min(many, (end - middle) / MANY)
    for _ in range(SAMPLES // 10):
        start = perf_counter()
        sim._record()
        frame = min(frame, perf_counter() - start)
    return 1e6 * single, 1e6 * many, 1e6 * frame


def sample(scene: dal.Scene, settings: dal.Settings) -> float:
    """Of a sample of an inertial unit in each step of a call of many: the difference to such a step without."""
    times = []
    for sensed in (False, True):
        if sensed:
            scene.add_sensor(dal.sensors.Imu("imu", next(iter(scene.bodies)), rate=240.0, noise=0.01))
        sim = dal.Simulation(scene, dt=1 / 240, frame_rate=NO_FRAMES, **settings).step(100)
        least = float("inf")
        for _ in range(SAMPLES // 10):
            start = perf_counter()
            sim.step(MANY)
            least = min(least, (perf_counter() - start) / MANY)
        times.append(least)
    return 1e6 * (times[1] - times[0])


def main() -> None:
    print(f"{'µs':36}{'one step':>10}{'of many':>10}{'beside':>10}{'a frame':>10}{'a sample':>10}")
    for name, (scene, settings) in RUNS.items():
        sim = dal.Simulation(scene, dt=1 / 240, frame_rate=NO_FRAMES, **settings).step(100)
        single, many, frame = microseconds(sim)
        print(f"{name:36}{single:10.1f}{many:10.1f}{single - many:10.1f}{frame:10.1f}{sample(scene, settings):10.1f}")


if __name__ == "__main__":
    main()
