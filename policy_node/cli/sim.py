# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``sim``: simulate a robot with MuJoCo on ROS topics."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the simulation; returns 0, or 1 after a fall or when it could not run."""
    parser = argparse.ArgumentParser(
        prog="sim",
        description="Simulates a robot with MuJoCo: joint_states, imu/data, odom and /clock go out, joint_command comes in "
        "and is obeyed as a driver must obey it: damped when it expires. Arguments of ROS follow after --ros-args.",
    )
    parser.add_argument("--model", type=Path, required=True, help="MJCF file of the robot")
    parser.add_argument("--mode", choices=("realtime", "lockstep"), default="realtime",
                        help="realtime keeps pace with the clock; lockstep waits for the command of each tick")
    parser.add_argument("--suspend", action="store_true", help="hold the base, as a gantry does, until the policy runs")
    parser.add_argument("--course", type=Path, help="YAML file of velocity commands, played once the policy runs")
    parser.add_argument("--record", type=Path, help="npz file to record to")
    parser.add_argument("--tick-dt", type=float, default=0.02, help="seconds of one tick (default: 0.02)")
    parser.add_argument("--publish-dt", type=float, default=0.005,
                        help="seconds from one sample of the sensors to the next in real time (default: 0.005)")
    parser.add_argument("--imu-site", default="imu", help="site of the model that is the IMU (default: imu)")
    parser.add_argument("--imu-frame", default="imu_link", help="frame_id of imu/data (default: imu_link)")
    parser.add_argument("--partner-timeout", type=float, default=10.0,
                        help="seconds after which a silent deploy node ends the lockstep (default: 10)")
    parser.add_argument("--duration", type=float, help="simulated seconds to run without a course (default: for ever)")
    parser.add_argument("--viewer", action="store_true", help="show the robot in a window; needs a display")
    args, ros_args = parser.parse_known_args(sys.argv[1:] if argv is None else list(argv))
    if ros_args and ros_args[0] != "--ros-args":
        parser.error(f"unknown argument: {ros_args[0]}")
    for name in ("tick_dt", "publish_dt", "partner_timeout"):
        if not 0.0 < getattr(args, name) < 1e3:
            parser.error(f"--{name.replace('_', '-')} must be above 0 seconds")
    try:
        import rclpy  # noqa: F401
    except ModuleNotFoundError:
        print("sim: there is no rclpy: source a ROS 2 workspace that holds policy_node, or build one with 'make build'.",
              file=sys.stderr)
        return 1
    from policy_node.errors import PolicyNodeError
    from policy_node.ros.process import NodeProcess
    from policy_node.ros.sim_node import SimNode
    from policy_node.ros.sim_run import Run, run_lockstep, run_realtime
    from policy_node.sim.course import load_course
    from policy_node.sim.plant import Plant
    from policy_node.sim.viewer import open_viewer

    process = NodeProcess("sim", ros_args)
    try:
        plant = Plant(args.model, args.imu_site)
        course = load_course(args.course) if args.course else None
        node = SimNode(plant, args.imu_frame, lockstep=args.mode == "lockstep")
        process.spin(node)
        plant.suspend(args.suspend)
        viewer = open_viewer(plant) if args.viewer else None
        run = Run(node, args.tick_dt, course, args.record, args.duration, show=viewer.sync if viewer else lambda: None)
        if args.mode == "lockstep":
            code = run_lockstep(run, args.partner_timeout, process.stop)
        else:
            code = run_realtime(run, args.publish_dt, process.stop)
        if viewer is not None:
            viewer.close()
        return 1 if process.failed else code
    except PolicyNodeError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1
    finally:
        process.close()

