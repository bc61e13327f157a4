# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The policy contract as pydantic models: every key of policy_spec.json, typed.

The models say which keys exist and what a value looks like. What ties keys together (slices, widths, joint
names, gains) is checked in :mod:`policy_node.spec.validate`.

Keys that could change a number are closed: an unknown one refuses the file. The top level, ``provenance`` and
``deployment`` are open: unknown keys there are kept on a round trip and reported.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

PLAIN_SCHEMA_VERSION = 1
EXTENDED_SCHEMA_VERSION = "policy_node/1"
KNOWN_SCHEMA_VERSIONS = (PLAIN_SCHEMA_VERSION, EXTENDED_SCHEMA_VERSION)

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(allow_inf_nan=False, gt=0.0)]
Count = Annotated[int, Field(ge=0)]
Slice = Annotated[list[Count], Field(min_length=2, max_length=2)]
Pair = Annotated[list[Finite], Field(min_length=2, max_length=2)]
QuatXyzw = Annotated[list[Finite], Field(min_length=4, max_length=4)]
NanPolicy = Literal["disabled", "sanitize", "warn", "error"]


class _Closed(BaseModel):
    """Keys here change numbers, so an unknown one refuses the file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class _Open(BaseModel):
    """Keys here change no number, so unknown ones are kept and reported."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class TensorSpec(_Closed):
    """One input or output of the graph: a dynamic axis appears as a name, such as "batch"."""

    name: str
    shape: list[int | str]


class OnnxSpec(_Closed):
    """The ONNX file of the bundle and the tensors that it declares."""

    file: str
    inputs: list[TensorSpec]
    outputs: list[TensorSpec]


class JitSpec(_Closed):
    """The TorchScript file of the bundle. The run time never loads it."""

    file: str


class ModelSpec(_Closed):
    """The exported graphs."""

    onnx: OnnxSpec | None = None
    jit: JitSpec | None = None


class TermSpec(_Closed):
    """One observation term: its frame is clipped, scaled, and laid into ``slice`` of its group.

    Attributes:
        name: name of the term in this group.
        term: registry key of the term, which says what it measures.
        slice: [start, stop) relative to the group.
        frame_dim: width of one frame.
        history_length: 0 for the newest frame alone, else the number of stacked frames.
        backfill: true fills the window with the first frame after a reset, false with zeros; null without history.
        clip: [lo, hi] on the raw frame, before the scale.
        scale: one factor, or one per component.
        modifiers: functions between term and clip, in order.
        config: parameters of the term.
    """

    name: str
    term: str
    slice: Slice
    frame_dim: Annotated[int, Field(gt=0)]
    history_length: Count = 0
    backfill: bool | None = None
    clip: Pair | None = None
    scale: Finite | list[Finite] = 1.0
    modifiers: list[Any] = []
    config: dict[str, Any] = {}


class GroupSpec(_Closed):
    """Observation terms that follow each other; groups follow each other in the observation."""

    name: str
    slice: Slice
    history_length: Count = 0
    backfill: bool | None = None
    nan_policy: NanPolicy = "disabled"
    terms: list[TermSpec]


class ObservationsSpec(_Closed):
    """The observation vector, width ``dim``."""

    dim: Annotated[int, Field(gt=0)]
    groups: Annotated[list[GroupSpec], Field(min_length=1)]


class VelocityFeedforwardSpec(_Closed):
    """Columns of the action that hold a target velocity (rad/s after ``scale``)."""

    slice: Slice
    scale: Finite | list[Finite]


class ActionTermSpec(_Closed):
    """One action term: target = action * scale + offset + reference, for the joints ``dofs_name``."""

    name: str
    term: str | None = None
    class_: str | None = Field(default=None, alias="class")
    slice: Slice
    entity_name: str | None = None
    target: Literal["position", "velocity"] | None = None
    reference_source: Literal["zero", "default", "delta", "accumulate", "motion_ref"] | None = None
    dofs_name: list[str] | None = None
    scale: Finite | list[Finite] | None = None
    offset: Finite | list[Finite] | None = None
    mimic_dofs: dict[str, list[Any]] = {}
    velocity_feedforward: VelocityFeedforwardSpec | None = None
    feed_forward_ratio: Finite | None = None
    config: dict[str, Any] = {}


class ActionsSpec(_Closed):
    """The action vector, width ``dim``; ``clip`` clamps the raw action first."""

    dim: Annotated[int, Field(gt=0)]
    clip: Pair | None = None
    terms: Annotated[list[ActionTermSpec], Field(min_length=1)]


class EntitySpec(_Closed):
    """A robot: every list is in the order of ``dofs_name``; rad, N m/rad, N m s/rad."""

    dofs_name: Annotated[list[str], Field(min_length=1)]
    default_dofs_pos: list[Finite]
    kp: list[Finite]
    kd: list[Finite]


class RateSpec(_Closed):
    """Run the policy once every ``control_dt`` seconds, made of ``decimation`` physics steps of ``sim_dt``."""

    control_dt: Positive
    decimation: Annotated[int, Field(gt=0)] | None = None
    sim_dt: Positive | None = None


class JointLimitsSpec(_Closed):
    """Limits of an entity's joints in the order of ``dofs_name``: rad, rad/s, N m."""

    lower: list[Finite]
    upper: list[Finite]
    velocity: list[Positive]
    effort: list[Positive]


class ImuSpec(_Closed):
    """How the IMU sits on the base.

    Attributes:
        frame_id: frame that every message must name; null accepts any.
        mount_quat_xyzw: rotates a vector of the IMU frame into the base frame, (x, y, z, w).
    """

    frame_id: str | None = None
    mount_quat_xyzw: QuatXyzw = [0.0, 0.0, 0.0, 1.0]


class CommandSpec(_Closed):
    """A command's trained range per component and the age (s) beyond which it counts as zero."""

    ranges: list[Pair]
    timeout: Positive = 0.5


class EntryPoseSpec(_Closed):
    """What the robot must be near before the policy may drive.

    Attributes:
        joint_pos: per entity, the pose in the order of ``dofs_name``, rad; the default pose where absent.
        joint_pos_tolerance: largest distance of any joint, rad.
        joint_vel_tolerance: largest joint speed, rad/s.
        tilt_tolerance: largest angle between base z and vertical, rad.
    """

    joint_pos: dict[str, list[Finite]] = {}
    joint_pos_tolerance: Positive = 0.35
    joint_vel_tolerance: Positive = 1.5
    tilt_tolerance: Positive = 0.4


class GoldenSpec(_Closed):
    """The golden recording: its file, and whether the training environment made it."""

    file: str
    source: Literal["environment", "synthetic"]


class DeploymentSpec(_Open):
    """What the plain format lacks. A file without this block stays valid."""

    requires: list[str] = []
    checksums: dict[str, str] = {}
    golden: GoldenSpec | None = None
    joint_limits: dict[str, JointLimitsSpec] = {}
    target_clip: dict[str, list[Any]] = {}
    imu: ImuSpec = ImuSpec()
    commands: dict[str, CommandSpec] = {}
    entry_pose: EntryPoseSpec = EntryPoseSpec()
    conventions: dict[str, str] = {}
    inert_keys: list[str] = []


class PolicySpec(_Open):
    """The whole contract."""

    schema_version: int | str
    model: ModelSpec
    observations: ObservationsSpec
    actions: ActionsSpec
    entities: Annotated[dict[str, EntitySpec], Field(min_length=1)]
    rate: RateSpec
    provenance: dict[str, Any] = {}
    deployment: DeploymentSpec = DeploymentSpec()


class TaskSpec(_Closed):
    """The contract without model and provenance: what a training run knows about its robot and task."""

    observations: ObservationsSpec
    actions: ActionsSpec
    entities: Annotated[dict[str, EntitySpec], Field(min_length=1)]
    rate: RateSpec
    deployment: DeploymentSpec = DeploymentSpec()
