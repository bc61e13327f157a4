# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``sim``: simulate a robot with MuJoCo on ROS topics."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

PUBLISH_DT = 0.005
"""Seconds between two samples of the sensors that most models' time steps can keep, or nearly so."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the simulation; returns 0, or 1 after a fall on its course or when it could not run."""
    parser = argparse.ArgumentParser(
        prog="sim",
        description="Simulates a robot with MuJoCo: joint_states, imu/data, odom and /clock go out, and "
        "joint_command comes in and is obeyed as a driver must: damped when it expires. Arguments of ROS follow after "
        "--ros-args.",
    )
    parser.add_argument("--model", type=Path, required=True, help="MJCF file of the robot")
    parser.add_argument("--mode", choices=("realtime", "lockstep"), default="realtime",
                        help="realtime keeps pace with the clock; lockstep waits for the command of each tick")
    parser.add_argument("--suspend", action="store_true", help="hold the base, as a gantry does, until the policy runs")
    parser.add_argument("--course", type=Path, help="YAML file of velocity commands, played once the policy runs")
    parser.add_argument("--record", type=Path, help="npz file to record to")
    parser.add_argument("--tick-dt", type=float, default=0.02, help="seconds of one tick (default: 0.02)")
    parser.add_argument("--publish-dt", type=float,
                        help="seconds from one sample of the sensors to the next in real time (default: the multiple "
                        f"of the model's time step that is next to {PUBLISH_DT:g})")
    parser.add_argument("--imu-site", default="imu",
                        help="site of the model that is the IMU; empty for none (default: imu)")
    parser.add_argument("--imu-frame", default="imu_link", help="frame_id of imu/data (default: imu_link)")
    parser.add_argument("--partner-timeout", type=float, default=10.0,
                        help="seconds after which a silent deploy node ends the lockstep (default: 10)")
    parser.add_argument("--duration", type=float, help="simulated seconds to run without a course (default: for ever)")
    parser.add_argument("--viewer", action="store_true", help="show the robot in a window; needs a display")
    args, ros_args = parser.parse_known_args(sys.argv[1:] if argv is None else list(argv))
    if ros_args and ros_args[0] != "--ros-args":
        parser.error(f"unknown argument: {ros_args[0]}")
    for name in ("tick_dt", "publish_dt", "partner_timeout", "duration"):
        value = getattr(args, name)
        if value is not None and not 0.0 < value < math.inf:
            parser.error(f"--{name.replace('_', '-')} is {value:g}; expected a number of seconds above 0")
    try:
        import mujoco  # noqa: F401
    except ModuleNotFoundError:
        print("sim: there is no mujoco: pip install 'policy_node[sim]'.", file=sys.stderr)
        return 1
    try:
        import rclpy  # noqa: F401
    except ModuleNotFoundError:
        print("sim: there is no rclpy: source a ROS 2 workspace that holds policy_node, or build one with "
              "'make build'.", file=sys.stderr)
        return 1
    from policy_node.errors import PolicyNodeError
    from policy_node.ros.lockstep_sim import run_lockstep
    from policy_node.ros.process import NodeProcess
    from policy_node.ros.realtime_sim import run_realtime
    from policy_node.ros.sim_node import SimNode
    from policy_node.sim.course import load_course
    from policy_node.sim.plant import Plant
    from policy_node.sim.simulation import Simulation
    from policy_node.sim.viewer import Viewer

    lockstep = args.mode == "lockstep"
    try:
        process = NodeProcess("sim", ros_args)
    except PolicyNodeError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1
    simulation = viewer = None
    code = 1
    try:
        plant = Plant(args.model, imu_site=args.imu_site)
        node = SimNode(plant.joint_names, args.imu_frame, lockstep=lockstep)
        process.spin(node)
        viewer = Viewer(plant) if args.viewer else None
        simulation = Simulation(
            plant, tick_dt=args.tick_dt, course=load_course(args.course) if args.course else None,
            suspend=args.suspend, duration=args.duration, record=args.record is not None,
            say=lambda text: node.get_logger().info(text), show=viewer.sync if viewer is not None else None,
        )
        if lockstep:
            run_lockstep(node, simulation, partner_timeout=args.partner_timeout, stop=process.stop)
        else:
            publish_dt = args.publish_dt or max(1, round(PUBLISH_DT / plant.timestep)) * plant.timestep
            run_realtime(node, simulation, publish_dt=publish_dt, stop=process.stop)
        # Only on a course is a fall a failure: without one the robot may be meant to sink.
        code = 1 if process.failed or (simulation.course is not None and simulation.falls) else 0
    except PolicyNodeError as error:
        print(f"sim: {error}", file=sys.stderr)
    finally:
        if viewer is not None:
            viewer.close()
        if simulation is not None and simulation.plant.time_ns:
            if args.record is not None:
                simulation.write(args.record)
            where = f"; {args.record}" if args.record is not None else ""
            print(f"sim: {simulation.summary()}{where}", flush=True)
        process.close()
    return code
