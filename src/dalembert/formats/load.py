"""`load_model`: a URDF or MJCF file as a scene."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..scene.simplify import simplification_message
from .build import build
from .built import Built, told
from .description import Description, Pose
from .imported import ImportedModel, Warnings
from .overlaps import part_overlapping_links
from .paths import Folder
from .urdf import Mimics, UrdfReader
from .xml import Element, read_xml


def load_model(
    path: str | PathLike[str], *, floating: bool | None = None, limits: bool = True, friction: bool = True,
    contacts: bool = True, root: str | PathLike[str] | None = None,
) -> ImportedModel:  # fmt: skip
    """Read a robot or mechanism from a URDF or MJCF file; nothing but files is read, and those only below one folder.

    Parameters
    ----------
    path : the file; its root element, <robot> or <mujoco>, tells the format.
    floating : whether the root link of a URDF is free; it is fixed to the world if not given. MJCF files say it themselves.
    limits, friction : False leaves out stops and dry friction of joints, which only time steps can run.
    contacts : False leaves out all collision geometry: bodies show what the file shows of them and touch nothing, and what is
        fixed to the world is no obstacle. Integration methods run such scenes too.
    root : folder that meshes and included files may lie in, with all below it; else the package that the model lies in (the
        nearest folder above with a package.xml), or the model's folder.

    Raises ValueError with file, line and the way out for what is malformed or cannot be made. What is merely not supported
    becomes a warning in `ImportedModel.warnings`.
    """
    file = _resolved(path)
    element = read_xml(file)
    warnings, folder = Warnings(), Folder(file, root)
    if element.tag == "robot":
        model = _from_urdf(element, folder, warnings, bool(floating), limits, friction, contacts)
    elif element.tag in ("mujoco", "mujocoinclude"):
        if floating is not None:
            raise ValueError(f"{file}: floating is for URDF; an MJCF file says with <freejoint/> what is free")
        from .mjcf_model import from_mjcf

        model = from_mjcf(element, folder, warnings, limits, friction, contacts)
    else:
        raise element.error(
            "the root element is neither <robot> (URDF) nor <mujoco> (MJCF); give a file of one of these"
        )
    if simplified := simplification_message(model.scene):
        warnings.add(element, simplified)
    model.warnings = warnings.list()
    return model


def _resolved(path: str | PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"model file {str(path)!r:.200}: no usable file name ({error})") from None


def _from_urdf(
    robot: Element, folder: Folder, warnings: Warnings, floating: bool, limits: bool, friction: bool, contacts: bool
) -> ImportedModel:
    reader = UrdfReader(robot, folder, warnings, floating, contacts)
    built = build(reader.description, warnings, limits, friction)
    _follow(built, reader.mimics, warnings)
    part_overlapping_links(built.scene, robot, warnings)
    if not built.scene.bodies and not floating:
        warnings.add(
            robot, "nothing in it moves, as its root link is fixed to the world; pass floating=True to free it"
        )
    return imported(built, reader.description, robot.file, "URDF")


def _follow(built: Built, mimics: Mimics, warnings: Warnings) -> None:
    """Joints that repeat others, as gears."""
    for element, name, leader, multiplier in mimics:
        if name not in built.axes:
            continue
        if leader not in built.axes or built.axes[leader].kind == "ball" or leader == name or multiplier == 0.0:
            warnings.add(element, f"{name!r} cannot follow {multiplier:g} times {leader!r:.60}; it moves freely")
            continue
        with told(element):
            built.scene.gear(f"{name}/mimic", built.joints[leader], built.joints[name], multiplier)


def imported(built: Built, description: Description, file: Path, kind: str) -> ImportedModel:
    """The result, with joints in the order of the file."""
    order = {name: i for i, name in enumerate(description.joint_order)}
    last = len(order)

    def place(name: str) -> int:
        return order.get(name, order.get(name.rpartition("/")[0], last))

    frames = {segment.name: built.frame(segment, Pose()) for segment in description.segments}
    return ImportedModel(built.scene, file, kind, joints=sorted(built.joints, key=place), frames=frames)
