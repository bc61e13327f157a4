# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Joints by name: from the order of a message into the order of the contract, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policy_node.errors import JointNameError


class JointMap:
    """Index of each wanted joint in lists whose order only the sender knows.

    The map is resolved when the list of names changes, so a tick costs one comparison of lists.

    Attributes:
        wanted: names in the order in which values come out.
        index: position of each wanted name in the last resolved list, shape (len(wanted),).
    """

    def __init__(self, wanted: Sequence[str]) -> None:
        self.wanted = tuple(wanted)
        self.index: npt.NDArray[np.intp] = np.zeros(len(self.wanted), dtype=np.intp)
        self._resolved: list[str] | None = None

    def resolve(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        """Finds every wanted joint in ``names``.

        Args:
            names: the sender's names, in the sender's order; further names are ignored.

        Returns:
            The index array, so that ``np.take(values, index)`` is in the wanted order.

        Raises:
            JointNameError: a wanted joint is absent, or a name stands there twice. The last good map stays.
        """
        if names == self._resolved:
            return self.index
        places = {name: place for place, name in enumerate(names)}
        if len(places) != len(names):
            seen: set[str] = set()
            twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
            raise JointNameError(f"the joint names {', '.join(twice)} stand there twice; names are unique.")
        missing = [name for name in self.wanted if name not in places]
        if missing:
            raise JointNameError(
                f"lacks {len(missing)} of the {len(self.wanted)} joints that the contract needs: {', '.join(missing)}. "
                f"It has: {', '.join(names) or 'no joints'}. Remap the topic, or map the names with joint_name_map in "
                "the robot file."
            )
        self.index = np.array([places[name] for name in self.wanted], dtype=np.intp)
        self._resolved = list(names)
        return self.index
