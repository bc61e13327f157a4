# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""From the raw action to joint targets before safety."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from policy_node.errors import SpecError
from policy_node.spec.model import ActionTermSpec, PolicySpec

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class ActionDecoder:
    """Turns a raw action into one position target per joint of the entity.

    Per driven joint: target = clip(raw, actions.clip) * scale + offset, then target_clip. A joint that no term drives
    is targeted at its default pose. All of it is compiled into one gather and four array operations.

    Attributes:
        driven: which joints a term drives, shape (num_joints,), bool.
        driven_joints: their names in the order of the action.
        driven_index: their places in the contract's order, shape (num_actions,).
    """

    def __init__(self, spec: PolicySpec, source: str = "policy_spec.json") -> None:
        name, entity = next(iter(spec.entities.items()))
        joints = entity.dofs_name
        faults = [fault for term in spec.actions.terms for fault in _unsupported(term, name)]
        if faults:
            raise SpecError(source, faults)
        count, width = len(joints), spec.actions.dim
        # The extended action has a zero behind its last column: undriven joints gather that one.
        gather = np.full(count, width, dtype=np.intp)
        scale = np.zeros(count)
        offset = np.array(entity.default_dofs_pos, dtype=np.float64)
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        driven_index: list[int] = []
        for term in spec.actions.terms:
            names = term.dofs_name or []
            places = [joints.index(joint) for joint in names]
            driven_index += places
            gather[places] = np.arange(term.slice[0], term.slice[0] + len(names))
            scale[places] = 1.0 if term.scale is None else term.scale
            offset[places] = 0.0 if term.offset is None else term.offset
            if spec.actions.clip is not None:
                # Clamping the raw action is clamping the target at the images of the bounds: scale and offset keep
                # or turn round the order of numbers, and so does their rounding. Both clips become one.
                ends = np.multiply.outer(spec.actions.clip, scale[places]) + offset[places]
                low[places], high[places] = ends.min(axis=0), ends.max(axis=0)
            bounds = spec.deployment.target_clip.get(term.name)
            if bounds is not None:
                low[places] = np.minimum(np.maximum(low[places], bounds[0]), bounds[1])
                high[places] = np.minimum(np.maximum(high[places], bounds[0]), bounds[1])
        self.driven_index = np.array(driven_index, dtype=np.intp)
        self.driven_joints = tuple(joints[place] for place in driven_index)
        self.driven = gather < width
        self._gather, self._scale, self._offset = gather, scale, offset
        self._low, self._high = low, high
        self._extended = np.zeros(width + 1)
        self._action = self._extended[:-1]
        self._target = np.empty(count)

    def decode(self, action: F32) -> F64:
        """Position targets of all joints.

        Args:
            action: raw output of the policy, shape (num_actions,).

        Returns:
            Targets before safety, shape (num_joints,), rad, contract order; valid until the next call.
        """
        target = self._target
        self._action[:] = action
        self._extended.take(self._gather, out=target, mode="clip")
        np.multiply(target, self._scale, target)
        np.add(target, self._offset, target)
        np.maximum(target, self._low, out=target)
        np.minimum(target, self._high, out=target)
        return target


def _unsupported(term: ActionTermSpec, entity: str) -> list[str]:
    where = f"action term '{term.name}'"
    if term.dofs_name is None or term.target is None or term.reference_source is None:
        shown = term.class_ or term.term or "nameless"
        return [
            f"{where}: its class '{shown}' carries no joints, target and reference_source, so no rule says how its "
            "action becomes joint targets. Only joint controllers are run."
        ]
    faults = []
    if term.target != "position":
        faults.append(f"{where}.target: '{term.target}' is not supported yet; 'position' is.")
    if term.reference_source not in ("zero", "default"):
        faults.append(
            f"{where}.reference_source: '{term.reference_source}' is not supported yet; 'zero' and 'default' are."
        )
    if term.mimic_dofs:
        faults.append(f"{where}.mimic_dofs: mimic joints are not supported yet.")
    if term.velocity_feedforward is not None:
        faults.append(f"{where}.velocity_feedforward: is not supported yet.")
    if term.entity_name != entity:
        faults.append(f"{where}.entity_name: '{term.entity_name}'; one entity, '{entity}', is supported so far.")
    return faults
