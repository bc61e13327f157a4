# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A bundle on disk: read once, hashed, and checked against its own checksums."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_node.errors import BundleError, SpecError
from policy_node.spec.files import MAX_BYTES, build, parse_json, read_text, write_whole
from policy_node.spec.model import PolicySpec
from policy_node.spec.validate import find_faults, unknown_keys

SPEC_FILE = "policy_spec.json"
MAX_MODEL_BYTES = 256_000_000


@dataclass(frozen=True)
class Bundle:
    """The files of a bundle in memory: what was hashed is what runs.

    Attributes:
        path: where it came from.
        spec: the contract.
        onnx: bytes of the graph.
        golden: bytes of the golden recording, or None.
        digest: sha256 over contract and graph, hexadecimal, for status and recordings.
        notes: what a person should know, such as keys that mean nothing to this version.
    """

    path: Path
    spec: PolicySpec
    onnx: bytes
    golden: bytes | None
    digest: str
    notes: tuple[str, ...]


def parse_spec(text: str, source: str = SPEC_FILE) -> PolicySpec:
    """Reads a contract and checks everything that can be checked without a robot.

    Raises:
        SpecError: all faults at once.
    """
    data = parse_json(text, source)
    if not isinstance(data, dict):
        raise SpecError(source, ["is not a JSON object."])
    spec = build(PolicySpec, drop_inert(data), source)
    faults = find_faults(spec)
    if faults:
        raise SpecError(source, faults)
    return spec


def dump_spec(spec: PolicySpec) -> str:
    """The contract as JSON text, every number with all of its digits."""
    data = spec.model_dump(mode="json", by_alias=True)
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def drop_inert(data: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the keys that ``deployment.inert_keys`` declares to change no number, at any depth."""
    deployment = data.get("deployment")
    inert = deployment.get("inert_keys") if isinstance(deployment, dict) else None
    if not isinstance(inert, list) or not inert:
        return data
    names = {name for name in inert if isinstance(name, str)}

    def walk(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: walk(value) for key, value in item.items() if key not in names}
        return [walk(value) for value in item] if isinstance(item, list) else item

    return {key: value if key in ("deployment", "provenance") else walk(value) for key, value in data.items()}


def read_bundle(path: Path) -> Bundle:
    """Reads a bundle folder.

    Raises:
        BundleError: a file is missing, too large, outside of the folder, or differs from its checksum.
        SpecError: the contract cannot be run right.
    """
    if not path.is_dir():
        raise BundleError(
            f"{path}: there is no such folder. A bundle is a folder with {SPEC_FILE} and policy.onnx; "
            "'policy-node export' writes one."
        )
    text = read_text(path / SPEC_FILE)
    spec = parse_spec(text, SPEC_FILE)
    if spec.model.onnx is None:
        raise BundleError(
            f"{path}: the contract names no ONNX file, and TorchScript is not run. Export with --format onnx."
        )
    onnx = _read_member(path, spec.model.onnx.file, MAX_MODEL_BYTES)
    golden = None
    if spec.deployment.golden is not None:
        golden = _read_member(path, spec.deployment.golden.file, MAX_BYTES * 4)
    contents = {spec.model.onnx.file: onnx}
    if golden is not None and spec.deployment.golden is not None:
        contents[spec.deployment.golden.file] = golden
    notes = [f"{SPEC_FILE}: the key '{key}' means nothing to this version; it is kept." for key in unknown_keys(spec)]
    notes += _compare_checksums(path, spec, contents)
    digest = hashlib.sha256(text.encode() + onnx).hexdigest()
    return Bundle(path, spec, onnx, golden, digest, tuple(notes))


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(content).hexdigest()


def write_spec(path: Path, spec: PolicySpec) -> None:
    """Writes a contract whole."""
    write_whole(path, dump_spec(spec).encode())


def _compare_checksums(path: Path, spec: PolicySpec, contents: dict[str, bytes]) -> list[str]:
    checksums = spec.deployment.checksums
    for name, content in contents.items():
        expected = checksums.get(name)
        if expected is not None and sha256(content) != expected:
            raise BundleError(
                f"{path / name}: its SHA-256 is {sha256(content)[:16]}..., and {SPEC_FILE} was written for "
                f"{expected[:16]}.... One of the two was replaced; export the checkpoint anew, never swap one file."
            )
    unhashed = [name for name in contents if name not in checksums]
    return (
        [f"{SPEC_FILE}: holds no checksum of {', '.join(unhashed)}; a swapped file would go unnoticed."]
        if unhashed
        else []
    )


def _read_member(folder: Path, name: str, limit: int) -> bytes:
    if name != Path(name).name or name in ("", ".", ".."):
        raise BundleError(f"{folder / SPEC_FILE}: names the file '{name}'; a bundle's files stand beside its contract.")
    path = folder / name
    if not path.is_file():
        raise BundleError(f"{path}: there is no such file, and {SPEC_FILE} names it. Copy the whole bundle.")
    size = path.stat().st_size
    if size > limit:
        raise BundleError(f"{path}: holds {size} bytes; at most {limit} are read.")
    return path.read_bytes()
