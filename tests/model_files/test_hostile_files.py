"""Damaged and hostile files: a model or a refusal that says where, whatever they hold; and nothing read but the folder."""

import random
import re
import signal
import sys
import warnings

import numpy as np
import pytest

import dalembert as dal
from dalembert.io.files import MAX_DEPTH

from .small_package import write_package

BOMB = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]>'
FETCH = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'
VALUES = (
    "", "nan", "inf", "-inf", "1e400", "-1", "0", "1e29", "1e-300", "-1e-9", "abc", "1 2", "1 2 3 4 5 6 7 8 9", "0 0 0",
    "1_0", "0x10", "é", "true", "../../../../etc/passwd", "file:///etc/passwd", "package://../secret.stl", "package://etc/passwd",
    "http://localhost/x.stl", "//server/x.stl", "meshes", "meshes/none.stl", "a\tb", "x" * 3000, "world", "&lt;", "%s", "{}",
)  # fmt: skip
outside: list[str] = []
allowed: list[str] = []


def watch(event, arguments):
    """Audit hook: what is opened beside the allowed folders, and every use of the network, while `allowed` is not empty."""
    if not allowed:
        return
    if event.startswith(("socket.", "urllib.", "subprocess.", "os.system", "http.", "ftplib.")):
        outside.append(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[0], str) and not arguments[0].startswith(tuple(allowed)):
        outside.append(arguments[0])


sys.addaudithook(watch)


@pytest.fixture
def package(tmp_path):
    """A package whose loading is watched; what is imported on the way has been imported before."""
    folder = write_package(tmp_path.resolve())
    (tmp_path / "secret.stl").write_bytes((folder / "meshes/block.stl").read_bytes())
    for name in ("robot.urdf", "features.xml"):
        dal.load_model(folder / name)
    outside.clear()
    allowed[:] = [str(folder), sys.prefix, sys.base_prefix, dal.__path__[0]]
    yield folder
    allowed.clear()


def mutated(text: str, rng: random.Random) -> bytes:
    """The text with one to four random changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.randrange(12)
        values = [match.span(2) for match in re.finditer(r'([\w:]+)="([^"]*)"', text)]
        elements = [match.span() for match in re.finditer(r"<[^/!?][^<>]*/>", text)]
        tags = [match.span(1) for match in re.finditer(r"</?(\w+)", text)]
        if not (values and elements and tags):
            break
        a, b = rng.choice(values)
        c, d = rng.choice(elements)
        e, f = rng.choice(tags)
        if kind <= 3:
            text = text[:a] + rng.choice(VALUES) + text[b:]
        elif kind == 4:  # one value in the place of another: wrong types, duplicated names, loops of links
            g, h = rng.choice(values)
            text = text[:a] + text[g:h] + text[b:]
        elif kind == 5:
            text = text[:c] + text[d:]
        elif kind == 6:
            text = text[:c] + text[c:d] * rng.choice((2, 50)) + text[d:]
        elif kind == 7:
            text = text[: rng.randrange(len(text))]
        elif kind == 8:
            text = text[:e] + text[slice(*rng.choice(tags))] + text[f:]
        elif kind == 9:
            text = text[:c] + "<body>" * 2 * MAX_DEPTH + "</body>" * 2 * MAX_DEPTH + text[d:]
        elif kind == 10:
            text = rng.choice((BOMB, FETCH)) + re.sub(r"<\?xml[^>]*>", "", text[:a] + "&d;&b;" + text[b:])
        else:
            at = rng.randrange(len(text))
            text = text[:at] + chr(rng.choice((0, 9, 34, 38, 60, 62, 233, 65533))) + text[at + 1 :]
    return text.encode(rng.choice(["utf-8"] * 19 + ["utf-16"]))


def late(*_):
    raise TimeoutError("a file took longer than 20 s")


@pytest.mark.parametrize("name, seeds", [("robot.urdf", 600), ("features.xml", 400)])
def test_a_thousand_damaged_files_load_or_are_refused(package, name, seeds):
    text, file = (package / name).read_text(), package / name
    fates = {"loaded": 0, "refused": 0}
    signal.signal(signal.SIGALRM, late)
    for seed in range(seeds):
        file.write_bytes(mutated(text, random.Random(seed)))
        signal.alarm(20)
        try:
            with warnings.catch_warnings(), np.errstate(all="warn"):
                warnings.simplefilter("error")
                model = dal.load_model(file, floating=seed % 2 == 0 if name.endswith("urdf") else None)
            assert all(np.isfinite(body.inertia).all() for body in model.scene.bodies.values())
            fates["loaded"] += 1
        except ValueError as error:
            assert str(package) in str(error), f"seed {seed}: {error!r}"
            fates["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed} of {name}: {error!r}") from error
        finally:
            signal.alarm(0)
    assert min(fates.values()) > seeds / 10
    assert not outside


HOSTILE = {
    "entity bomb": (f"{BOMB}<robot>&d;</robot>", "document types"),
    "external entity": (f"{FETCH}<robot>&b;</robot>", "document types"),
    "deep nesting": ("<robot>" + "<a>" * 1000 + "</a>" * 1000 + "</robot>", "nested"),
    "no end": ("<robot><link name='a'>", "not well-formed"),
    "nothing": ("", "not well-formed"),
    "zero bytes": ("<robot>\0</robot>", "zero bytes"),
    "encoding": ('<?xml version="1.0" encoding="utf-7"?><robot/>', "encoding"),
    "another format": ("<sdf/>", "neither"),
    "a template": ('<robot xmlns:xacro="x"><xacro:macro name="a"/></robot>', "xacro"),
    "two roots": ("<robot><link name='a'/><link name='b'/></robot>", "root"),
    "a loop": (
        "<robot>" + "".join(f"<link name='{n}'/>" for n in "abc") + "".join(
            f"<joint name='{p}{c}' type='fixed'><parent link='{p}'/><child link='{c}'/></joint>" for p, c in ("bc", "cb")
        ) + "</robot>", "loop",
    ),
    "a name twice": ("<robot><link name='a'/>\n<link name='a'/></robot>", ":2: <link>"),
    "an unknown link": ("<robot><link name='a'/><joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"
                        "</robot>", "not in the file"),
    "included twice": ("<mujoco><include file='model.xml'/></mujoco>", "second time"),
    "an endless replica": ("<mujoco><worldbody>" + "<replicate count='300'>" * 3 + "<light/>" + "</replicate>" * 3
                           + "</worldbody></mujoco>", "replicas"),
    "too many replicas": ("<mujoco><worldbody><replicate count='1e9'/></worldbody></mujoco>", "count"),
    "an include outside": ("<mujoco><include file='../secret.xml'/></mujoco>", "outside"),
    "a mesh outside": ("<mujoco><asset><mesh name='m' file='../secret.stl'/></asset><worldbody><geom type='mesh' mesh='m'/>"
                       "</worldbody></mujoco>", "outside"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_it_is_refused_with_its_place_and_the_way_out(package, what):
    text, reason = HOSTILE[what]
    file = package / "model.xml"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(reason)) as refusal:
        dal.load_model(file)
    assert str(file) in str(refusal.value)
    assert not outside


def test_a_link_of_the_file_system_that_leads_out_is_not_followed(package):
    (package / "meshes/leading_out.stl").symlink_to(package.parent / "secret.stl")
    text = (package / "robot.urdf").read_text()
    (package / "robot.urdf").write_text(text.replace("package://small/meshes/block.stl", "meshes/leading_out.stl"))
    model = dal.load_model(package / "robot.urdf")
    assert any("lies outside" in str(warning) for warning in model.warnings)
    assert not outside
    allowed.append(str(package.parent))
    wider = dal.load_model(package / "robot.urdf", root=package.parent)
    assert not any("lies outside" in str(warning) for warning in wider.warnings)


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.urdf", "\0", tmp_path / ("x" * 5000)):
        with pytest.raises(ValueError):
            dal.load_model(path)
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError):
        dal.load_model(tmp_path / "a")
