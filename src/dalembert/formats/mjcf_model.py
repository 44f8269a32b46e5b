"""An MJCF file as a model: bodies and joints first, then what connects and drives them."""

from __future__ import annotations

from .build import build
from .imported import ImportedModel, Warnings
from .load import imported
from .mjcf import MjcfReader
from .mjcf_actuators import add_actuators
from .mjcf_contact import read_pairs, set_contacts
from .mjcf_equality import add_equality
from .mjcf_keyframes import read_keyframes
from .paths import Folder
from .xml import Element


def from_mjcf(
    root: Element, folder: Folder, warnings: Warnings, limits: bool, friction: bool, contacts: bool
) -> ImportedModel:
    """The model of a <mujoco> element."""
    reader = MjcfReader(root, folder, warnings, contacts)
    pairs = read_pairs(reader)
    built = build(reader.description, warnings, limits, friction)
    set_contacts(reader, built, pairs, warnings)
    for section in root.all("equality"):
        for element in section.children:
            add_equality(reader, built, element, warnings)
    model = imported(built, reader.description, root.file, "MJCF")
    model.timestep = reader.settings.timestep
    model.sites = {name: built.frame(segment, pose) for name, (segment, pose) in reader.sites.items()}
    model.actuators, controls = add_actuators(reader, built, warnings)
    model.keyframes = read_keyframes(reader, built, controls)
    return model
