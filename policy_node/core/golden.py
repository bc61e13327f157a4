# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The golden recording: what the training side saw and did, replayed through this run time when a bundle loads."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policy_node.core.inputs import Inputs
from policy_node.core.runner import PolicyRunner
from policy_node.errors import GoldenError

MIN_TICKS = 50
MAX_BYTES = 64_000_000
OBSERVATION_TOLERANCE = 1e-5
ACTION_TOLERANCE = 1e-4
TARGET_TOLERANCE = 1e-4
RELATIVE_TOLERANCE = 1e-5

_UNREADABLE = (zlib.error, tokenize.TokenError, SyntaxError, TypeError, NotImplementedError, RuntimeError, MemoryError)
"""What numpy and zipfile raise for a damaged file, beside the errors of their own."""

_ARRAYS = (
    "joint_names",
    "time",
    "joint_pos",
    "joint_vel",
    "imu_quat_xyzw",
    "imu_ang_vel",
    "obs",
    "action",
    "target_pos",
    "target_joint_names",
)


@dataclass(frozen=True)
class GoldenRecording:
    """Consecutive ticks from a reset, T of them.

    Attributes:
        joint_names: order of the raw joint states.
        joint_pos, joint_vel: raw, shape (T, num_raw_joints), rad and rad/s.
        imu_quat_xyzw, imu_ang_vel: raw, in the IMU frame, shapes (T, 4) and (T, 3).
        commands: name -> shape (T, width).
        obs: shape (T, obs_dim), float32. action: raw, shape (T, action_dim), float32.
        target_pos: before safety, shape (T, len(target_joint_names)), rad.
        target_joint_names: their joints.
    """

    joint_names: tuple[str, ...]
    joint_pos: npt.NDArray[np.float64]
    joint_vel: npt.NDArray[np.float64]
    imu_quat_xyzw: npt.NDArray[np.float64]
    imu_ang_vel: npt.NDArray[np.float64]
    commands: dict[str, npt.NDArray[np.float64]]
    obs: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    target_pos: npt.NDArray[np.float64]
    target_joint_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.obs)


@dataclass(frozen=True, slots=True)
class GoldenDifference:
    """Largest absolute differences of a replay that agreed: observation, action, target (rad)."""

    ticks: int
    obs: float
    action: float
    target: float


def read_golden(content: bytes, command_names: list[str], source: str = "golden.npz") -> GoldenRecording:
    """Reads a golden recording from the bytes of its file.

    Args:
        content: the npz file.
        command_names: commands that the contract declares; each is an array of the file.
        source: name for messages.

    Raises:
        GoldenError: the file is no such recording.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(item.file_size for item in archive.infolist())
        if size > MAX_BYTES:
            raise GoldenError(f"{source}: unpacks to {size} bytes; at most {MAX_BYTES} are read.")
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            missing = [name for name in (*_ARRAYS, *command_names) if name not in data.files]
            if missing:
                raise GoldenError(f"{source}: lacks the arrays {', '.join(missing)}. It has: {', '.join(data.files)}.")
            arrays = {name: data[name] for name in data.files}
    except (*_UNREADABLE, zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError) as error:
        if isinstance(error, GoldenError):
            raise
        raise GoldenError(f"{source}: is not a readable npz file ({error}).") from None
    ticks = len(arrays["obs"]) if arrays["obs"].ndim == 2 else 0
    if ticks < MIN_TICKS:
        raise GoldenError(
            f"{source}: holds {ticks} ticks; at least {MIN_TICKS} consecutive ones from a reset are needed."
        )
    joints = tuple(str(name) for name in arrays["joint_names"].reshape(-1))
    target_joints = tuple(str(name) for name in arrays["target_joint_names"].reshape(-1))
    for name in ("action", *command_names):
        if arrays[name].ndim != 2 or len(arrays[name]) != ticks:
            raise GoldenError(f"{source}: {name} has shape {arrays[name].shape}; expected ({ticks}, width).")
    shapes = {
        "joint_pos": (ticks, len(joints)),
        "joint_vel": (ticks, len(joints)),
        "imu_quat_xyzw": (ticks, 4),
        "imu_ang_vel": (ticks, 3),
        "target_pos": (ticks, len(target_joints)),
    }
    for name, array in arrays.items():
        if name in shapes and array.shape != shapes[name]:
            raise GoldenError(f"{source}: {name} has shape {array.shape}; expected {shapes[name]}.")
        numeric = array.dtype.kind in "fiu"
        if name not in ("joint_names", "target_joint_names") and not (numeric and np.isfinite(array).all()):
            raise GoldenError(f"{source}: {name} holds values that are not finite numbers.")
    raw = {name: np.asarray(array, np.float64) for name, array in arrays.items() if array.dtype.kind in "fiu"}
    return GoldenRecording(
        joint_names=joints,
        joint_pos=raw["joint_pos"],
        joint_vel=raw["joint_vel"],
        imu_quat_xyzw=raw["imu_quat_xyzw"],
        imu_ang_vel=raw["imu_ang_vel"],
        commands={name: raw[name] for name in command_names},
        obs=raw["obs"].astype(np.float32),
        action=raw["action"].astype(np.float32),
        target_pos=raw["target_pos"],
        target_joint_names=target_joints,
    )


def replay(runner: PolicyRunner, golden: GoldenRecording, source: str = "golden.npz") -> GoldenDifference:
    """Runs a recording through observe and act, and compares every component of every tick.

    The last action of each tick is the recorded one, so that a difference shows where it arises and does not
    grow from tick to tick.

    Raises:
        GoldenError: something differs; the text names tick, term or joint, and both values.
    """
    spec = runner.spec
    # The recording was made with the contract's own mount and names, whatever a site says.
    inputs = Inputs(
        runner.new_sensors(),
        runner.site.joint_names,
        {name: name for name in runner.site.joint_names},
        spec.deployment.imu.model_copy(update={"frame_id": None}),
        {},
    )
    if golden.obs.shape[1] != spec.observations.dim or golden.action.shape[1:] != (spec.actions.dim,):
        raise GoldenError(
            f"{source}: its observations are {golden.obs.shape[1]} and its actions {golden.action.shape[1]} wide; the "
            f"contract says {spec.observations.dim} and {spec.actions.dim}."
        )
    for name, values in golden.commands.items():
        width = len(inputs.sensors.commands[name])
        if values.shape[1] != width:
            raise GoldenError(f"{source}: {name} is {values.shape[1]} wide; the contract says {width}.")
    unknown = [name for name in golden.target_joint_names if name not in runner.site.joint_names]
    if unknown:
        raise GoldenError(f"{source}: has targets of {', '.join(unknown)}, which the contract does not know.")
    places = [runner.site.joint_names.index(name) for name in golden.target_joint_names]
    names = list(golden.joint_names)
    runner.reset(runner.default_pos)
    worst = [0.0, 0.0, 0.0]
    for tick in range(len(golden)):
        taken = inputs.set_joint_states(names, golden.joint_pos[tick], golden.joint_vel[tick], 0.0)
        taken &= inputs.set_imu(golden.imu_quat_xyzw[tick].tolist(), golden.imu_ang_vel[tick].tolist(), 0.0)
        if not taken:
            why = inputs.joint_states.rejection or inputs.imu.rejection
            raise GoldenError(f"{source}: tick {tick} cannot be an input: {why}.")
        for name, values in golden.commands.items():
            inputs.sensors.commands[name][:] = values[tick]
        obs = runner.observe(inputs.sensors)
        where = _worst(obs, golden.obs[tick], OBSERVATION_TOLERANCE, worst, 0)
        if where is not None:
            row = next((row for row in runner.observation.table if row.start <= where < row.stop), None)
            term = f"term '{row.name}', component {where - row.start}" if row else f"component {where}"
            raise GoldenError(_difference(source, tick, f"observation {term}", obs[where], golden.obs[tick, where]))
        target = runner.act(obs)
        where = _worst(runner.action, golden.action[tick], ACTION_TOLERANCE, worst, 1)
        if where is not None:
            raise GoldenError(
                _difference(source, tick, f"action component {where}", runner.action[where], golden.action[tick, where])
            )
        runner.set_last_action(golden.action[tick])
        where = _worst(target[places], golden.target_pos[tick], TARGET_TOLERANCE, worst, 2)
        if where is not None:
            joint = golden.target_joint_names[where]
            raise GoldenError(
                _difference(source, tick, f"target of '{joint}'", target[places][where], golden.target_pos[tick, where])
            )
    runner.reset(runner.default_pos)
    return GoldenDifference(len(golden), *worst)


def _worst(
    got: npt.NDArray[np.floating], expected: npt.NDArray[np.floating], tolerance: float, worst: list[float], kind: int
) -> int | None:
    difference = np.abs(np.asarray(got, np.float64) - expected)
    worst[kind] = max(worst[kind], float(difference.max()))
    beyond = ~(difference <= tolerance + RELATIVE_TOLERANCE * np.abs(expected))
    return int(np.argmax(np.where(beyond, difference, -1.0))) if beyond.any() else None


def _difference(source: str, tick: int, what: str, got: float, expected: float) -> str:
    return (
        f"{source}: at tick {tick} the {what} is {got:.7g} here and {expected:.7g} in the recording. The bundle's "
        "files do not belong together, or the contract does not say what the training did. Export the checkpoint anew."
    )
