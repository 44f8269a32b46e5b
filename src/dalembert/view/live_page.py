"""The panel of the live page: playback, display options, energies and facts of one body, live plots, and keys."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .camera import thinned
from .drawing import BodyDrawing, LinkDrawing, SceneDrawing
from .frames import Frames, checked_array, checked_items
from .live_scene import COLORS, KINDS, SENSORS
from .plots import FLAT, ROUNDING
from .pressure import BANDS

SPEEDS = {"0.02×": 0.02, "0.05×": 0.05, "0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}
NONE, ALL, MOVING = "none", "all", "what moves"
MANY = 9  # bodies, from which on trails are drawn only when asked for
SHADOWS = 200  # bodies, from which on shadows are drawn only when asked for
MOST_WARNINGS, MOST_TEXT = 20, 600  # shown, and characters of one
BOX = (
    "margin:6px 8px;padding:6px 8px;border:1px solid #e6c65c;border-radius:6px;background:#fdf6dd;color:#5c4a00;"
    "font-size:12px;line-height:1.4;max-height:11em;overflow:auto;overflow-wrap:anywhere"
)
NOBODY = "Click a body to see its values here."


class Panel:
    """viser's controls, by what they mean."""

    def __init__(self, gui: Any) -> None:
        self.warnings = gui.add_html("", order=0.5, visible=False)
        self.play_folder = gui.add_folder("Playback", order=1)
        with self.play_folder:
            self.status = gui.add_text("run", "", disabled=True)
            self.play = gui.add_button("Play")
            self.timeline = gui.add_slider("time, s", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True)
            self.step = gui.add_button_group("step", ("−10", "−1", "+1", "+10"))
            self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
            self.loop = gui.add_checkbox("loop", False)
        self.legend = gui.add_html("", order=1.5, visible=False)
        with gui.add_folder("View", order=3):
            self.look = gui.add_button("Look at all")
            self.follow = gui.add_dropdown("follow", (NONE, MOVING), initial_value=NONE)
            self.trail = gui.add_dropdown("trail", (NONE, ALL), initial_value=NONE)
            self.joints = gui.add_checkbox("joints", True)
            self.frames = gui.add_checkbox("body axes", False)
            self.shadows = gui.add_checkbox("shadows", True)
            self._kinds = {kind: gui.add_checkbox(kind, False) for kind in KINDS}
            self.note = gui.add_markdown("")
        with gui.add_folder("Body", order=4):
            self.chosen = gui.add_dropdown("body", (NONE,), initial_value=NONE)
            self.facts = gui.add_markdown(NOBODY)
        self.sensor_folder = gui.add_folder("Sensors", order=3.5, visible=False)
        with self.sensor_folder:
            self.sensors = gui.add_html("")
        self._images: dict[str, Any] = {}
        self._gui = gui
        self._add_keys(gui)

    def _add_keys(self, gui: Any) -> None:
        """Keys, which viser also lists in a palette (Ctrl-K)."""
        self.keys = {
            what: gui.add_command(what, hotkey=key, description=words)
            for what, key, words in (
                ("play or pause", "P", "Run, or stand still"), ("one frame on", "N", "Step forward"),
                ("one frame back", "B", "Step back"), ("to the start", "home", "Show the first frame"),
                ("slower", "J", "The next lower speed"), ("faster", "L", "The next higher speed"),
                ("look at all", "C", "Bring the camera back"),
            )
        }  # fmt: skip
        self.keys["slower"].on_trigger(lambda _: self._shift_speed(-1))
        self.keys["faster"].on_trigger(lambda _: self._shift_speed(1))

    def set_bodies(self, names: Sequence[str], note: str, *, has_sensors: bool = False) -> None:
        """The page is of a scene with these bodies, and sensors or none; `note` says what of it is not drawn."""
        names = [name[:60] for name in names]
        self.follow.options = (NONE, MOVING, *names)
        self.trail.options = (NONE, ALL, *names)
        self.chosen.options = (NONE, *names)
        self.follow.value = self.chosen.value = NONE
        self.trail.value = ALL if len(names) < MANY else NONE
        self.shadows.value = len(names) < SHADOWS
        self.note.content = note
        self.sensor_folder.visible = self._kinds[SENSORS].visible = self._kinds[SENSORS].value = has_sensors
        for image in self._images.values():
            image.remove()
        self._images = {}

    @property
    def speed(self) -> float:
        """Simulated seconds a second."""
        return SPEEDS[self._speed.value]

    @speed.setter
    def speed(self, wanted: float) -> None:
        self._speed.value = min(SPEEDS, key=lambda words: abs(SPEEDS[words] - wanted))

    def _shift_speed(self, by: int) -> None:
        words = list(SPEEDS)
        self._speed.value = words[min(max(words.index(self._speed.value) + by, 0), len(words) - 1)]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of quantities to draw."""
        return frozenset(kind for kind, box in self._kinds.items() if box.value)

    def show_kind(self, kind: str, on: bool = True) -> None:
        """Draw a kind of quantity, or do not. Raises KeyError for a name that is none of `KINDS`."""
        self._kinds[kind].value = on

    def on_play(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to start or to stand still."""
        self.play.on_click(lambda _: act())
        self.keys["play or pause"].on_trigger(lambda _: act())

    def on_seek(self, act: Callable[[float], None]) -> None:
        """Call `act` with the time (s) that a person moved the timeline to."""
        self.timeline.on_update(lambda event: act(event.target.value) if event.client is not None else None)
        self.keys["to the start"].on_trigger(lambda _: act(float(self.timeline.min)))

    def on_step(self, act: Callable[[int], None]) -> None:
        """Call `act` with the number of frames to go on or back."""
        self.step.on_click(lambda event: act(int(event.target.value.replace("−", "-"))))
        self.keys["one frame on"].on_trigger(lambda _: act(1))
        self.keys["one frame back"].on_trigger(lambda _: act(-1))

    def on_restyle(self, act: Callable[[], None]) -> None:
        """Call `act` when what to show was changed."""
        for handle in (self.follow, self.trail, self.joints, self.frames, self.shadows, *self._kinds.values()):
            handle.on_update(lambda _: act())

    def on_look(self, act: Callable[[], None]) -> None:
        """Call `act` when the cameras are to see everything."""
        self.look.on_click(lambda _: act())
        self.keys["look at all"].on_trigger(lambda _: act())

    def on_choose(self, act: Callable[[str], None]) -> None:
        """Call `act` with the name of the body to read."""
        self.chosen.on_update(lambda event: act(event.target.value))

    def set_warnings(self, messages: Sequence[str]) -> None:
        """Show what is doubtful of the run, above the controls."""
        items = "".join(f"<div>⚠ {html.escape(message[:MOST_TEXT])}</div>" for message in messages[:MOST_WARNINGS])
        self.warnings.content = f"<div style='{BOX}'>{items}</div>" if items else ""
        self.warnings.visible = bool(items)

    def set_sensors(self, table: str, images: Sequence[tuple[str, np.ndarray]]) -> None:
        """Show the values of sensors, in HTML, and the images (h, w, 3) of cameras, by name."""
        if self.sensors.content != table:
            self.sensors.content = table
        for name, image in images:
            if name not in self._images:
                with self.sensor_folder:
                    self._images[name] = self._gui.add_image(image, label=name[:60], format="jpeg")
            else:
                self._images[name].image = image

    def set_legend(self, text: str) -> None:
        """Say what lengths of arrows and colours mean, in HTML; nothing hides it."""
        if self.legend.content != text:
            self.legend.content, self.legend.visible = text, bool(text)

    def set_playing(self, playing: bool) -> None:
        """Say on the button what it will do."""
        self.play.label = "Pause" if playing else "Play"

    def set_span(self, first: float, last: float) -> None:
        """The timeline goes from `first` to `last`, s; to whole milliseconds where those are short beside it."""
        whole = np.ceil(1e3 * last - 1e-6) / 1e3 if last - first > 0.1 else last
        self.timeline.max = max(float(whole), first + 1e-9)
        self.timeline.min = first
        self.timeline.step = max((last - first) / 2000, 1e-9)
        self.timeline.disabled = False


def legend(
    scales: Sequence[tuple[str, tuple[int, int, int], str]], pressure: Sequence[str] | None, fastest: float = 0.0,
    keys: Sequence[tuple[str, tuple[int, int, int]]] = (),
) -> str:  # fmt: skip
    """HTML of a legend: (kind, colour, value) of the longest arrow of each kind; what the bands of pressure mean from the
    first to the last, nothing where no face bears, None where no pressure is drawn; the speed (m/s) of the brightest part
    of trails, 0 where none is drawn; and (what, colour) of lines."""
    rows = [
        f"<div><b style='color:rgb{color}'>↑</b> {html.escape(name)}: {html.escape(size)}</div>"
        for name, color, size in scales
    ]
    rows = [*(["<div>longest arrows</div>"] if rows else []), *rows]
    rows += [f"<div><b style='color:rgb{color}'>━</b> {html.escape(what)}</div>" for what, color in keys]
    if pressure is not None:
        rows.append(f"<div>{'pressure on faces, in this picture' if pressure else 'no pressure on faces'}</div>")
    if pressure:
        steps = "".join(f"<span style='flex:1;background:rgb{color}'></span>" for color in BANDS)
        rows.append(f"<div style='display:flex;height:12px'>{steps}</div>{_ends(pressure)}")
    if fastest > 0.0:
        stops = ",".join(f"rgb{tuple(int(c) for c in color)}" for color in COLORS)
        rows.append(
            "<div>trails: speed</div>"
            f"<div style='height:8px;border-radius:3px;background:linear-gradient(90deg,{stops})'></div>"
            f"{_ends(('0', f'{fastest:.3g} m/s'))}"
        )
    return f"<div class='dalembert-legend'>{''.join(rows)}</div>" if rows else ""


def _ends(words: Sequence[str]) -> str:
    spans = "".join(f"<span>{html.escape(word)}</span>" for word in words)
    return f"<div style='display:flex;justify-content:space-between'>{spans}</div>"


# Energy of one body: its potential energies, and the works of the forces that act on it -------------------------------

MOST = 6  # springs, and forces, that are listed of one body


class Share:
    """What the scene `scene` (the trajectory's ``scene_json``), drawn as `drawing`, says of the forces on each body.

    `forces` are the names of the works that frames have, in their order; `released` says when springs were let go, s.
    """

    def __init__(self, scene: Mapping[str, Any], drawing: SceneDrawing) -> None:
        self.drawing = drawing
        self.forces: Sequence[str] = ()
        self.released: Mapping[str, float] = {}
        self.gravity = checked_array(scene.get("gravity") or (0, 0, 0), (3,), "gravity")
        self._laws = {
            str(item.get("name")): (item["stiffness"], item["rest"])
            for item in checked_items(scene, "springs")
            if all(isinstance(item.get(key), int | float) for key in ("stiffness", "rest"))
        }
        self._moved = {
            str(item.get("name")): list(item["bodies"])
            for item in checked_items(scene, "forces")
            if isinstance(item.get("bodies"), list)
        }

    def of(self, number: int, frames: Frames, index: int) -> list[tuple[str, float]]:
        """What is known of the body `number` at the frame `index`: name with unit, and value.

        In gravity −m g·x, zero at the world's origin; of a spring ½ k (l − l₀)², whole, though it belongs to what is at its
        other end as well. Works are since the start, from the ledger, which has one entry a force: of a force on several
        bodies it is that on all of them. What contacts and joints do to one body is not recorded.
        """
        body, found = self.drawing.bodies[number], []
        if body.mass:
            gravity = frames.further["gravity"][index] if "gravity" in frames.further else self.gravity
            height = frames.positions[index, number] @ gravity.astype(float)
            found.append(("potential energy in gravity, J", -body.mass * float(height)))
        return found + _short(self._springs(number, frames, index)) + _short(self._works(number, frames, index))

    def _springs(self, number: int, frames: Frames, index: int) -> Iterable[tuple[str, float]]:
        there = frames.positions[index], frames.orientations[index], frames.particles[index]
        for spring in self.drawing.springs:
            held = frames.times[index] <= self.released.get(spring.name, spring.until)
            if number in (spring.a.body, spring.b.body) and held and spring.name in self._laws:
                stiffness, rest = self._laws[spring.name]
                length = float(np.linalg.norm(spring.b.at(*there) - spring.a.at(*there)))
                yield (
                    f"energy of spring {spring.name}{self._shared(spring, number)}, J",
                    0.5 * stiffness * (length - rest) ** 2,
                )

    def _shared(self, spring: LinkDrawing, number: int) -> str:
        other = spring.b if spring.a.body == number else spring.a
        if other.fixed:
            return ""
        return f" (shared with {'a particle' if other.body < 0 else self.drawing.bodies[other.body].name})"

    def _works(self, number: int, frames: Frames, index: int) -> Iterable[tuple[str, float]]:
        name, works = self.drawing.bodies[number].name, frames.further.get("work")
        for k, force in enumerate(self.forces):
            moved = self._moved.get(force, [])
            if works is not None and name in moved:
                others = len(moved) - 1
                what = f"damper of {force}" if force in self._laws else force
                yield f"work of {what}{f' (on {others} more, too)' if others else ''}, J", float(works[index, k])


def _short(found: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """The largest of many."""
    return sorted(found, key=lambda pair: -abs(pair[1]))[:MOST]


# Live plots: the energy ledger, its residual, a chosen quantity, and stage times --------------------------------------

PREFIXES = {6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p", -15: "f", -18: "a"}
PREFIXED = ("J", "m", "m/s", "N")  # units that take them; a power of ten stands before others
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLOT_POINTS = 500
STACK = (
    ("kinetic", "#3566b0", "#c4d3ea"), ("potential, above its least", "#d1772a", "#f3d5bd"),
    ("lost", "#8a8f99", "#d9dbdf"), ("put in, below 0", "#3b8a5a", "#c5e0d0"),
)  # fmt: skip
QUANTITIES = ("joint error, m", "contact residual, m/s", "penetration, m", "contacts", "height, m", "speed, m/s",
              "angular momentum, kg m²/s", "contact force, N")  # fmt: skip
WORK = "work: "


class Plots:
    """viser's plots. `forces` are the names of the ledger's works, `masses` (b,) kg of the bodies, 0 for none."""

    def __init__(self, gui: Any) -> None:
        self.forces: Sequence[str] = ()
        self.masses = np.zeros(0)
        self.body = -1
        self.energy = 0.0  # J, that of the scene: what is much smaller is drawn flat
        with gui.add_folder("Energy audit", order=2):
            kinetic, potential, lost, given = STACK  # each is drawn over those above it
            self._stack = _plot(gui, "energy, J", [lost, potential, kinetic, given])
            self._balance = _plot(gui, "energy error", [("error", "#b4434d", "")])
            self.choice = gui.add_dropdown("quantity", QUANTITIES, initial_value=QUANTITIES[0])
            self._quantity = _plot(gui, QUANTITIES[0], [("quantity", "#5b4bb5", "")])
            self._unknown = gui.add_html("", visible=False)
            self._stages = gui.add_html("", visible=False)

    def set_names(self, forces: Sequence[str], masses: np.ndarray) -> None:
        """The run has works of these forces, and bodies of these masses."""
        self.forces, self.masses, self.body = list(forces), masses, -1
        self.choice.options = (*QUANTITIES, *(WORK + name for name in self.forces))
        self.choice.value = QUANTITIES[0]

    def draw(self, frames: Frames) -> None:
        """Plot all frames."""
        keep = thinned(len(frames), PLOT_POINTS)
        if len(keep) < 2:
            return
        t, (kinetic, potential, balance) = frames.times[keep], frames.energies[keep].T
        further = {name: part[keep] for name, part in frames.further.items()}
        lost, given = _lost_and_given(further.get("work", np.zeros((len(t), 0))))
        above = potential - potential.min()
        size = max(self.energy, float(kinetic.max()), float(above.max()))
        _draw(self._stack, "energy", FLAT * size, t, kinetic + above + lost, kinetic + above, kinetic, -given)
        _draw(self._balance, "energy error", ROUNDING * size, t, balance)
        self._draw_choice(t, frames, further, keep)

    def _draw_choice(self, t: np.ndarray, frames: Frames, further: Mapping[str, np.ndarray], keep: np.ndarray) -> None:
        name = self.choice.value
        values = quantity(name, frames.positions[keep], further, self.masses, self.body, self.forces)
        if name == "contacts" and len(frames.contacts) == len(frames):
            values = np.array([len(frames.contacts[i]) for i in keep], float)
        of = "" if name in ("contacts", *QUANTITIES[:3]) or name.startswith(WORK) else " of the body chosen"
        title = f"{name}{of}"
        self._quantity.visible, self._unknown.visible = values is not None, values is None
        unknown = f"{html.escape(title)}: {'click a body' if of and self.body < 0 else 'not recorded in this run'}"
        self._unknown.content = f"<div style='padding:2px 12px 8px;font-size:12px'>{unknown}</div>"
        if values is not None:
            what, _, unit = name.partition(", ") if not name.startswith(WORK) else (name, "", "J")
            _draw(self._quantity, f"{what}{of}", 0.0, t, values.astype(float), unit=unit)

    def stages(self, seconds: Mapping[str, float]) -> None:
        """Where the computing time went, s by stage."""
        total = sum(seconds.values())
        self._stages.visible = total > 0.0
        if total > 0.0:
            rows = [
                f"<div style='display:flex;gap:6px;font-size:11px'><span style='width:9em'>{html.escape(name)}</span>"
                f"<span style='background:#3566b0;height:10px;margin-top:4px;width:{100 * part / total:.0f}px'></span>"
                f"<span>{100 * part / total:.0f} %, {part:.2f} s</span></div>"
                for name, part in seconds.items()
            ]
            self._stages.content = (
                "<div style='padding:0 12px 8px'><b style='font-size:12px'>stage times</b>" + "".join(rows) + "</div>"
            )


def quantity(
    name: str, positions: np.ndarray, further: Mapping[str, np.ndarray], masses: np.ndarray, body: int,
    forces: Sequence[str],
) -> np.ndarray | None:  # fmt: skip
    """A quantity of `QUANTITIES`, or a work, over frames at positions (n, b, 3); None where it is not known."""
    sources = {
        "joint error, m": "joint_error",
        "contact residual, m/s": "contact_residual",
        "penetration, m": "penetration",
    }
    vectors = {"angular momentum, kg m²/s": "angular_momentum", "contact force, N": "contact_force"}
    if name in sources:
        part = further.get(sources[name])
        if part is None or part.size == 0:
            return None
        return np.nan_to_num(np.abs(part).reshape(len(part), -1).max(axis=1))
    if name.startswith(WORK) and "work" in further:
        return further["work"][:, forces.index(name[len(WORK) :])]
    if body < 0:
        return None
    if name == "height, m":
        return positions[:, body, 2]
    if name == "speed, m/s" and "momentum" in further and masses[body] > 0.0:
        return np.linalg.norm(further["momentum"][:, body], axis=1) / masses[body]
    part = further.get(vectors.get(name, ""))
    return None if part is None else np.linalg.norm(part[:, body], axis=1)


def _lost_and_given(work: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of works (n, f) in J: what all those took that ended below zero, and what all others brought."""
    if not work.size:
        return np.zeros(len(work)), np.zeros(len(work))
    takes = work[-1] < 0.0
    return -work[:, takes].sum(axis=1), work[:, ~takes].sum(axis=1)


def _draw(plot: Any, name: str, least: float, times: np.ndarray, *lines: np.ndarray, unit: str = "J") -> None:
    """Lines on an axis at least `least` long, in the unit with the prefix, or power of ten, that keeps its numbers short."""
    low, high = limits(lines, least)
    power = _power(max(abs(low), abs(high))) if unit else 0
    if unit in PREFIXED:
        unit = f"{PREFIXES[power]}{unit}"
    elif power:
        unit = f"10{str(power).translate(RAISED)} {unit}"
    title = f"{name}, {unit}" if unit else name
    if plot.title != title:
        plot.title = title
    _plot_lines(plot, least * 10.0**-power, times, *(line * 10.0**-power for line in lines))


def _plot_lines(plot: Any, least: float, times: np.ndarray, *lines: np.ndarray) -> None:
    """Lines over time (s), on axes that fit them; see `limits`."""
    from viser import uplot

    last = float(times[-1]) if times[-1] > times[0] else float(times[0]) + 1e-3
    plot.scales = {
        "x": uplot.Scale(time=False, auto=False, range=(float(times[0]), last)),
        "y": uplot.Scale(auto=False, range=limits(lines, least)),
    }
    plot.data = (times.copy(), *lines)
    plot.visible = True


def limits(lines: Sequence[np.ndarray], least: float) -> tuple[float, float]:
    """The ends of an axis that holds all finite values of some lines and 0, and is at least `least` long."""
    values = np.concatenate([line[np.isfinite(line)] for line in lines] or [np.zeros(0)])
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    more = max(least - (high - low), 0.0)
    share = 0.5 if high == -low else high / (high - low)  # what is above 0 keeps its share
    low, high = low - (1.0 - share) * more, high + share * more
    room = 0.05 * (high - low) or 1.0
    return low - room * (low < 0.0), high + room * (high > 0.0 or low == 0.0)


def _power(size: float) -> int:
    """The power of ten of the unit's prefix that brings `size` between 1 and 1000: 3e-11 J are 30 pJ."""
    if not 0.0 < size < np.inf:
        return 0
    return int(np.clip(3 * np.floor(np.log10(size) / 3), min(PREFIXES), max(PREFIXES)))


def _plot(gui: Any, title: str, lines: Sequence[tuple[str, str, str]]) -> Any:
    from viser import uplot

    empty = np.zeros(2)
    series = [
        uplot.Series(label=label, stroke=color, width=2, **({"fill": fill} if fill else {}))
        for label, color, fill in lines
    ]
    return gui.add_uplot(
        (empty,) * (len(lines) + 1),
        (uplot.Series(label="t, s"), *series),
        title=title,
        aspect=1.6,
        visible=False,  # until there is something to plot
    )


# Facts of one body at one frame, as a table ---------------------------------------------------------------------------


def facts(body: BodyDrawing, number: int, frames: Frames, index: int, share: Share) -> str:
    """A Markdown table: the state of a body, and its share of the audit, at the frame `index`.

    The share is its kinetic energy: of translation P²/2m, and of spin, ½ ω·L, with ω found between frames if not recorded;
    and what `Share.of` knows.
    """
    position, further = frames.positions[index, number], {k: part[index] for k, part in frames.further.items()}
    rows = [("place, m", _vector(position)), ("turned, quaternion", _vector(frames.orientations[index, number]))]
    if body.mass:
        rows.append(("mass, kg", f"{body.mass:.6g}"))
    if "momentum" in further and body.mass:
        momentum = further["momentum"][number].astype(float)
        velocity = momentum / body.mass
        rows += [
            ("velocity, m/s", _vector(velocity)),
            ("speed, m/s", f"{np.linalg.norm(velocity):.5g}"),
            ("momentum, kg m/s", _vector(momentum)),
            ("kinetic energy of translation, J", f"{0.5 * momentum @ velocity:.5g}"),
        ]
    if "angular_momentum" in further:
        spin = further["angular_momentum"][number].astype(float)
        rows.append(("angular momentum, kg m²/s", _vector(spin)))
        known = further.get("angular_velocity")
        omega = _spin(frames, index, number) if known is None else known[number].astype(float)
        if omega is not None:
            rows += [("spin, rad/s", _vector(omega)), ("kinetic energy of spin, J", f"{0.5 * omega @ spin:.5g}")]
    if "contact_force" in further:
        rows.append(("force of contacts, N", _vector(further["contact_force"][number])))
    rows += [(_plain(name, 90), f"{value:.5g}") for name, value in share.of(number, frames, index)]
    kinetic, potential, balance = frames.energies[index]
    rows += [
        ("**of all bodies**", ""),
        ("kinetic energy, J", f"{kinetic:.6g}"),
        ("potential energy, J", f"{potential:.6g}"),
        ("energy error, J", f"{balance:.3g}"),
    ]
    lines = [f"**{_plain(body.name)}**, t = {frames.times[index]:.3f} s", "", "| | |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in rows)])


def brief_facts(body: BodyDrawing, number: int, frames: Frames, index: int) -> str:
    """What stands beside a body that was clicked: its name, speed and height at the frame `index`."""
    lines = [_plain(body.name, 40)]
    if "momentum" in frames.further and body.mass:
        speed = float(np.linalg.norm(frames.further["momentum"][index, number])) / body.mass
        lines.append(f"{_rounded(speed)} m/s")
    return "\n".join([*lines, f"z {_rounded(float(frames.positions[index, number, 2]))} m"])


def _rounded(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 1e-6 else "0"


def _spin(frames: Frames, index: int, number: int) -> np.ndarray | None:
    """Angular velocity (3,) rad/s between the frame and the one before; None for the first one."""
    before = index - 1
    gap = frames.times[index] - frames.times[before] if before >= 0 else 0.0
    if gap <= 0.0:
        return None
    a, b = frames.orientations[before, number], frames.orientations[index, number]
    w = a @ b
    xyz = a[0] * b[1:] - b[0] * a[1:] - np.cross(b[1:], a[1:])
    length = float(np.linalg.norm(xyz))
    if length == 0.0:
        return np.zeros(3)
    return xyz / length * 2.0 * np.arctan2(length * np.sign(w), abs(w)) / gap


def _vector(values: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in np.round(values.astype(float), 9) + 0.0)


def _plain(name: str, most: int = 60) -> str:
    return "".join(c if c.isalnum() or c in " _-.,:[]()" else "·" for c in name)[:most]
