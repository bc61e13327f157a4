# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Starts the deploy node, and configures and activates it when ``autostart`` is true.

``ros2 launch policy_node deploy.launch.py --show-args`` lists the arguments.
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.conditions import IfCondition
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.substitutions import FindPackageShare
from lifecycle_msgs.msg import Transition

# Arguments that become parameters of the node. An empty one leaves the parameter to params_file, so that a
# value is taken from there unless a person typed another one.
TEXT_PARAMETERS = {
    "bundle": ("bundle", "Folder of the policy bundle."),
    "robot": ("robot_file", "Robot file: limits, gains, IMU mount and joint names of this robot."),
}
FLAG_PARAMETERS = {
    "auto_run": (
        "true: run the policy as soon as the robot is ready, without ~/run. Refused outside simulation."
    ),
    "use_sim_time": "true: take the time from /clock.",
    "lockstep": "true: compute a tick when the simulator asks for it, instead of on a timer.",
}
TOPICS = {
    "joint_states": "measured joints, sensor_msgs/JointState",
    "imu/data": "orientation and angular velocity, sensor_msgs/Imu",
    "odom": "base velocity, nav_msgs/Odometry; read only if a term needs it",
    "cmd_vel": "velocity command, geometry_msgs/TwistStamped or Twist",
    "joint_command": "what the driver executes, policy_node/JointCommand",
    "joint_trajectory": "the same where command_type is joint_trajectory",
    "commands": "the same where command_type is float64_multi_array",
}


def topic_argument(topic: str) -> str:
    """Name of the launch argument that remaps a topic: ``imu/data`` becomes ``imu_data_topic``."""
    return topic.replace("/", "_") + "_topic"


def arguments() -> list[DeclareLaunchArgument]:
    """Every launch argument, each with a description."""
    default_params = PathJoinSubstitution([FindPackageShare("policy_node"), "config", "deploy.yaml"])
    declared = [
        DeclareLaunchArgument(
            "params_file", default_value=default_params, description="YAML file of parameters."
        ),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of node and topics."),
        DeclareLaunchArgument(
            "autostart",
            default_value="true",
            choices=["true", "false"],
            description="true: configure and activate the node at once; it then takes the entry pose.",
        ),
        DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn or error."),
    ]
    for argument, (parameter, description) in TEXT_PARAMETERS.items():
        text = f"{description} Parameter {parameter}; empty: as params_file says."
        declared.append(DeclareLaunchArgument(argument, default_value="", description=text))
    for parameter, description in FLAG_PARAMETERS.items():
        text = f"{description} Empty: as params_file says."
        declared.append(
            DeclareLaunchArgument(
                parameter, default_value="", choices=["", "true", "false"], description=text
            )
        )
    for topic, description in TOPICS.items():
        text = f"Topic to use as {topic} ({description})."
        declared.append(DeclareLaunchArgument(topic_argument(topic), default_value=topic, description=text))
    return declared


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The node with its parameters, and its transitions when it starts by itself."""
    overrides: dict[str, str | bool] = {}
    for argument, (parameter, _) in TEXT_PARAMETERS.items():
        if text := LaunchConfiguration(argument).perform(context):
            overrides[parameter] = text
    for parameter in FLAG_PARAMETERS:
        if text := LaunchConfiguration(parameter).perform(context):
            overrides[parameter] = text == "true"

    # launch_ros writes the overrides under the node's full name only if it knows its namespace, and under
    # "/**" if not, where a file that names the node would beat them. An absolute namespace is a known one.
    namespace = "/" + LaunchConfiguration("namespace").perform(context).strip("/")
    node = LifecycleNode(
        package="policy_node",
        executable="deploy",
        name="policy_node",
        namespace=namespace,
        parameters=[LaunchConfiguration("params_file"), overrides],
        remappings=[(topic, LaunchConfiguration(topic_argument(topic))) for topic in TOPICS],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
        output="screen",
        emulate_tty=True,
        # A launch that goes on without its only node would look alive, and would wait for its transitions for
        # ever.
        on_exit=Shutdown(reason="the deploy node ended"),
    )
    autostart = IfCondition(LaunchConfiguration("autostart"))
    activate = RegisterEventHandler(
        # Once, and only after configuring: a person who deactivates the node later must find it inactive.
        OnStateTransition(
            target_lifecycle_node=node,
            start_state="configuring",
            goal_state="inactive",
            entities=[_transition(node, Transition.TRANSITION_ACTIVATE)],
            handle_once=True,
        ),
        condition=autostart,
    )
    configure = _transition(node, Transition.TRANSITION_CONFIGURE, condition=autostart)
    return [activate, node, configure]


def _transition(node: LifecycleNode, transition_id: int, condition: IfCondition | None = None) -> EmitEvent:
    """Asks the node for a lifecycle transition."""
    event = ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition_id)
    return EmitEvent(event=event, condition=condition)


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    return LaunchDescription([*arguments(), OpaqueFunction(function=start)])
