"""Of an MJCF file, what stands above its bodies: included files, compiler, options, default classes, and what goes unused."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .attributes import Attributes
from .imported import Warnings
from .paths import Folder, Unreadable
from .xml import MAX_DEPTH, MAX_ELEMENTS, Element, read_xml

SEEN = ("name", "class", "user", "group", "rgba", "material", "childclass")  # names, pictures
SOFT = (
    "solref", "solimp", "solmix", "margin", "gap", "solreflimit", "solimplimit", "solreffriction", "solimpfriction",
    "torquescale",
)  # fmt: skip
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
# Attributes and elements that change no motion here: pictures, memory, threads, how MuJoCo saves files, diagnostics.
SAVING = (
    "texturedir", "discardvisual", "usethread", "saveinertial", "savecompiled", "savecanonical", "conflict", "fusestatic",
)  # fmt: skip
NUMERICS = (
    "integrator", "jacobian", "solver", "iterations", "tolerance", "ls_iterations", "ls_tolerance",
    "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "sdf_initpoints", "sdf_iterations",
    "impratio", "o_margin", "o_solref", "o_solimp", "o_friction", "sleep_tolerance",
)  # fmt: skip
DISABLED = (
    "constraint",
    "equality",
    "passive",
    "spring",
    "damper",
    "actuation",
    "filterparent",
    "clampctrl",
)  # physics that a <flag> can switch off, beside those that are
NUMERIC_FLAGS = (
    "override", "energy", "fwdinv", "invdiscrete", "multiccd", "island", "sleep", "warmstart", "refsafe", "sensor",
    "midphase", "eulerdamp", "autoreset", "nativeccd", "diagexact", "ipc", "speculative",
)  # fmt: skip
OBEYED = ("gravity", "contact", "limit", "frictionloss")
GAINS = ("kp", "kv", "gainprm", "biasprm", "gaintype", "biastype")  # of one kind of actuator only


def include_files(root: Element, folder: Folder) -> None:
    """Puts the contents of included files where they are included; each file at most once. Raises ValueError."""
    done = {root.file}
    total = 0
    waiting = [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise element.error(f"elements are nested more than {MAX_DEPTH} deep; flatten the model")
        children, queue = [], list(reversed(element.children))
        while queue:
            child = queue.pop()
            total += 1
            if total > MAX_ELEMENTS:
                raise child.error(f"with included files more than {MAX_ELEMENTS} elements; split the model")
            if child.tag != "include":
                children.append(child)
                continue
            path = _included(child, folder)
            if path in done:
                raise child.error(f"{path} is included a second time; include each file once")
            done.add(path)
            queue += reversed(read_xml(path).children)
        element.children = children
        waiting += [(child, depth + 1) for child in children]


def _included(element: Element, folder: Folder) -> Path:
    """The file that an <include> means: beside the model, or else beside the file that it stands in."""
    name = Attributes(element).text("file")
    try:
        return folder.find(element, name)
    except Unreadable:
        if element.file.parent == folder.home:
            raise
        return folder.find(element, name, element.file.parent)


@dataclass
class Settings:
    """What <compiler> and <option> say."""

    degree: bool = True
    sequence: str = "xyz"
    autolimits: bool = True
    inertia_from_geom: str = "auto"
    groups: tuple[int, int] = (0, 5)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    balance: bool = False
    total_mass: float = -1.0
    mesh_folder: str = ""
    strip_path: bool = False
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    timestep: float | None = None
    disabled: set[str] = field(default_factory=set)
    contacts: bool = True  # whether anything touches
    align_free: bool = False  # whether free bodies without children take their inertial frame

    def mesh_base(self, home: Path) -> Path:
        """The folder that file names of meshes start at."""
        return home / self.mesh_folder

    def read_compiler(self, element: Element, warnings: Warnings) -> None:
        given = Attributes(element)
        self.degree = given.choice("angle", ("degree", "radian"), "degree" if self.degree else "radian") == "degree"
        self.sequence = given.text("eulerseq", self.sequence)
        if len(self.sequence) != 3 or not set(self.sequence.lower()) <= set("xyz"):
            raise element.error(f"eulerseq is {self.sequence!r:.40}; give three of x, y, z, X, Y, Z")
        self.autolimits = given.flag("autolimits", self.autolimits)
        self.inertia_from_geom = given.choice("inertiafromgeom", ("true", "false", "auto"), self.inertia_from_geom)
        low, high = given.vector("inertiagrouprange", 2, default=self.groups)
        self.groups = (int(low), int(high))
        self.bound_mass = given.number("boundmass", self.bound_mass, 0.0)
        self.bound_inertia = given.number("boundinertia", self.bound_inertia, 0.0)
        self.balance = given.flag("balanceinertia", self.balance)
        self.total_mass = given.number("settotalmass", self.total_mass)
        self.mesh_folder = given.text("meshdir", given.text("assetdir", self.mesh_folder))
        self.strip_path = given.flag("strippath", self.strip_path)
        if given.choice("coordinate", ("local", "global"), "local") == "global":
            raise element.error("coordinate is 'global', which MuJoCo gave up too; save the model in local coordinates")
        self.align_free = given.flag("alignfree", self.align_free)
        note_unasked(given, warnings, *SAVING)

    def read_option(self, element: Element, warnings: Warnings) -> None:
        given = Attributes(element)
        self.gravity = tuple(given.vector("gravity", 3, default=self.gravity).tolist())
        if "timestep" in given:
            self.timestep = given.number("timestep", None, 0.0) or None
        for key in ("wind", "density", "viscosity"):
            given.asked.add(key)
            if key in given and given.numbers(key).any():
                warnings.add(element, f"{key} is not used: the medium has no effect; add medium() to the scene")
        if given.choice("cone", ("pyramidal", "elliptic"), "elliptic") == "pyramidal":
            warnings.add(element, "cone is 'pyramidal'; friction here has the elliptic cone", "cone")
        if numerics := [key for key in NUMERICS if key in given]:
            warnings.add(element, f"{', '.join(numerics)}: not used; give Simulation its own settings", "numerics")
        note_unasked(given, warnings, *NUMERICS, "magnetic")  # magnetic: of sensors only
        for flag in element.all("flag"):
            off = {key for key, value in flag.attributes.items() if value == "disable"}
            self.disabled |= off
            for key in flag.attributes:
                if key in DISABLED and key in off:
                    warnings.add(flag, f"{key} is disabled in the file, and is not here")
                elif key not in (*DISABLED, *OBEYED, *NUMERIC_FLAGS):
                    warnings.add(flag, f"flag {key!r:.60} is not used")
        if "gravity" in self.disabled:
            self.gravity = (0.0, 0.0, 0.0)


class Defaults:
    """Default classes: attributes of elements that do not give them."""

    def __init__(self, root: Element) -> None:
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for top in root.all("default"):
            name = top.attributes.get("class", "main")
            self._add(name, top, self.classes.get(name, self.classes["main"]))

    def _add(self, name: str, element: Element, parent: dict[str, dict[str, str]]) -> None:
        waiting = [(name, element, parent)]
        while waiting:
            name, element, parent = waiting.pop()
            own = {tag: dict(values) for tag, values in parent.items()}
            self.classes[name] = own
            for child in element.children:
                if child.tag == "default":
                    continue
                for key, value in child.attributes.items():
                    shared = child.tag in ACTUATORS and key not in GAINS
                    own.setdefault("actuators" if shared else child.tag, {})[key] = value
            for child in element.all("default"):
                inner = Attributes(child).text("class")
                if inner in self.classes:
                    raise child.error(f"default class {inner!r:.60} is there twice; rename one")
                waiting.append((inner, child, own))

    def of(self, element: Element, childclass: str | None) -> Attributes:
        """The attributes of an element, over those of its class, or that of the bodies around it."""
        name = element.attributes.get("class", childclass or "main")
        if name not in self.classes:
            raise element.error(f"there is no default class {name!r:.60}; define it, or correct the name")
        table = self.classes[name]
        shared = table.get("actuators", {}) if element.tag in ACTUATORS else {}
        return Attributes(element, {**shared, **table.get(element.tag, {})})


def note_unasked(given: Attributes, warnings: Warnings, *known: str) -> None:
    """Warns of attributes that nothing was made of, once for each kind of element."""
    for key in given.unasked():
        tag = given.element.tag
        if key in SOFT:
            warnings.add(
                given.element, f"{key} and such have no effect: contacts, stops and joints are hard here", "soft"
            )
        elif key not in SEEN and key not in known:
            warnings.add(given.element, f"attribute {key!r:.60} is not used", f"{tag} {key}")
