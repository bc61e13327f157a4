# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the nodes, over real DDS. They run against the installed package, which has the messages."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

if find_spec("policy_node.msg") is None:
    raise pytest.UsageError(
        "test/ros runs against the installed package, and policy_node.msg is missing. Run `make test-ros`, "
        "or build, source install/setup.bash and run `pytest -o pythonpath=test/support test/ros`. "
        "Leave these tests out with --ignore=test/ros."
    )

# Nobody else on this network, and no other run of these tests on this machine, may hear these nodes or be
# heard. Domains up to 101 keep their ports clear of those that Linux hands out by itself.
# A person who tries a driver of their own wants exactly that one to be heard, so their settings stay.
if "DRIVER_COMMAND" not in os.environ:
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 101)
