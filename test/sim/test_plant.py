# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from policy_node.core.rotation import matrix_from_quat
from policy_node.errors import PolicyNodeError
from policy_node.sim.joint_drive import DriveCommand
from policy_node.sim.plant import Plant

Make = Callable[..., DriveCommand]
QUADRUPED = Path(__file__).parents[2] / "examples" / "quadruped" / "quadruped.xml"


def test_joints_keep_the_models_order_and_its_own_actuators_are_gone(arm: Plant) -> None:
    assert arm.joint_names == ("shoulder", "elbow", "slide")
    assert [arm.model.actuator(i).name for i in range(arm.model.nu)] == ["shoulder", "elbow", "slide"]


def test_torque_limits_come_from_motor_servo_and_joint_whichever_is_tighter(arm: Plant) -> None:
    # The motor: control 2 times gear 5. The elbow: the joint allows less than its servo. Nothing limits the slide.
    assert arm.torque_limit.tolist() == [[-10.0, 10.0], [-4.0, 3.0], [-np.inf, np.inf]]


def test_applied_torque_follows_the_law(arm: Plant, command: Make) -> None:
    assert arm.read().joint_pos.tolist() == [0.4, -0.7, 0.01]
    arm.data.qvel[:] = [0.3, -0.2, 0.05]
    arm.apply(command(position=[0.03, 0.5, -0.6], velocity=[0.1, 1.0, -0.5], effort=[0.2, -0.3, 0.1],
                      kp=[50.0, 20.0, 10.0], kd=[4.0, 0.5, 0.4]))
    by_hand = [20 * (0.5 - 0.4) + 0.5 * (1.0 - 0.3) - 0.3, 10 * (-0.6 + 0.7) + 0.4 * (-0.5 + 0.2) + 0.1,
               50 * (0.03 - 0.01) + 4 * (0.1 - 0.05) + 0.2]
    assert arm.read().joint_effort.tolist() == pytest.approx(by_hand)


def test_applied_torque_is_limited_and_is_what_is_reported(arm: Plant, command: Make) -> None:
    arm.apply(command(effort=[0.0, -300.0, 300.0]))
    assert arm.read().joint_effort.tolist() == [-10.0, 3.0, 0.0]


@pytest.mark.parametrize("kd", [1.0, 100.0, 10000.0])
def test_damping_is_stable_however_large(arm: Plant, command: Make, kd: float) -> None:
    # Explicitly integrated, the largest of these would multiply the velocity in each step by far more than -1.
    arm.model.actuator_forcelimited[:] = 0
    arm.data.qvel[:] = [1.0, -2.0, 0.5]
    arm.apply(command(kd=[kd] * 3, valid_for=10.0))
    speeds = []
    for _ in range(200):
        arm.step(0.002)
        speeds.append(float(np.abs(arm.data.qvel).max()))
    assert np.isfinite(speeds).all()
    assert speeds[-1] < 0.1
    # What a step leaves of 2 rad/s: 1 / (1 + dt kd / inertia) of it, and no inertia here is above 0.5 kg m^2.
    assert speeds[0] < 2.0 / (1.0 + 0.002 * kd / 0.5)


def test_joint_at_its_torque_limit_is_slowed_by_that_torque_and_no_less(arm: Plant, command: Make) -> None:
    arm.data.qpos[:] = 0.0
    arm.data.qvel[:] = [0.0, -5.0, 0.0]
    # The other joints are held so stiffly that the lower arm swings alone.
    arm.apply(command(kd=[10000.0] * 3, kp=[1e5, 1e5, 0.0], valid_for=10.0))
    arm.model.actuator_forcelimited[[0, 2]] = 0
    # A rod of 0.5 kg and 0.3 m that swings about its end, with 0.1 kg there.
    inertia = 0.5 * 0.3**2 / 3 + 0.1 * 0.3**2
    arm.step(0.02)
    assert arm.data.qvel[1] == pytest.approx(-5.0 + 3.0 * 0.02 / inertia, abs=0.25)


def test_expired_command_ends_in_damping_at_the_physics_rate(arm: Plant, command: Make) -> None:
    arm.apply(command(kp=[10.0] * 3, position=[0.5] * 3, valid_for=0.01))
    arm.step(0.01)
    assert arm.drive.holds
    arm.step(0.004)
    assert not arm.drive.holds
    assert arm.model.actuator_biasprm[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert (-arm.model.actuator_biasprm[:, 2]).tolist() == arm.drive.damping_kd.tolist()
    assert arm.data.ctrl.tolist() == [0.0, 0.0, 0.0]


def test_damping_without_a_command_is_what_was_given_or_follows_the_torque_limit(arm_file: Path) -> None:
    plant = Plant(arm_file, imu_site="", damping_kd={"elbow": 0.25})
    assert plant.drive.damping_kd.tolist() == pytest.approx([10.0 / 6.0, 0.25, 1.0])
    with pytest.raises(PolicyNodeError, match=r"wrist.*It has: shoulder, elbow, slide"):
        Plant(arm_file, imu_site="", damping_kd={"wrist": 1.0})


def test_time_is_an_exact_multiple_of_the_time_step(arm: Plant) -> None:
    for _ in range(1000):
        arm.step(0.02)
    assert arm.time_ns == 20_000_000_000
    with pytest.raises(PolicyNodeError, match=r"0\.005 s is no multiple.*0\.002 s"):
        arm.step(0.005)


def test_joint_that_runs_into_its_limit_is_counted_once_per_hit(arm: Plant, command: Make) -> None:
    for sequence, elbow in enumerate((-2.0, -2.0, 0.0, -2.0), start=1):
        arm.apply(command(sequence, position=[0.0, 0.0, elbow], kp=[50.0] * 3, kd=[2.0] * 3, valid_for=9.0))
        arm.step(2.0)
    assert arm.limit_hits[1] == 2
    assert arm.limit_hits[2] == 0


def test_reset_starts_over(arm: Plant, command: Make) -> None:
    arm.apply(command(5, kp=[10.0] * 3))
    arm.step(0.05)
    arm.reset("bent")
    assert arm.time_ns == 0
    assert arm.read().joint_pos.tolist() == [0.4, -0.7, 0.01]
    assert not arm.drive.holds
    assert arm.apply(command(2)) is None
    with pytest.raises(PolicyNodeError, match=r"no keyframe 'home'\. It has: bent"):
        arm.reset("home")


def test_imu_at_rest_reads_gravity_upwards_in_its_own_turned_frame(floater: Plant) -> None:
    floater.step(2.0)
    imu, base = floater.read().imu, floater.read().base
    assert imu is not None
    assert base is not None
    rotation = matrix_from_quat(imu.quat_xyzw)
    assert rotation @ imu.lin_acc == pytest.approx([0.0, 0.0, 9.81], abs=1e-3)
    # R_z(1.1) R_y(-0.2) R_x(0.3), by hand: what the site's frame is in the base, which lies level here.
    (sr, cr), (sp, cp), (sy, cy) = ((np.sin(a), np.cos(a)) for a in (0.3, -0.2, 1.1))
    mount = np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])
    assert matrix_from_quat(base.quat_xyzw).T @ rotation == pytest.approx(mount, abs=1e-6)
    assert np.abs(imu.lin_acc).min() > 1.0, "gravity must show on every axis, or the test sees no wrong order"


def test_imu_and_odometry_agree_on_a_tumbling_base(floater: Plant) -> None:
    floater.data.qpos[2] = 3.0
    floater.data.qvel[:6] = [0.4, -0.3, 0.2, 0.9, -1.3, 0.7]
    before = floater.read().base
    floater.step(0.2)
    reading = floater.read()
    imu, base = reading.imu, reading.base
    assert imu is not None
    assert base is not None
    assert before is not None
    site_in_base = matrix_from_quat(base.quat_xyzw).T @ matrix_from_quat(imu.quat_xyzw)
    assert site_in_base @ imu.ang_vel == pytest.approx(base.ang_vel, abs=1e-9)
    # Before, the base was level, so its velocity in its own frame is that of the world.
    assert before.lin_vel == pytest.approx([0.4, -0.3, 0.2])
    velocity_w = matrix_from_quat(base.quat_xyzw) @ base.lin_vel
    assert velocity_w == pytest.approx([0.4, -0.3, 0.2 - 9.81 * 0.2], abs=0.02)


def test_reading_belongs_to_the_present_instant_not_to_the_step_before(floater: Plant) -> None:
    floater.data.qpos[2] = 3.0
    floater.data.qvel[3:6] = [0.0, 0.0, 5.0]
    floater.step(0.005)
    imu = floater.read().imu
    assert imu is not None
    base = matrix_from_quat(floater.data.qpos[[4, 5, 6, 3]])
    yaw = float(np.arctan2(base[1, 0], base[0, 0]))
    assert yaw == pytest.approx(5.0 * 0.005, rel=0.01)
    site = floater.data.site("imu").xmat.reshape(3, 3)
    assert matrix_from_quat(imu.quat_xyzw) == pytest.approx(site, abs=1e-9)


def test_suspended_base_stays_and_still_feels_gravity_until_released() -> None:
    plant = Plant(QUADRUPED)
    before = plant.read().base
    plant.suspend(True, lift=0.1)
    plant.step(2.0)
    held, imu = plant.read().base, plant.read().imu
    assert before is not None
    assert held is not None
    assert imu is not None
    assert held.pos == pytest.approx(before.pos + np.array([0.0, 0.0, 0.1]), abs=2e-3)
    assert np.abs(held.quat_xyzw[3]) > 0.9999
    assert np.linalg.norm(imu.lin_acc) == pytest.approx(9.81, abs=0.01)
    plant.suspend(False)
    plant.step(1.0)
    fallen = plant.read().base
    assert fallen is not None
    assert fallen.pos[2] < held.pos[2] - 0.1


def test_push_adds_to_the_velocity_in_the_world_frame(floater: Plant) -> None:
    floater.data.qpos[3:7] = [np.cos(0.4), 0.0, 0.0, np.sin(0.4)]
    floater.data.qvel[:3] = [0.1, 0.0, 0.0]
    floater.push([0.0, 0.5, 0.0])
    base = floater.read().base
    assert base is not None
    assert matrix_from_quat(base.quat_xyzw) @ base.lin_vel == pytest.approx([0.1, 0.5, 0.0])


def test_fixed_robot_has_neither_base_nor_imu_and_says_that_it_cannot_be_pushed(arm: Plant) -> None:
    reading = arm.read()
    assert reading.base is None
    assert reading.imu is None
    with pytest.raises(PolicyNodeError, match=r"arm\.xml has no free joint"):
        arm.push([1.0, 0.0, 0.0])


def test_missing_imu_site_is_an_error_that_names_the_sites(floater_file: Path) -> None:
    with pytest.raises(PolicyNodeError, match=r"no site 'head'.*It has: imu"):
        Plant(floater_file, imu_site="head")


def test_simulation_that_has_become_unstable_says_so(
    floater: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # MuJoCo writes its warning to a file in the current folder.
    monkeypatch.chdir(tmp_path)
    floater.data.qvel[6] = np.nan
    with pytest.raises(PolicyNodeError, match=r"floater\.xml: .*unstable by 0\.020 s"):
        floater.step(0.02)


def test_file_that_is_no_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(PolicyNodeError, match=r"no model file .*nothing\.xml"):
        Plant(tmp_path / "nothing.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
    with pytest.raises(PolicyNodeError, match=r"broken\.xml: MuJoCo cannot load it"):
        Plant(broken)
