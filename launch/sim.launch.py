# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Starts a simulated robot, and beside it deploy.launch.py, whose arguments it takes too.

``ros2 launch policy_node sim.launch.py --show-args`` lists the arguments.
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare


def arguments() -> list[DeclareLaunchArgument]:
    """The simulator's arguments, and the deploy node's that have another default in simulation."""
    share = FindPackageShare("policy_node")
    quadruped = PathJoinSubstitution([share, "examples", "quadruped", "quadruped.xml"])
    return [
        DeclareLaunchArgument("model", default_value=quadruped, description="MJCF file of the robot."),
        DeclareLaunchArgument(
            "mode",
            default_value="realtime",
            choices=["realtime", "lockstep"],
            description="realtime: keep pace with the clock. lockstep: wait for the command of each tick.",
        ),
        DeclareLaunchArgument(
            "suspend",
            default_value="true",
            choices=["true", "false"],
            description="true: hold the base, as a gantry does, until the policy runs.",
        ),
        DeclareLaunchArgument(
            "course", default_value="", description="YAML file of velocity commands; empty: cmd_vel is yours."
        ),
        DeclareLaunchArgument("record", default_value="", description="File to record to; empty: none."),
        DeclareLaunchArgument(
            "auto_run",
            default_value="true",
            choices=["true", "false"],
            description="true: run the policy as soon as the robot is ready, without a call of ~/run.",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=["true", "false"],
            description="true: take the time from /clock.",
        ),
    ]


def start_simulator(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The simulator with its command line, which takes only what was given."""
    options = ["--model", LaunchConfiguration("model"), "--mode", LaunchConfiguration("mode")]
    if LaunchConfiguration("suspend").perform(context) == "true":
        options.append("--suspend")
    for option in ("course", "record"):
        if LaunchConfiguration(option).perform(context):
            options += [f"--{option}", LaunchConfiguration(option)]
    simulator = Node(
        package="policy_node",
        executable="sim",
        namespace="/" + LaunchConfiguration("namespace").perform(context).strip("/"),
        arguments=options,
        output="screen",
        emulate_tty=True,
        # The deploy node is of no use without its robot, and a course ends with the simulator.
        on_exit=Shutdown(reason="the simulator ended"),
    )
    return [simulator]


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    deploy = IncludeLaunchDescription(
        PathJoinSubstitution([FindPackageShare("policy_node"), "launch", "deploy.launch.py"]),
        launch_arguments={"lockstep": EqualsSubstitution(LaunchConfiguration("mode"), "lockstep")}.items(),
    )
    return LaunchDescription([*arguments(), deploy, OpaqueFunction(function=start_simulator)])
