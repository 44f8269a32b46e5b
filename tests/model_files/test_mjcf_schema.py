"""No attribute of MuJoCo's schema is ignored without a word: each is read, or named in a warning, or changes no motion."""

import re

import pytest

import dalembert as dal
from dalembert.io.files import Attributes

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

# One model for each element: {} is where its attributes go.
PLACES = {
    "compiler": "<compiler {}/><worldbody>BODY</worldbody>",
    "option": "<option {}/><worldbody>BODY</worldbody>",
    "flag": "<option><flag {}/></option><worldbody>BODY</worldbody>",
    "mesh": '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" {}/></asset><worldbody><body><freejoint/>'
    '<geom type="mesh" mesh="m"/></body></worldbody>',
    "body": '<worldbody><body {}><freejoint/><geom size="1"/></body></worldbody>',
    "inertial": '<worldbody><body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1" {}/></body></worldbody>',
    "joint": '<worldbody><body><joint {}/><geom size="1"/></body></worldbody>',
    "freejoint": '<worldbody><body><freejoint {}/><geom size="1"/></body></worldbody>',
    "geom": '<worldbody><body><freejoint/><geom size="1" {}/></body></worldbody>',
    "site": '<worldbody><body><freejoint/><geom size="1"/><site name="s" {}/></body></worldbody>',
    "pair": '<worldbody>BODY<geom name="h" size="1"/></worldbody><contact><pair geom1="g" geom2="h" {}/></contact>',
    "exclude": '<worldbody>BODY</worldbody><contact><exclude body1="b" body2="world" {}/></contact>',
    "connect": '<worldbody>BODY</worldbody><equality><connect body1="b" anchor="0 0 0" {}/></equality>',
    "weld": '<worldbody>BODY</worldbody><equality><weld body1="b" {}/></equality>',
    "equality joint": '<worldbody>HINGES</worldbody><equality><joint joint1="j" joint2="k" {}/></equality>',
    "general": '<worldbody>HINGES</worldbody><actuator><general joint="j" {}/></actuator>',
    "motor": '<worldbody>HINGES</worldbody><actuator><motor joint="j" {}/></actuator>',
    "position": '<worldbody>HINGES</worldbody><actuator><position joint="j" kp="2" {}/></actuator>',
    "velocity": '<worldbody>HINGES</worldbody><actuator><velocity joint="j" {}/></actuator>',
    "key": "<worldbody>BODY</worldbody><keyframe><key {}/></keyframe>",
}
BODY = '<body name="b"><freejoint name="f"/><geom name="g" size="1"/></body>'
HINGES = (
    '<body><joint name="j" type="hinge"/><geom size="1"/></body><body pos="5 0 0">'
    '<joint name="k"/><geom size="1"/></body>'
)
NAMES = {"name", "class", "user", "group", "rgba", "material", "childclass"}  # names, and pictures
HARMLESS = {  # what concerns pictures, files that MuJoCo writes, its threads and its diagnostics
    "compiler": {"texturedir", "discardvisual", "usethread", "saveinertial", "savecompiled", "savecanonical", "conflict",
                 "fusestatic"},
    "option": {"magnetic"},
    "flag": {"override", "energy", "fwdinv", "invdiscrete", "multiccd", "island", "sleep", "warmstart", "refsafe", "sensor",
             "midphase", "eulerdamp", "autoreset", "nativeccd", "diagexact", "ipc", "speculative"},
    "mesh": {"content_type", "smoothnormal", "texcoord", "normal"},
    "body": {"sleep", "fuse", "simple"},
    "geom": {"castshadow", "hfield", "fitscale"},  # the last two of kinds of geoms that are left out
    "site": {"type", "size", "mesh"},
    "key": {"time"},
}  # fmt: skip
OBEYED = {"gravity", "contact", "limit", "frictionloss"}  # flags that are read


def schema():
    """(element, attribute) of all elements in `PLACES`, as MuJoCo prints them: names in columns under each element."""
    found, element, section = [], None, ""
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"^( *)(\(world\))?(\w+) \([!?*R]\) *(.*)$", line)
        if head:
            depth, element, rest = len(head[1]), head[3], head[4]
            section = element if depth == 3 else section
        else:
            rest = line
        name = f"equality {element}" if section == "equality" and element == "joint" else element
        if section not in ("default", "tendon", "sensor", "visual"):
            found += [(name, key) for key in rest.split() if name in PLACES]
    return sorted(set(found))


SCHEMA = schema()


def test_the_schema_is_read_whole():
    assert {element for element, _ in SCHEMA} == set(PLACES)
    assert {("freejoint", "align"), ("compiler", "alignfree"), ("geom", "fluidcoef"), ("key", "mpos")} <= set(SCHEMA)
    assert len(SCHEMA) > 300


@pytest.mark.parametrize("element", sorted(PLACES))
def test_each_attribute_is_read_or_warned_of(element, tmp_path, monkeypatch):
    asked: set[str] = set()
    text = Attributes.text
    monkeypatch.setattr(Attributes, "text", lambda self, key, *more: asked.add(key) or text(self, key, *more))
    vector = Attributes.vector
    monkeypatch.setattr(
        Attributes, "vector", lambda self, key, *more, **named: asked.add(key) or vector(self, key, *more, **named)
    )
    place = PLACES[element].replace("BODY", BODY).replace("HINGES", HINGES)
    file, silent = tmp_path / "model.xml", []
    for key in [key for owner, key in SCHEMA if owner == element and key not in NAMES]:
        given = f'{key}="{"disable" if element == "flag" else 1}"'
        tag = place[: place.index("{}")].rpartition("<")[2]
        given = "" if f" {key}=" in tag else given
        file.write_text(f"<mujoco>{place.format(given)}</mujoco>")
        asked.clear()
        warnings: list[str] = []
        try:
            warnings = [str(warning) for warning in dal.load_model(file).warnings]
        except ValueError as error:
            warnings = [str(error)]
        told = any(key in line for line in warnings)
        if not told and key not in asked | (OBEYED if element == "flag" else set()):
            silent.append(key)
    assert set(silent) <= HARMLESS.get(element, set())
