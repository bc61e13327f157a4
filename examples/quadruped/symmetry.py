# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Left-right mirroring: every sample teaches its mirror image too, so that the gait does not limp."""

from __future__ import annotations

import torch
from robot import LEG_JOINTS, LEGS
from tensordict import TensorDict


def _mirrored(name: str) -> str:
    return ("R" if name[1] == "L" else "L").join((name[0], name[2:]))


_JOINT_FROM = [LEG_JOINTS.index(_mirrored(name)) for name in LEG_JOINTS]
_JOINT_SIGN = [-1.0 if "hip" in name else 1.0 for name in LEG_JOINTS]
_FOOT_FROM = [LEGS.index(_mirrored(leg)) for leg in LEGS]


def _layout(privileged: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return, for each number of an observation, where its mirror image stands and the sign that it takes."""
    # Mirrored at the x-z plane, a vector changes the sign of y, and an axial vector those of x and z.
    source: list[int] = []
    sign: list[float] = []

    def add(width: int, signs: list[float], order: list[int] | None = None) -> None:
        start = len(source)
        source.extend(start + i for i in (order or range(width)))
        sign.extend(signs)

    add(3, [-1.0, 1.0, -1.0])
    add(3, [1.0, -1.0, 1.0])
    add(3, [1.0, -1.0, -1.0])
    for _ in range(3):
        add(12, _JOINT_SIGN, _JOINT_FROM)
    if privileged:
        add(3, [1.0, -1.0, 1.0])
        add(1, [1.0])
        add(4, [1.0] * 4, _FOOT_FROM)
        add(4, [1.0] * 4, _FOOT_FROM)
        add(1, [1.0])
    return torch.tensor(source), torch.tensor(sign)


_OBSERVATION = {"policy": _layout(False), "privileged": _layout(True)}
_ACTION = (torch.tensor(_JOINT_FROM), torch.tensor(_JOINT_SIGN))


def with_mirror_images(
    env: object,  # noqa: ARG001
    obs: TensorDict | None,
    actions: torch.Tensor | None,
) -> tuple[TensorDict | None, torch.Tensor | None]:
    """Append the mirror image of every sample, as rsl_rl's symmetry extension asks for.

    Args:
        env: The environment; unused.
        obs: Observation groups of batch size n, or None.
        actions: Actions, shape (n, 12), or None.

    Returns:
        The groups with batch size 2 n and actions of shape (2 n, 12): first the originals, then their images.
    """
    if obs is not None:
        groups = {}
        for name, group in obs.items():
            source, sign = _OBSERVATION[name]
            groups[name] = torch.cat([group, group[:, source] * sign])
        obs = TensorDict(groups, batch_size=[2 * obs.batch_size[0]])
    if actions is not None:
        actions = torch.cat([actions, actions[:, _ACTION[0]] * _ACTION[1]])
    return obs, actions
