# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Walks the trained quadruped over ROS 2 topics, and shows how well: `make demo` runs this.

The simulated robot and the deploy node are processes of their own that know each other only through ROS topics, as a
robot and its computer do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parent
MAX_ERROR_VX, MAX_ERROR_YAW = 0.1, 0.15
LEG_JOINTS = ["FL_hip_joint", "FL_thigh_joint", "FL_calf_joint"]
FRAME_SECONDS = 0.08
SHEET_COLUMNS = 4


@dataclass
class Heard:
    """What the demo heard on the topics while the robot walked."""

    clock: float = 0.0
    started: float | None = None
    status: Any = None
    tick_times: list[tuple[float, float, float]] = field(default_factory=list)
    oldest: dict[str, float] = field(default_factory=dict)


def main() -> int:
    """Runs the demo; returns 0 when the robot walked its course as commanded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=Path("demo/bundle"), help="bundle to walk with")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for recording, plot and pictures")
    parser.add_argument("--lockstep", action="store_true", help="simulate as fast as the machine can, tick by tick")
    args = parser.parse_args()

    from rich.console import Console

    console = Console(highlight=False)
    args.out.mkdir(parents=True, exist_ok=True)
    # Robots and people nearby must not hear the demo, nor it them.
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    record = args.out / "run.npz"
    record.unlink(missing_ok=True)
    heard, code = walk(args, record, console)
    if code not in (0, 1) or not record.is_file():
        return explain_failure(args.out, console)
    return show(args, record, heard, console)


def walk(args: argparse.Namespace, record: Path, console: Any) -> tuple[Heard, int]:
    """Starts both processes, listens until the course is over, and stops them."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rosgraph_msgs.msg import Clock

    from policy_node.msg import PolicyStatus
    from policy_node.ros.realtime_sim import STATUS_QOS
    from policy_node.sim.course import load_course

    course = load_course(EXAMPLE / "course.yaml")
    heard = Heard()

    def on_clock(message: Clock) -> None:
        heard.clock = message.clock.sec + message.clock.nanosec * 1e-9

    def on_status(message: PolicyStatus) -> None:
        heard.status = message
        if message.state != PolicyStatus.RUNNING:
            return
        if heard.started is None:
            heard.started = heard.clock
        heard.tick_times.append((heard.clock - heard.started, message.tick_time_p50, message.tick_time_p99))
        for name, age in zip(message.input, message.input_age):
            heard.oldest[name] = max(heard.oldest.get(name, 0.0), age)

    rclpy.init()
    node = rclpy.create_node("demo")
    node.create_subscription(Clock, "/clock", on_clock, qos_profile_sensor_data)
    node.create_subscription(PolicyStatus, "policy_node/status", on_status, STATUS_QOS)
    processes = start(args, record)
    mode = "in lockstep" if args.lockstep else "in real time"
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f} of {task.total:.0f} s"),
               TimeRemainingColumn())
    try:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task(f"walking {mode}", total=course.duration)
            while processes[0].poll() is None:
                rclpy.spin_once(node, timeout_sec=0.1)
                if heard.started is None:
                    state = heard.status.state if heard.status is not None else "starting"
                    progress.update(bar, description=f"{state.lower()}")
                    continue
                elapsed = heard.clock - heard.started
                leg = course.segments[course.segment_at(elapsed)].name
                progress.update(bar, completed=min(elapsed, course.duration), description=f"{leg:12s} {mode}")
                if any(process.poll() is not None for process in processes[1:]):
                    break
    finally:
        code = stop(processes)
        node.destroy_node()
        rclpy.try_shutdown()
    return heard, code


def start(args: argparse.Namespace, record: Path) -> list[subprocess.Popen[bytes]]:
    """Starts simulator and deploy node: through `ros2 launch` where there is one, directly elsewhere."""
    mode = "lockstep" if args.lockstep else "realtime"
    model, course, robot = EXAMPLE / "quadruped.xml", EXAMPLE / "course.yaml", robot_file()
    if shutil.which("ros2"):
        command = [
            "ros2", "launch", "policy_node", "sim.launch.py", f"bundle:={args.bundle.resolve()}", f"robot:={robot}",
            f"mode:={mode}", f"model:={model}", f"course:={course}", f"record:={record.resolve()}", "suspend:=true",
            "auto_run:=true", f"use_sim_time:={'false' if args.lockstep else 'true'}",
        ]
        return [spawn(command, args.out / "launch.log")]
    deploy = [
        str(executable("deploy")), "--ros-args", "-p", f"bundle:={args.bundle.resolve()}", "-p", f"robot_file:={robot}",
        "-p", "autostart:=true", "-p", "auto_run:=true", "-p",
        "lockstep:=true" if args.lockstep else "use_sim_time:=true",
    ]
    sim = [
        str(executable("sim")), "--model", str(model), "--mode", mode, "--suspend", "--course", str(course), "--record",
        str(record.resolve()),
    ]
    return [spawn(sim, args.out / "sim.log"), spawn(deploy, args.out / "deploy.log")]


def stop(processes: list[subprocess.Popen[bytes]]) -> int:
    """Stops what still runs, as Ctrl-C would; returns the first process's exit code."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return processes[0].returncode


def spawn(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a process that writes to a log, in a session of its own, so that Ctrl-C reaches it only through us."""
    with log.open("wb") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                start_new_session=True)


def executable(name: str) -> Path:
    """An executable of the installed package, where `ros2 run` finds it too."""
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "lib" / "policy_node" / name
        if path.is_file():
            return path
    sys.exit("demo: policy_node is not built or its workspace is not sourced. Run: make demo")


def robot_file() -> Path:
    """The robot file, beside the sources or in the installed share folder: both have the same layout."""
    return EXAMPLE.parent.parent / "config" / "robots" / "quadruped.yaml"


def show(args: argparse.Namespace, record: Path, heard: Heard, console: Any) -> int:
    """Prints the table, writes plot and pictures, and judges the run."""
    import numpy as np
    from rich.box import SIMPLE
    from rich.table import Table

    from policy_node.sim.plots import plot_run
    from policy_node.sim.recording import load_recording
    from policy_node.sim.result import leg_results

    run = load_recording(record)
    results = leg_results(run)
    table = Table(title="Commanded and reached (mean of each leg's last 2 s)", title_justify="left", box=SIMPLE,
                  pad_edge=False)
    for column in ("leg", "vx", "reached", "vy", "reached", "yaw", "reached"):
        table.add_column(column, justify="left" if column == "leg" else "right", no_wrap=True)
    good = len(results) == len(run["segment_names"]) and all(result.finished for result in results)
    for result in results:
        fine = result.error[0] < MAX_ERROR_VX and result.error[2] < MAX_ERROR_YAW
        good &= fine
        cells = [f"{value:+.2f}" for pair in zip(result.commanded, result.reached) for value in pair]
        table.add_row(result.name, *cells, style=None if fine else "red")
    console.print(table)
    facts(run, heard, console)
    times = np.array(heard.tick_times).reshape(-1, 3)
    plot_run(run, LEG_JOINTS, times, float(run["tick_dt"]), args.out / "plot.png")
    pictures = draw(args, run, console)
    console.print(f"\n[bold]{args.out}/plot.png[/bold]  velocity against command, a leg's targets, tick times")
    for name, what in pictures:
        console.print(f"[bold]{args.out}/{name}[/bold]  {what}")
    console.print(f"{args.out}/run.npz holds every tick; logs of both processes are beside it.")
    fell = int(run["falls"]) > 0
    if fell or not good:
        console.print("\n[red]The robot fell.[/red]" if fell else "\n[red]The robot did not follow its course.[/red]")
        console.print(f"Look at {args.out}/plot.png and at the logs in {args.out}/.")
        return 1
    console.print(
        "\n[green]The robot walked its course.[/green] Your own policy:\n"
        "  policy-node export --checkpoint model_1500.pt --task task.yaml --out bundle   (where you trained)\n"
        "  policy-node check bundle\n"
        "  ros2 launch policy_node deploy.launch.py bundle:=bundle robot:=my_robot.yaml  (on the robot)\n"
        "docs/train.md shows where task.yaml comes from, docs/bringup.md the first hour with a real robot."
    )
    return 0


def facts(run: dict[str, Any], heard: Heard, console: Any) -> None:
    """Prints what else a person wants to know about the run."""
    status = heard.status
    console.print(f"falls {int(run['falls'])}   joint limits hit {int(run['limit_hits'].sum())}   commands dropped "
                  f"{int(run['dropped'])}, expired {int(run['expired'])}")
    if status is None:
        return
    ages = ", ".join(f"{name} {age * 1e3:.0f} ms" for name, age in heard.oldest.items())
    console.print(
        f"ticks {status.ticks}, missed {status.missed_ticks}   tick time p50 {status.tick_time_p50 * 1e6:.0f} us, p99 "
        f"{status.tick_time_p99 * 1e6:.0f} us   oldest input seen: {ages}"
    )
    clamped = ", ".join(f"{name} {count}" for name, count in zip(status.clamped_joint, status.clamp_count))
    console.print(f"targets bounded by the guard (ticks): {clamped or 'none'}")
    console.print(f"digest of all inputs and commands: {str(run['digest'])[:16]}")


def draw(args: argparse.Namespace, run: dict[str, Any], console: Any) -> list[tuple[str, str]]:
    """Renders the run, where the machine can render; returns file names and what they show."""
    import numpy as np

    from policy_node.sim.render import animation, contact_sheet, render_frames

    moments, labels = [], []
    for number, name in enumerate(run["segment_names"]):
        rows = np.flatnonzero(run["segment"] == number)
        for share in (0.6, 0.6 + 0.35 / max(1.0, float(run["segment_durations"][number]))):
            if len(rows):
                moments.append(rows[min(len(rows) - 1, int(share * len(rows)))])
                labels.append(f"{name}, {run['course_time'][moments[-1]]:.0f} s")
    first, last = (np.flatnonzero(run["segment"] == number) for number in (1, min(2, len(run["segment_names"]) - 1)))
    step = max(1, round(FRAME_SECONDS / float(run["tick_dt"])))
    walking = np.concatenate([first[len(first) // 2:], last])[::step][:110]
    try:
        sheet = render_frames(EXAMPLE / "quadruped.xml", run["qpos"][moments], (320, 240))
        contact_sheet(sheet, labels, SHEET_COLUMNS, args.out / "contact_sheet.png")
        frames = render_frames(EXAMPLE / "quadruped.xml", run["qpos"][walking], (400, 300))
        animation(frames, FRAME_SECONDS, args.out / "walk.gif")
    except Exception as error:  # MuJoCo's renderer raises what the machine's graphics library raises
        console.print(f"[yellow]No pictures: this machine cannot render ({type(error).__name__}: {error}). "
                      "A library for headless OpenGL (libegl1) would help.[/yellow]")
        return []
    return [("contact_sheet.png", "two moments of every leg"), ("walk.gif", "the end of 'forward' and the turn")]


def explain_failure(out: Path, console: Any) -> int:
    """Shows the ends of the logs; returns the exit code."""
    console.print("[red]The demo could not walk.[/red]")
    for log in sorted(out.glob("*.log")):
        lines = log.read_text(errors="replace").strip().splitlines()[-8:]
        if lines and log.name in ("sim.log", "deploy.log", "launch.log"):
            console.print(f"\nEnd of {log}:")
            for line in lines:
                console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print("\nIf a process of an earlier run still holds the topics, end it; then run make demo again.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
