# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Walks the trained quadruped over ROS 2 topics, and shows how well: `make demo` runs this.

The simulated robot and the deploy node are processes of their own that know each other only through ROS topics, as a
robot and its computer do.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parent
MAX_ERROR_VX, MAX_ERROR_YAW = 0.1, 0.15
LEG_JOINTS = ["FL_hip_joint", "FL_thigh_joint", "FL_calf_joint"]
FRAME_SECONDS = 0.08
FILM_SECONDS = 1.6
"""Of each leg in the animation: drawing without a graphics card takes a tenth of a second per frame."""
SHEET_COLUMNS = 4
START_TIMEOUT = 30.0
"""Seconds in which the policy must run; it takes about three."""


@dataclass
class Heard:
    """What the demo heard on the topics while the robot walked.

    Attributes:
        clock: simulated time, s.
        started: simulated time at which the policy was first heard to run, s.
        status: newest PolicyStatus.
        tick_times: simulated time, median and 99th percentile of the tick time, s.
        oldest: topic -> largest age that a tick found its newest sample to have, s.
    """

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
    # The pictures are drawn without a display; MuJoCo reads this when it is imported.
    os.environ.setdefault("MUJOCO_GL", "egl")
    record = args.out / "run.npz"
    for old in (record, *(args.out / f"{name}.log" for name in ("sim", "deploy", "launch"))):
        old.unlink(missing_ok=True)
    try:
        heard = walk(args, record, console)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    if heard.started is None or not record.is_file():
        return explain_failure(args.out, heard, console)
    return show(args, record, heard, console)


def walk(args: argparse.Namespace, record: Path, console: Any) -> Heard:
    """Starts both processes, listens until the course is over, and stops them."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.qos import qos_profile_sensor_data
    from rclpy.signals import SignalHandlerOptions
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rosgraph_msgs.msg import Clock

    from policy_node.msg import PolicyStatus
    from policy_node.ros.status import STATUS_QOS
    from policy_node.sim.course import load_course
    from policy_node.sim.recording import load_recording

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
        if heard.tick_times and heard.clock == heard.tick_times[-1][0]:
            # The simulation is over: what ages now is of no interest.
            return
        heard.tick_times.append((heard.clock, message.tick_time_p50, message.tick_time_p99))
        for name, age in zip(message.input, message.input_age, strict=True):
            heard.oldest[name] = max(heard.oldest.get(name, 0.0), age)

    # Ctrl-C is for this process to handle, which then ends the other two in order.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("demo")
    node.create_subscription(Clock, "/clock", on_clock, qos_profile_sensor_data)
    node.create_subscription(PolicyStatus, "policy_node/status", on_status, STATUS_QOS)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    listener = threading.Thread(target=executor.spin, daemon=True)
    listener.start()
    processes = start(args, record)
    mode = "in lockstep" if args.lockstep else "in real time"
    columns = (TextColumn("{task.description:28}"), BarColumn(),
               TextColumn("{task.completed:.0f} of {task.total:.0f} s"), TimeRemainingColumn())
    began = time.monotonic()
    try:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("starting", total=course.duration)
            while all(process.poll() is None for process in processes):
                time.sleep(0.1)
                if heard.started is not None:
                    elapsed = min(heard.clock - heard.started, course.duration)
                    leg = course.segments[course.segment_at(elapsed)].name
                    progress.update(bar, completed=elapsed, description=f"{mode}: {leg}")
                elif heard.status is not None:
                    progress.update(bar, description=heard.status.state.lower())
                if heard.started is None and time.monotonic() - began > START_TIMEOUT:
                    break
            if record.is_file() and load_recording(record)["completed"]:
                # Here the policy was heard to run a little after it did.
                progress.update(bar, completed=course.duration, description=f"{mode}: done")
    finally:
        stop(processes)
        executor.shutdown(timeout_sec=1.0)
        listener.join(timeout=1.0)
        node.destroy_node()
        rclpy.try_shutdown()
    return heard


def start(args: argparse.Namespace, record: Path) -> list[subprocess.Popen[bytes]]:
    """Starts simulator and deploy node: through `ros2 launch` where there is one, directly elsewhere."""
    mode = "lockstep" if args.lockstep else "realtime"
    model, course, robot = EXAMPLE / "quadruped.xml", EXAMPLE / "course.yaml", robot_file()
    params = EXAMPLE / "demo.yaml"
    if shutil.which("ros2"):
        command = [
            "ros2", "launch", "policy_node", "sim.launch.py", f"bundle:={args.bundle.resolve()}", f"robot:={robot}",
            f"mode:={mode}", f"model:={model}", f"course:={course}", f"record:={record.resolve()}", "suspend:=true",
            f"params_file:={params}", "auto_run:=true", f"use_sim_time:={'false' if args.lockstep else 'true'}",
        ]
        return [spawn(command, args.out / "launch.log")]
    deploy = [
        str(executable("deploy")), "--ros-args", "--params-file", str(params), "-p", f"bundle:={args.bundle.resolve()}",
        "-p", f"robot_file:={robot}", "-p", "autostart:=true", "-p", "auto_run:=true",
        "-p", "lockstep:=true" if args.lockstep else "use_sim_time:=true",
    ]
    sim = [
        str(executable("sim")), "--model", str(model), "--mode", mode, "--suspend", "--course", str(course), "--record",
        str(record.resolve()),
    ]
    return [spawn(sim, args.out / "sim.log"), spawn(deploy, args.out / "deploy.log")]


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Stops what still runs, as Ctrl-C would."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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

    from policy_node.sim.plots import plot_run
    from policy_node.sim.recording import load_recording
    from policy_node.sim.result import leg_results

    run = load_recording(record)
    results = leg_results(run)
    good = bool(run["completed"])
    for result in results:
        good &= result.error[0] < MAX_ERROR_VX and result.error[2] < MAX_ERROR_YAW
    console.print(velocity_table(results))
    console.print(facts(run, heard))
    console.print()
    with console.status("drawing"):
        times = np.array(heard.tick_times).reshape(-1, 3)
        times[:, 0] -= np.nanmax(run["time"] - run["course_time"])
        plot_run(run, LEG_JOINTS, times, float(run["tick_dt"]), args.out / "plot.png")
        pictures = draw(args, run, console)
    plot = ("plot.png", "velocities against commands, one leg's targets, tick times")
    for name, what in [plot, *pictures, ("run.npz", "every tick; *.log are what the processes said")]:
        console.print(f"[bold]{args.out / name}[/bold]  {what}", soft_wrap=True)
    if run["falls"] or not good:
        what = "The robot fell." if run["falls"] else "The robot did not follow its course."
        console.print(f"\n[red]{what}[/red] Look at {args.out}/plot.png, and at the logs beside it.")
        for reason in last_faults(args.out):
            console.print(f"The node says: {reason}", markup=False, soft_wrap=True)
        if run["stalls"]:
            times = int(run["stalls"])
            console.print(
                f"The simulation could not keep up with real time {times} times: other work on this machine may be the "
                "cause. Try again when it is idle, or with --lockstep, where a slow machine is only slow."
            )
        return 1
    console.print(
        "\n[green]The robot walked its course.[/green] With a policy of your own:\n"
        "  policy-node export --checkpoint model_1500.pt --task task.yaml --out bundle     where it was trained\n"
        "  policy-node check bundle                                                        anywhere\n"
        "  ros2 launch policy_node deploy.launch.py bundle:=bundle robot:=robot.yaml       on the robot\n"
        "docs/train.md says where task.yaml comes from, docs/bringup.md how the first hour with a real robot goes.",
        soft_wrap=True,
    )
    return 0


def last_faults(out: Path) -> list[str]:
    """What the deploy node logged when it stopped driving, if it did."""
    logs = [out / name for name in ("deploy.log", "launch.log") if (out / name).is_file()]
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
    return [line[line.index("RUNNING ->"):] for line in lines if "RUNNING -> DAMPING" in line][-1:]


def velocity_table(results: list[Any]) -> Any:
    """Commanded and reached velocities of each leg of the course, and the error."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(
        title="Means of each leg's last 2 s: forward and left (m/s), yaw rate (rad/s)",
        title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    table.add_column("leg", no_wrap=True)
    for quantity in ("fwd", "left", "yaw"):
        for column in (f"{quantity}\nasked", "\ngot", "\nerror"):
            table.add_column(column, justify="right", no_wrap=True)
    for result in results:
        cells = []
        for asked, reached, error, limit in zip(result.commanded, result.reached, result.error,
                                                (MAX_ERROR_VX, None, MAX_ERROR_YAW), strict=True):
            # Adding zero turns a rounded -0.0 into 0.0.
            values = [f"{round(value, 2) + 0.0:.2f}" for value in (asked, reached, error)]
            if limit is not None and error >= limit:
                values[2] = f"[red]{values[2]}[/red]"
            cells += values
        table.add_row(result.name, *cells)
    return table


def facts(run: dict[str, Any], heard: Heard) -> Any:
    """What else a person wants to know about the run."""
    from rich.table import Table

    status = heard.status
    hit = [f"{name} {count}" for name, count in zip(run["joint_names"], run["limit_hits"], strict=True) if count]
    clamped = [f"{name} {count}" for name, count in zip(status.clamped_joint, status.clamp_count, strict=True)]
    ages = [f"{name} {age * 1e3:.1f} ms" for name, age in heard.oldest.items()]
    rows = [
        ("falls", f"{int(run['falls'])}"),
        ("joint limits hit", f"{int(run['limit_hits'].sum())}{': ' if hit else ''}{', '.join(hit)}"),
        ("targets bounded", ", ".join(clamped) if clamped else "0"),
        ("commands", f"{status.sequence} sent, {int(run['dropped'])} dropped, {int(run['expired'])} expired"),
        ("ticks", f"{status.ticks}, {status.missed_ticks} missed"),
        ("tick time", f"p50 {status.tick_time_p50 * 1e3:.2f} ms, p99 {status.tick_time_p99 * 1e3:.2f} ms, of "
                      f"{float(run['tick_dt']) * 1e3:.0f} ms"),
        ("age of inputs", f"at most {', '.join(ages)}"),
        ("simulation", f"{run['time'][-1] + run['tick_dt']:.2f} s, slower than real time {int(run['stalls'])} times"),
        ("digest of the run", str(run["digest"])[:16]),
    ]  # fmt: skip
    table = Table.grid(padding=(0, 2, 0, 1))
    for row in rows:
        table.add_row(*row)
    return table


def draw(args: argparse.Namespace, run: dict[str, Any], console: Any) -> list[tuple[str, str]]:
    """Renders the run, where the machine can render; returns file names and what they show."""
    import numpy as np

    from policy_node.sim.render import RenderError, caption, render_frames, write_animation, write_contact_sheet

    rows_of = [np.flatnonzero(run["segment"] == number) for number in range(len(run["segment_names"]))]
    names = [str(name) for name in run["segment_names"]]
    tick_dt = float(run["tick_dt"])
    step, length = max(1, round(FRAME_SECONDS / tick_dt)), round(FILM_SECONDS / tick_dt)
    moments: list[int] = []
    filmed = []
    for rows in filter(len, rows_of):
        # Of a push the sheet shows what it does, and the film begins just before it.
        pushed = [row for row in rows if np.any(np.abs(run["course_time"][row] - run["push_times"]) < tick_dt / 2)]
        moments.append(min(pushed[0] + round(0.3 / tick_dt), rows[-1]) if pushed else rows[len(rows) // 3])
        moments.append(rows[-len(rows) // 8])
        begin = pushed[0] - length // 4 if pushed else rows[len(rows) // 2]
        if run["command"][rows].any() or pushed:
            filmed.append(np.arange(begin, min(begin + length, rows[-1])))
    frames = np.concatenate([clip[::step] for clip in filmed]) if filmed else np.array(moments)

    def label(row: int) -> str:
        return f"{run['course_time'][row]:.1f} s  {names[int(run['segment'][row])]}"

    try:
        sheet = render_frames(EXAMPLE / "quadruped.xml", run["qpos"][moments], width=400, height=260)
        write_contact_sheet(args.out / "contact_sheet.png",
                            [caption(frame, label(row)) for frame, row in zip(sheet, moments, strict=True)],
                            columns=SHEET_COLUMNS)
        film = render_frames(EXAMPLE / "quadruped.xml", run["qpos"][frames], width=400, height=260)
        write_animation(args.out / "walk.gif",
                        [caption(frame, label(row)) for frame, row in zip(film, frames.tolist(), strict=True)],
                        frame_dt=step * tick_dt)
    except RenderError as error:
        console.print(f"[yellow]No pictures:[/yellow] {error}")
        return []
    return [("walk.gif", "the robot on every leg of the course"), ("contact_sheet.png", "two moments of every leg")]


def explain_failure(out: Path, heard: Heard, console: Any) -> int:
    """Says why the policy never ran, as far as it is known, and shows the ends of the logs; returns the exit code."""
    console.print("[red]The policy did not get to run.[/red]")
    if heard.status is not None:
        status = heard.status
        console.print(f"The deploy node was {status.state}: {status.reason} {status.remedy}", markup=False)
    for log in sorted(out.glob("*.log")):
        lines = re.sub(r"\x1b\[\d*m", "", log.read_text(errors="replace")).strip().splitlines()
        # What launch says of itself comes after what went wrong, and is no help.
        errors = [line for line in lines if ("[ERROR]" in line or "[FATAL]" in line) and "[launch]" not in line]
        console.print(f"\n{log} {'says' if errors else 'ends with'}:")
        for line in errors[-4:] or lines[-6:]:
            console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print("\nMend what the logs say, then run make demo again. policy-node check says what a bundle needs.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
