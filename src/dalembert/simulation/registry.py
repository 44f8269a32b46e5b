"""Methods by name: their options with defaults, what they support, and the creation of their steppers.

A *family* of methods is a subclass of `Method`: a frozen dataclass whose fields are the options, which checks them and
makes the stepper. `@register`, in the file of the family, adds it. A family lists its own names: integration methods
are the tableaus in `integrate.tableaus.METHODS`, schemes of particles those in `deformable.tables.SCHEMES`. The options
of `Simulation`, the errors that list names, `dalembert methods` and the table of methods in the documentation come from
this registry.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..core.renamed import current_names
from ..scene.checks import number_or_nan

if TYPE_CHECKING:
    from ..core.jit import CFunction
    from ..dynamics.mechanism import Mechanism
    from ..integrate.stepper import Stepper
    from ..model.compile import Model
    from ..model.tables import System

NO = "–"
COLUMNS = ("name", "order", "steps", "bodies that collide", "particles", "joint coordinates", "")


class Facts(NamedTuple):
    """What a method supports, for the table of methods; `NO` for what it does not support.

    help : one line. order : of accuracy. steps : "fixed", "adaptive", or both. contact, particles, joint_coordinates :
    how it runs bodies that collide, particles, and coordinates="joint".
    """

    help: str
    order: int
    steps: str
    contact: str = NO
    particles: str = NO
    joint_coordinates: str = NO

    def words(self) -> tuple[str, ...]:
        """Those of a row under `COLUMNS`, after the name."""
        return str(self.order), self.steps, self.contact, self.particles, self.joint_coordinates, self.help


class Method(ABC):
    """A method with its options. Pass it to `Simulation` as `method`."""

    name: str
    holds: ClassVar[tuple[str, ...]] = ("projection", "feedback", "penalty")  # ways to hold joints that it supports

    # The family -------------------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def names(cls) -> list[str]:
        """The names of the methods of this family."""

    @classmethod
    @abstractmethod
    def facts(cls, name: str) -> Facts:
        """What a method of this family supports."""

    @classmethod
    def from_options(cls, name: str, given: Mapping[str, Any]) -> Method:
        """The method of that name, with the options that it has; the others are ignored. Raises ValueError."""
        own = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
        chosen = {key: value for key, value in given.items() if key in own and key != "name"}
        missing = {key: None for key, field in own.items() if field.default is MISSING and key not in chosen}
        return cls(**missing, **chosen, **({"name": name} if "name" in own else {}))

    # A method ---------------------------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """Option → value."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}  # type: ignore[arg-type]

    def steps_particles(self, model: Model) -> bool:
        """Whether particles of the model have time steps of their own."""
        return False

    def system(self, model: Model) -> System:
        """The tables of a run of the model."""
        return model.system()

    @abstractmethod
    def compiled(self, model: Model) -> list[CFunction]:
        """The kernels of a run of the model, besides its mechanics and coordinates."""

    @abstractmethod
    def make_stepper(self, model: Model, mechanism: Mechanism, stop_unsolved: bool) -> Stepper:
        """The stepper of a run of the model. stop_unsolved : whether a step whose solver misses its tolerance ends the run.
        Raises ValueError for a model that the method cannot run."""


FAMILIES: list[type[Method]] = []
Family = TypeVar("Family", bound=type[Method])


def register(family: Family) -> Family:
    """Add a family of methods; use it as a decorator. Raises ValueError for a name that is taken."""
    taken = set(names()) & set(family.names())
    if taken:
        raise ValueError(f"there is already a method {sorted(taken)[0]!r}; give {family.__name__} another name")
    FAMILIES.append(family)
    return family


def names() -> list[str]:
    """The names of all methods."""
    return [name for family in FAMILIES for name in family.names()]


def family_of(name: str) -> type[Method]:
    """The family of a method. Raises ValueError that lists all methods."""
    found = next((family for family in FAMILIES if name in family.names()), None)
    if found is None:
        raise ValueError(f"unknown method {name!r:.80}; {_listed(name, names(), 'the methods')}")
    return found


def method_of(given: str | Method, options: Mapping[str, Any]) -> Method:
    """A method by its name and those options that it has; or the `Method` itself. Raises ValueError for options beside a
    `Method`."""
    if not isinstance(given, Method):
        return family_of(given).from_options(given, options)
    for name in options:
        if name in given.options:
            raise ValueError(
                f"{name} is given twice: as {name}={options[name]!r:.80}, and in method={given!r:.200}; give it in the latter"
            )
        raise ValueError(
            f"method={type(given).__name__}(...) has no option {name!r}; its options are {', '.join(given.options)}"
        )
    return given


def option_defaults() -> dict[str, Any]:
    """Every option of a method → its default; None where there is none."""
    found: dict[str, Any] = {}
    for each in classes():
        for field in fields(each):  # type: ignore[arg-type]
            if field.name != "name":
                found.setdefault(field.name, None if field.default is MISSING else field.default)
    return found


def override(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of `Simulation` with some of them changed. Options of a `Method` among them are changed there, and a `Method`
    among the changes replaces all options. A change of rtol without dt asks for adaptive steps, and drops a dt. Raises
    ValueError."""
    found, changes = current_names(settings), current_names(changes)
    if isinstance(changes.get("method"), Method):
        known = option_defaults()
        found = {name: value for name, value in found.items() if name not in known}
    method = changes.pop("method", found.pop("method", None))
    if "rtol" in changes and changes.get("dt") is None:
        found.pop("dt", None)
        changes = {"dt": None} | changes if isinstance(method, Method) else changes
    if isinstance(method, Method):
        own = {name: changes.pop(name) for name in method.options if name in changes}
        method = replace(method, **own) if own else method  # type: ignore[type-var]
    return found | changes | ({} if method is None else {"method": method})


def table() -> str:
    """All methods and what they support, as Markdown."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for family in FAMILIES:
        for name in family.names():
            own = family.facts(name)
            rows.append((f"`{name}`", *own.words()))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def classes() -> list[type[Method]]:
    """The classes that users make methods of: families, and those derived from them."""
    return [each for family in FAMILIES for each in (family, *family.__subclasses__())]


def option_words(each: type[Method]) -> list[str]:
    """The options of a class of methods, with their defaults."""
    own = [field for field in fields(each) if field.name != "name"]  # type: ignore[arg-type]
    return [field.name if field.default is MISSING else f"{field.name}={field.default!r}" for field in own]


def options_table() -> str:
    """The classes of methods, their options and defaults, as Markdown."""
    rows = [f"| `{each.__name__}` | {', '.join(f'`{word}`' for word in option_words(each))} |" for each in classes()]
    return "\n".join(["| class | options |", "|---|---|", *rows])


# Checks of arguments --------------------------------------------------------------------------------------------------

MOST_OF_ALL = 10**12
MOST_STEPS_A_FRAME = 1e12  # weeks of computing


def positive(name: str, value: Any, unit: str) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and above zero."""
    number = number_or_nan(value)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number above zero ({unit})")
    return number


def not_negative(name: str, value: Any) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and not below zero."""
    number = number_or_nan(value)
    if not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number not below zero")
    return number


def require_kinds(names: dict[str, Any], flags: dict[str, Any]) -> None:
    """Raises ValueError for a name that is no text, and for a flag that is neither True nor False."""
    for name, value in names.items():
        if not (value is None or isinstance(value, str)):
            raise ValueError(f"{name} is {value!r:.80}; give a name")
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {value!r:.80}; give True or False")


def check_step(dt: Any, frame_rate: float) -> None:
    """Raises ValueError for a fixed step that no run would ever get on with."""
    if dt is not None and positive("dt", dt, "s") * frame_rate < 1.0 / MOST_STEPS_A_FRAME:
        raise ValueError(
            f"dt is {dt!r} s, so there would be {1.0 / (float(dt) * frame_rate):.3g} steps from one frame to the next; "
            f"give a longer step, or a frame_rate above {frame_rate:g} Hz"
        )


def whole(name: str, value: Any, most: int | None = None) -> int:
    """The value, a whole number from 1 to `most`. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= (most or MOST_OF_ALL):
        raise ValueError(
            f"{name} is {value!r:.80}; give a whole number {'of at least 1' if most is None else f'from 1 to {most}'}"
            + (f" and at most {MOST_OF_ALL}" if most is None and number_or_nan(value) > MOST_OF_ALL else "")
        )
    return int(value)


def _listed(given: str, known: Iterable[str], plural: str) -> str:
    """The end of a message about an unknown name: the names that are like it, and all of them."""
    names = list(known)
    word = str(given).lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(word, names, n=2, cutoff=0.6)
    listed = f"{plural} are {', '.join(names)}"
    return f"did you mean {' or '.join(map(repr, near))}? {listed[0].upper()}{listed[1:]}" if near else listed


def one_of(what: str, value: Any, names: Iterable[str], plural: str) -> str:
    """The value, one of the names. Raises ValueError that lists them."""
    known = list(names)
    if not isinstance(value, str):
        raise ValueError(f"{what} is {value!r:.80}; give a name, one of {', '.join(known)}")
    if value not in known:
        raise ValueError(f"unknown {what} {value!r:.80}; {_listed(value, known, plural)}")
    return value
