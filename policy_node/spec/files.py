# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Reading JSON and YAML so that nothing is misread: strict, bounded, and with lines in the messages.

Python's own readers accept NaN, duplicate keys (the last one wins) and unbounded aliases. A contract must not
mean one thing to its writer and another to its reader, so all of these are refused here.
"""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from policy_node.errors import SpecError

T = TypeVar("T", bound=BaseModel)
MAX_BYTES = 16_000_000
MAX_DEPTH = 64
PLAIN_TAGS = {"!"} | {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq")}


def read_text(path: Path) -> str:
    """Reads a small UTF-8 file.

    Raises:
        SpecError: the file is absent, not a regular file, too large, or not UTF-8.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "there is no such file"
        raise SpecError(str(path), [f"{what}. Give the path of an existing file."])
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SpecError(str(path), [f"holds {size} bytes; a contract has at most {MAX_BYTES}."])
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(str(path), [f"is not UTF-8 text ({error.reason} at byte {error.start})."]) from None


def parse_json(text: str, source: str) -> Any:
    """Parses JSON; refuses NaN, infinities, duplicate keys and deep nesting.

    Args:
        text: the document.
        source: name of the origin for messages.

    Raises:
        SpecError: the text is not strict JSON.
    """

    def no_constant(name: str) -> Any:
        raise SpecError(source, [f"holds {name}, which is no JSON number. Write a finite number or null."])

    def finite_float(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise SpecError(source, [f"holds {digits[:40]}, which is too large for a double. Write a finite number."])
        return value

    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise SpecError(source, [f"holds the key '{key}' twice in one object. Keep one of them."])
            result[key] = value
        return result

    try:
        data = json.loads(text, parse_constant=no_constant, parse_float=finite_float, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise SpecError(source, [f"line {error.lineno}, column {error.colno}: {error.msg}; not valid JSON."]) from None
    except RecursionError:
        raise SpecError(source, [f"nests deeper than {MAX_DEPTH} levels."]) from None
    except ValueError as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(source, [f"holds a number that cannot be read: {error}."]) from None
    if _depth(data) > MAX_DEPTH:
        raise SpecError(source, [f"nests deeper than {MAX_DEPTH} levels."])
    return data


def parse_yaml(text: str, source: str) -> Any:
    """Parses YAML 1.2 as data: no tags that build objects, no aliases, no duplicate keys.

    Returns:
        Plain data whose maps and lists still know their lines, for :func:`line_of`.

    Raises:
        SpecError: the text is not such YAML.
    """
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            if type(event).__name__ == "AliasEvent":
                line = event.start_mark.line + 1
                raise SpecError(source, [f"line {line}: aliases (*name) are not read. Write the value out."])
            tag = getattr(event, "tag", None)
            if tag is not None and str(tag) not in PLAIN_TAGS:
                line = event.start_mark.line + 1
                raise SpecError(source, [f"line {line}: the tag {tag} is not read. Write plain data."])
        return YAML(typ="rt", pure=True).load(text)
    except SpecError:
        raise
    except (YAMLError, ValueError, KeyError) as error:
        raise SpecError(source, [f"is not valid YAML: {' '.join(str(error).split())}"]) from None
    except RecursionError:
        raise SpecError(source, ["nests too deeply."]) from None


def read_data(path: Path) -> Any:
    """Reads a .json file as JSON and anything else as YAML."""
    text = read_text(path)
    return parse_json(text, path.name) if path.suffix == ".json" else parse_yaml(text, path.name)


def plain(data: Any) -> Any:
    """Copies YAML or JSON data into plain dicts, lists and numbers."""
    if isinstance(data, dict):
        return {str(key) if isinstance(key, str) else key: plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [plain(item) for item in data]
    if isinstance(data, bool) or data is None:
        return data
    if isinstance(data, int):
        return int(data)
    if isinstance(data, float):
        return float(data)
    return str(data) if isinstance(data, str) else data


def line_of(data: Any, path: Sequence[str | int]) -> int | None:
    """Line (from 1) of the value at ``path`` in data of :func:`parse_yaml`; None where it is not known."""
    line: int | None = None
    for key in path:
        if isinstance(data, CommentedMap) and key in data:
            line = data.lc.key(key)[0] + 1
        elif isinstance(data, CommentedSeq) and isinstance(key, int) and key < len(data):
            line = data.lc.item(key)[0] + 1
        else:
            return line
        data = data[key]
    return line


def build(model: type[T], data: Any, source: str, *, lines: Any = None, inert: bool = True) -> T:
    """Validates plain data against a model and reports every fault at once.

    Args:
        model: the pydantic model.
        data: plain data.
        source: name of the origin for messages.
        lines: data of :func:`parse_yaml` to look line numbers up in.
        inert: whether the file can declare unknown keys inert.

    Raises:
        SpecError: one fault per wrong key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors():
            where = fault["loc"]
            line = line_of(lines, [key for key in where if isinstance(key, (str, int))]) if lines is not None else None
            prefix = f"line {line}: " if line is not None else ""
            faults.append(f"{prefix}{dotted(where)}: {_sentence(dict(fault), model, inert)}")
        raise SpecError(source, faults) from None


def dotted(path: Sequence[str | int]) -> str:
    """Writes a path as a person would: ``observations.groups[0].terms[2].scale``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else (f".{key}" if text else str(key))
    return text or "the file"


def _sentence(fault: dict[str, Any], model: type[BaseModel], inert: bool) -> str:
    kind, got = fault["type"], fault.get("input")
    shown = repr(got) if not isinstance(got, (dict, list)) else f"a {type(got).__name__} of {len(got)}"
    if len(shown) > 80:
        shown = shown[:77] + "..."
    if kind == "missing":
        return "is missing. Add it."
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(fault["loc"][-1]), _key_names(model), 1)
        return (
            "is not a key that this version knows. "
            + (f"Did you mean '{near[0]}'? " if near else "")
            + ("If it changes no number, name it in deployment.inert_keys. " if inert and not near else "")
            + "It is refused because an unknown key could change what is meant."
        )
    if kind == "model_type":
        return f"is {shown}; expected a map of keys and values."
    message = fault["msg"]
    return f"got {shown}; {message[0].lower()}{message[1:]}."


def _key_names(model: type[BaseModel]) -> set[str]:
    """Keys of a model and of the models inside of it."""
    names: set[str] = set()
    pending, seen = [model.model_json_schema()], 0
    while pending and seen < 10_000:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            names |= set(item.get("properties", {}))
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return names


def _depth(data: Any) -> int:
    depth, level = 0, [data]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for item in level for child in _children(item) if isinstance(child, (dict, list))]
    return depth


def _children(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list):
        yield from item


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that a reader sees the old content or the new one, never a part."""
    handle, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(staged, 0o644)
        os.replace(staged, path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
