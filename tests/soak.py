"""Long runs that the test suite has no time for: thousands of random scenes, and every scene of the gallery for 10⁵ steps.

    python tests/soak.py                      # 1000 mechanisms, 1000 scenes of contact, the gallery
    python tests/soak.py --mechanisms 5000 --contacts 0 --gallery 0 --first 1000

Scenes run in a pool of processes, so that a crash or a hang is counted and named. Prints what disagrees; the exit status is 1
where anything does.
"""

import argparse
import os
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
SECONDS = {"mechanism": 120, "contact": 120, "gallery": 2400}  # of processor time that one scene may take
LONG = 1800.0  # s of processor time after which a scene of the gallery makes no more steps
STEPS = 100_000
PIECES = 10  # of a long run, compared with each other
LEAK = 30e6  # bytes that a run may grow by beyond its record
SLOWER = 3.0  # times the median piece: a step that takes longer and longer


@contextmanager
def processor_limit(seconds):
    """Kill this process where a scene takes longer; the limit is on processor time, which no other process uses up."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds), resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def mechanism(seed):
    from random_scenes.mechanism_checks import mechanism_problems
    from random_scenes.mechanisms import random_mechanism

    scene = random_mechanism(seed)
    return f"{scene.description} {seed}", mechanism_problems(scene)


def contact(seed):
    from random_scenes.contact_checks import contact_problems, overlap_problems
    from random_scenes.contact_scenes import random_contact_scene

    scene = random_contact_scene(seed)
    problems = contact_problems(scene, steps=150)
    if seed % 10 == 0:
        problems += overlap_problems(scene, steps=150)
    return f"contact {seed}", problems


def gallery(task):
    """10⁵ steps of a scene, or as many as `long` seconds allow: finite, its memory and its time a step constant."""
    import numpy as np

    import dalembert as dal
    from dalembert import gallery as scenes

    name, long = task
    module = scenes.load(name)
    settings = {key: value for key, value in module.SETTINGS.items() if key not in ("duration", "frame_rate")}
    run = dal.Simulation(module.build(), frame_rate=1.0, **settings)
    dt = settings.get("dt") or module.SETTINGS["duration"] / 2000
    times, memory, balance, begun = [], [], [], time.process_time()
    for _ in range(PIECES):
        start, steps = time.process_time(), run.report.steps
        run.advance(STEPS / PIECES * dt)
        times.append((time.process_time() - start) / max(run.report.steps - steps, 1))
        memory.append(resident())
        balance.append(run.report.energy_residual)
        if run.stopped or time.process_time() > begun + long:
            break
    problems = []
    if not np.isfinite(run.trajectory.last_state).all():
        problems.append("the state is not finite")
    recorded = 8.0 * sum(np.size(value) for values in run.recorder.frames.values() for value in values)
    if memory[-1] - memory[len(memory) // 2] > LEAK + recorded:
        problems.append(f"memory grows from {memory[len(memory) // 2] / 1e6:.0f} to {memory[-1] / 1e6:.0f} MB")
    if times[-1] > SLOWER * np.median(times):
        problems.append(
            f"a step takes {times[-1] * 1e6:.3g} µs at the end and {np.median(times) * 1e6:.3g} µs at the median"
        )
    scale = max(run.report.energy_scale, 1e-9)
    return f"gallery {name}: {run.report.steps} steps, balance {balance[-1] / scale:.2g}", problems


def resident():
    """Bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def checked(kind, item):
    warnings.simplefilter("ignore")
    with processor_limit(SECONDS[kind]):
        try:
            return globals()[kind](item)
        except Exception as error:
            return f"{kind} {item}", [f"{type(error).__name__}: {error}"[:400]]


def soak(kind, items, processes):
    """What disagrees: kind and item → sentences. A scene that kills its process is run again by itself, to be named."""
    found = {}
    left = list(items)
    while left:
        done = []
        with ProcessPoolExecutor(processes, max_tasks_per_child=200) as pool:
            waiting = {pool.submit(checked, kind, item): item for item in left[: 50 * processes]}
            for future in as_completed(waiting):
                try:
                    name, problems = future.result()
                except BrokenProcessPool:
                    continue
                done.append(waiting[future])
                if problems:
                    found[name] = problems
                    print(f"{name}: {problems}", flush=True)
                elif kind == "gallery":
                    print(name, flush=True)
            lost = [item for item in waiting.values() if item not in done]
        if lost and processes > 1 and len(lost) > 1:
            found |= {name: value for item in lost for name, value in soak(kind, [item], 1).items()}
        elif lost:
            found[f"{kind} {lost[0]}"] = [f"crashes, or takes more than {SECONDS[kind]} s"]
            print(f"{kind} {lost[0]}: crashes, or takes more than {SECONDS[kind]} s", flush=True)
        left = [item for item in left if item not in done and item not in lost]
        print(f"{kind}: {len(left)} left, {len(found)} with problems", flush=True)
    return found


def main():
    from dalembert import gallery as scenes

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanisms", type=int, default=1000)
    parser.add_argument("--contacts", type=int, default=1000)
    parser.add_argument("--gallery", type=int, default=1, help="0: not")
    parser.add_argument("--scenes", nargs="*", help="of the gallery; all if not given")
    parser.add_argument("--long", type=float, default=LONG, help="s of processor time a gallery scene may take")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    found = soak("mechanism", range(given.first, given.first + given.mechanisms), given.processes)
    found |= soak("contact", range(given.first, given.first + given.contacts), given.processes)
    if given.gallery:
        tasks = [(name, given.long) for name in given.scenes or scenes.names()]
        found |= soak("gallery", tasks, given.processes)
    print(f"{given.mechanisms} mechanisms, {given.contacts} scenes of contact: {len(found)} with problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
