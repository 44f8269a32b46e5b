"""Which geoms and bodies of an MJCF file touch whatever else is said: <pair> and <exclude>."""

from __future__ import annotations

from ..scene.body import WORLD, Body
from ..scene.contact import MOST_FRICTION
from .attributes import Attributes
from .built import Built, told
from .description import Segment, Solid
from .imported import Warnings
from .mjcf import MjcfReader
from .mjcf_settings import note_unasked

End = tuple[Segment | None, Solid]


def read_pairs(reader: MjcfReader) -> list[tuple[Attributes, End, End]]:
    """The <pair> elements and their geoms, which touch whatever their masks are."""
    found = []
    for element in (item for section in reader.root.all("contact") for item in section.all("pair")):
        given = reader.defaults.of(element, None)
        names = [given.text(key) for key in ("geom1", "geom2")]
        if missing := [name for name in names if name in reader.left_out]:
            reader.warnings.add(element, f"it is left out, as geom {missing[0]!r:.60} is")
            continue
        ends = []
        for name in names:
            if name not in reader.geom_bodies:
                raise element.error(f"there is no geom {name!r:.60}; correct the name")
            segment, solid = reader.geom_bodies[name]
            solid.touches = reader.settings.contacts
            ends.append((segment, solid))
        found.append((given, ends[0], ends[1]))
    return found


def set_contacts(
    reader: MjcfReader, built: Built, pairs: list[tuple[Attributes, End, End]], warnings: Warnings
) -> None:
    """Bodies that never touch, then geoms that always do."""
    for element in (item for section in reader.root.all("contact") for item in section.all("exclude")):
        given = Attributes(element)
        ends = [_touching(built, reader.body(given, key), None) for key in ("body1", "body2")]
        note_unasked(given, warnings)
        for a in ends[0]:
            for b in ends[1]:
                built.scene.set_contact(a, b, enabled=False)
    for given, first, second in pairs:
        friction = given.vector("friction", 1, 5, default=(max(first[1].friction, second[1].friction),))[0]
        if given.integer("condim", 3) == 1:
            friction = 0.0
        note_unasked(given, warnings)
        with told(given.element):
            for a in _touching(built, *first):
                for b in _touching(built, *second):
                    built.scene.set_contact(a, b, friction=min(friction, MOST_FRICTION))


def _touching(built: Built, segment: Segment | None, solid: Solid | None) -> list[str]:
    """Names of the body, or of the obstacles, that a segment became (those of one solid)."""
    item = WORLD if segment is None else built.items[segment]
    if isinstance(item, Body):
        return [item.name] if built.solids.get(item.name) else []
    if solid is not None:
        return [name for name, own in built.solids.items() if solid in own]
    mine = segment.solids if segment is not None else []
    return [name for name, own in built.solids.items() if any(each in mine for each in own)]
