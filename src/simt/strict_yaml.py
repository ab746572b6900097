"""YAML as plain values: text, numbers, flags, lists and mappings, in a size that a person writes.

YAML can say more than that in few characters: dates, sets and other types, numbers to the base of
8 or 60, and aliases that stand for billions of values. Each is a problem with its key path, or an
error where reading could not go on.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from simt.errors import SimtError, short
from simt.problems import Problems

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it is built: 10 times faster
_LARGEST = 1 << 20  # bytes
_DEEPEST = 50  # levels
_MOST = 50_000  # values, with aliases written out

_TAG = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null")
_NOT_DECIMAL = re.compile(r"[-+]?0[\dxb_]|.*:")  # to the base of 8, 16, 2 or 60


def read_yaml(path: Path, problems: Problems) -> dict[str, Any]:
    """The mapping in a file, empty where it says nothing.

    A key that appears twice is a problem, and so is what is not plain.
    """
    try:
        text = _read(path)
        _check_size(path, text)
        loader = _LOADER(text)
        node = loader.get_single_node()
        _check(node, "", (), problems)
        values = None if node is None else loader.construct_document(node)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SimtError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or too many digits
        why = str(error).replace('"<unicode string>"', path.name)
        raise SimtError(f"{path} is not YAML: {why}") from None
    if not isinstance(values, dict | None):
        raise SimtError(f"{path} is not a mapping of keys to values")
    return values or {}


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SimtError(f"{path} is larger than {_LARGEST >> 20} MB, which nobody writes by hand")
    return content.decode("utf-8-sig")


def _check_size(path: Path, text: str) -> None:
    """Stop at more levels or values than anything here has, before they are built.

    Neither this nor the parser below it recurses; what comes after may.
    """
    sizes = [0]  # of the open collections
    names: list[str | None] = []  # their anchors
    anchors: dict[str | None, int] = {}  # the sizes of what has one
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(0)
            names.append(event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            sizes[-1] += anchors.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            anchors[event.anchor] = 1
        elif isinstance(event, yaml.CollectionEndEvent):
            size = sizes.pop() + 1
            anchors[names.pop()] = size
            sizes[-1] += size
        line = event.start_mark.line + 1
        if len(sizes) > _DEEPEST:
            raise SimtError(f"{path}, line {line}: more than {_DEEPEST} levels inside each other")
        if sizes[-1] > _MOST:
            raise SimtError(f"{path}, line {line}: more than {_MOST} values, counting aliases")


def _check(
    node: yaml.Node | None, path: str, parents: tuple[yaml.Node, ...], problems: Problems
) -> None:
    """Note what is not plain, and each key that appears twice; YAML would keep the last in silence.

    From here on every key is text, also a number or one that YAML takes for a flag, such as no.
    """
    if node in parents:
        raise SimtError(f"{path}: an alias stands inside what it is an alias of; write it out")
    if isinstance(node, yaml.ScalarNode):
        _check_scalar(node, path, problems)
    elif isinstance(node, yaml.SequenceNode):
        _check_tag(node, "seq", path, problems)
        for number, item in enumerate(node.value):
            _check(item, f"{path}.{number}", (*parents, node), problems)
    elif isinstance(node, yaml.MappingNode):
        _check_tag(node, "map", path, problems)
        _check_entries(node, path, (*parents, node), problems)


def _check_entries(
    node: yaml.MappingNode, path: str, parents: tuple[yaml.Node, ...], problems: Problems
) -> None:
    lines: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue  # YAML itself refuses it
        name = short(key.value)
        place = f"{path}.{name}" if path else name
        if key.value != "<<":
            key.tag = f"{_TAG}str"
            line = key.start_mark.line + 1
            if (first := lines.get(key.value)) is not None:
                problems.add(place, f"appears twice, in lines {first} and {line}; rename one")
            lines.setdefault(key.value, line)
        _check(value, place, parents, problems)


def _check_tag(node: yaml.Node, plain: str, path: str, problems: Problems) -> None:
    if node.tag != f"{_TAG}{plain}":
        problems.add(path, f"is of type {_type(node)}; write a plain list or mapping")
        node.tag = f"{_TAG}{plain}"


def _check_scalar(node: yaml.ScalarNode, path: str, problems: Problems) -> None:
    """Note a scalar that is not text, a decimal number, true, false or null."""
    kind, text = _type(node), short(node.value)
    by_itself = _RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))
    if kind not in _SCALARS:
        problems.add(path, f"{text} is of type {kind} to YAML; put it in quotes if it is text")
    elif kind != "str" and node.tag != by_itself:
        problems.add(path, f"{text} is not of type {kind}; leave that out")
    elif kind in ("int", "float") and _NOT_DECIMAL.match(node.value):
        problems.add(
            path, f"{text} is not a decimal number to YAML; write one, or put it in quotes"
        )
    else:
        return
    node.tag = f"{_TAG}str"  # so that reading goes on, to the next problem


_RESOLVER: Any = yaml.resolver.Resolver()  # has no types


def _type(node: yaml.Node) -> str:
    return short(str(node.tag).removeprefix(_TAG))
