# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The learning curve of a run: a line on the terminal, a row in curve.csv, and a picture at the end."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

from env import QuadrupedEnv
from rsl_rl.utils.logger import Logger

COLUMNS = (
    "iteration",
    "seconds",
    "samples",
    "reward",
    "episode_seconds",
    "lin_vel_error",
    "yaw_rate_error",
    "falls_per_minute",
    "action_std",
    "learning_rate",
)


class LearningCurve(Logger):
    """rsl_rl's bookkeeping of episodes, with one line for each row instead of forty."""

    def __init__(self, env: QuadrupedEnv, *, run_dir: Path, cfg: dict[str, Any], every: int = 10) -> None:
        """Prepare the files.

        Args:
            env: The environment that is trained on.
            run_dir: Folder of the run.
            cfg: rsl_rl's configuration of the run.
            every: Iterations between two lines.
        """
        super().__init__(str(run_dir), cfg, env.cfg, env.num_envs, False, 1, 0, "cpu")
        self._env = env
        self._every = every
        self.path = run_dir / "curve.csv"

    def init_logging_writer(self) -> None:
        """Open the table. rsl_rl only asks whether there is a writer; it never meets this one."""
        self.writer = self  # type: ignore[assignment]
        with self.path.open("w", newline="") as file:
            csv.writer(file).writerow(COLUMNS)

    def log(self, it: int, start_it: int, total_it: int, collect_time: float, learn_time: float, **rest: Any) -> None:
        """Note one iteration, and print it if it is its turn."""
        self.tot_time += collect_time + learn_time
        self.tot_timesteps += self.cfg["num_steps_per_env"] * self.num_envs
        if (it - start_it) % self._every and it + 1 != total_it:
            return
        metrics = self._env.pop_metrics()
        row = (
            it,
            round(self.tot_time, 1),
            self.tot_timesteps,
            round(statistics.mean(self.rewbuffer), 3) if self.rewbuffer else float("nan"),
            round(statistics.mean(self.lenbuffer) * 0.02, 2) if self.lenbuffer else float("nan"),
            round(metrics.get("lin_vel_error", float("nan")), 4),
            round(metrics.get("yaw_rate_error", float("nan")), 4),
            round(metrics["falls"], 3),
            round(float(rest["action_std"].detach().mean()), 3),
            rest["learning_rate"],
        )
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow(row)
        print(
            f"iteration {it:5d}/{total_it}  {row[1]:6.0f} s  {row[2] / 1e6:6.2f} M samples  "
            f"reward {row[3]:6.2f}  episode {row[4]:4.1f} s  error {row[5]:.3f} m/s {row[6]:.3f} rad/s  "
            f"falls {row[7]:5.2f}/min  std {row[8]:.2f}",
            flush=True,
        )

    def stop_logging_writer(self) -> None:
        """Draw the curve."""
        plot(self.path, self.path.with_suffix(".png"))


def plot(table: Path, picture: Path) -> None:
    """Draw reward and tracking errors over the samples.

    Args:
        table: A curve.csv.
        picture: PNG file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with table.open() as file:
        rows = list(csv.DictReader(file))
    column = {name: [float(row[name]) for row in rows] for name in COLUMNS}
    samples = [value / 1e6 for value in column["samples"]]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained")
    left.plot(samples, column["reward"], color="tab:orange")
    left.set(xlabel="samples (millions)", ylabel="mean reward of an episode")
    time = left.secondary_xaxis(
        "top", functions=(lambda x: x * column["seconds"][-1] / samples[-1] / 60.0, lambda x: x * 60.0)
    )
    time.set_xlabel("minutes")
    right.plot(samples, column["lin_vel_error"], label="vx, vy (m/s)")
    right.plot(samples, column["yaw_rate_error"], label="yaw rate (rad/s)")
    right.set(xlabel="samples (millions)", ylabel="mean absolute error", ylim=(0.0, None))
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=90)
    plt.close(figure)
