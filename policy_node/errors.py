# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Every error that policy_node raises on purpose.

All of them derive from :class:`PolicyNodeError` and from the builtin that a caller would expect, and all of
their texts say where, what was found, what was expected and how to mend it.
"""

from __future__ import annotations

from collections.abc import Iterable


class PolicyNodeError(Exception):
    """Base of all errors of this package."""


class SpecError(PolicyNodeError, ValueError):
    """A policy_spec.json, task description or robot file that cannot be run right.

    Attributes:
        source: the file (or other origin) that is at fault.
        faults: one sentence per fault, each naming the key it concerns.
    """

    def __init__(self, source: str, faults: Iterable[str]) -> None:
        self.source = source
        self.faults = list(faults)
        lines = [f"{source}: {fault}" for fault in self.faults]
        super().__init__("\n".join(lines))


class BundleError(PolicyNodeError, ValueError):
    """A bundle whose files are missing, damaged, or contradict each other."""


class ModelError(PolicyNodeError, ValueError):
    """An ONNX graph that cannot be run, or that does not fit its contract."""


class ProviderError(PolicyNodeError, RuntimeError):
    """An execution provider that was asked for and that the session does not run on."""


class GoldenError(PolicyNodeError, ValueError):
    """A golden recording that is malformed, or whose replay differs from what was recorded."""


class ExportError(PolicyNodeError, RuntimeError):
    """A checkpoint that cannot be exported, or an export that could not be proven equal."""


class JointNameError(PolicyNodeError, KeyError):
    """Joint names that one side needs and the other side lacks."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the text in quotes.
        return str(self.args[0])
