# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""rsl_rl checkpoints (4.x and 5.x): a multilayer perceptron with or without empirical normalization.

The weights suffice: neither rsl_rl nor the training environment is needed. The checkpoint does not hold the
activation, so the trainer's own config must; it is never guessed.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx

from policy_node.errors import ExportError
from policy_node.export.mlp import ACTIVATIONS, Layer, mlp_graph
from policy_node.spec.files import plain, read_data

if TYPE_CHECKING:
    import torch

F32 = npt.NDArray[np.float32]

NORMALIZER_EPS = 1e-2
"""rsl_rl's EmpiricalNormalization computes (x - mean) / (std + eps) with this eps."""

MIN_TORCH = (2, 10)
"""Older versions of torch.load can be made to run code by a checkpoint, even with weights_only=True."""


class RslRlPolicy:
    """The actor of an rsl_rl checkpoint, deterministic: the mean of its distribution."""

    def __init__(self, state: dict[str, Any], activation: str, provenance: dict[str, Any], source: str) -> None:
        """Builds the actor from its state dict.

        Raises:
            ExportError: the state dict holds something that would be lost.
        """
        self.provenance = provenance
        self.activation = activation
        self._layers, mean, std = _read_actor(state, source)
        self.obs_dim, self.action_dim = self._layers[0][0].shape[1], self._layers[-1][0].shape[0]
        self.obs_mean = np.zeros(self.obs_dim, np.float32) if mean is None else mean
        self.obs_std = np.ones(self.obs_dim, np.float32) if std is None else std
        self._normalizer = None if mean is None or std is None else (mean, std + np.float32(NORMALIZER_EPS))
        self._module = self._build_module()

    def reference(self, obs: F32) -> F32:
        """Actions as PyTorch computes them, shape (batch, action_dim)."""
        import torch

        with torch.no_grad():
            return self._module(torch.from_numpy(obs)).numpy()

    def to_onnx(self) -> onnx.ModelProto:
        """The actor with its normalizer baked in."""
        mean, divisor = self._normalizer if self._normalizer is not None else (None, None)
        return mlp_graph(self._layers, self.activation, mean, divisor)

    def write_torchscript(self, path: Path) -> None:
        """Writes the PyTorch module, scripted."""
        import torch

        torch.jit.script(self._module).save(str(path))

    def _build_module(self) -> torch.nn.Module:
        import torch

        modules: list[torch.nn.Module] = []
        if self._normalizer is not None:
            modules.append(_normalizer_module(*self._normalizer))
        for number, (weight, bias) in enumerate(self._layers):
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight.data, linear.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
            modules.append(linear)
            if number < len(self._layers) - 1:
                modules.append(_activation_module(self.activation))
        return torch.nn.Sequential(*modules).eval()


def load_rsl_rl(checkpoint: Path, agent: Path | None) -> RslRlPolicy:
    """Reads a checkpoint without running anything in it.

    Args:
        checkpoint: model_<iteration>.pt.
        agent: the trainer's config (agent.yaml); looked for beside the checkpoint, and in its params folder, if None.

    Raises:
        ExportError: the file is no rsl_rl checkpoint of a known layout, or the config lacks the activation.
    """
    import torch

    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < MIN_TORCH:
        raise ExportError(
            f"torch {torch.__version__} is installed; reading checkpoints safely needs "
            f"{'.'.join(map(str, MIN_TORCH))} or newer. Upgrade torch."
        )
    if not checkpoint.is_file():
        what = "is a folder" if checkpoint.is_dir() else "there is no such file"
        raise ExportError(f"{checkpoint}: {what}. Give --checkpoint a model_<iteration>.pt.")
    if not zipfile.is_zipfile(checkpoint):
        raise ExportError(
            f"{checkpoint}: is no PyTorch checkpoint (a file of {checkpoint.stat().st_size} bytes that is not a zip "
            "archive). Give --checkpoint a model_<iteration>.pt."
        )
    try:
        data = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises several classes here, some of them its own
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ExportError(f"{checkpoint}: cannot be read as a checkpoint without running code in it: {first}") from None
    if not isinstance(data, dict) or not isinstance(data.get("actor_state_dict"), dict):
        keys = ", ".join(map(str, data)) if isinstance(data, dict) else type(data).__name__
        raise ExportError(
            f"{checkpoint}: holds {keys}; expected the key actor_state_dict of rsl_rl 4.x or 5.x. Older layouts and "
            "other frameworks are not read yet."
        )
    activation = _activation_name(find_agent(checkpoint, agent))
    provenance = {
        "checkpoint": checkpoint.name,
        "checkpoint_sha256": hashlib.sha256(checkpoint.read_bytes()).hexdigest(),
        "iteration": int(data.get("iter", -1)),
        "rl_library": "rsl_rl",
        "torch": torch.__version__,
    }
    return RslRlPolicy(data["actor_state_dict"], activation, provenance, str(checkpoint))


def find_agent(checkpoint: Path, agent: Path | None) -> Path:
    """The trainer's config: the given one, or the one that lies where rsl_rl runs keep it.

    Raises:
        ExportError: there is none.
    """
    if agent is not None:
        if not agent.is_file():
            raise ExportError(f"{agent}: there is no such file. Give --agent the trainer's config.")
        return agent
    places = [checkpoint.parent / "agent.yaml", checkpoint.parent / "params" / "agent.yaml"]
    for place in places:
        if place.is_file():
            return place
    raise ExportError(
        "the checkpoint does not hold the activation function, and no config was found at "
        f"{' or '.join(map(str, places))}. Give --agent the trainer's config (agent.yaml)."
    )


def _activation_name(agent: Path) -> str:
    config = plain(read_data(agent))
    sections = [config.get(key) for key in ("actor", "policy")] if isinstance(config, dict) else []
    for section in sections:
        if not isinstance(section, dict) or "activation" not in section:
            continue
        name = str(section["activation"]).lower()
        if name not in ACTIVATIONS:
            raise ExportError(f"{agent}: the activation '{name}' is not known; known: {', '.join(ACTIVATIONS)}.")
        return name
    raise ExportError(
        f"{agent}: has no 'activation' under 'actor' (rsl_rl 4 and 5) or 'policy' (older). It is never guessed; add it."
    )


def _read_actor(state: dict[str, Any], source: str) -> tuple[list[Layer], F32 | None, F32 | None]:
    arrays = {key: value.detach().to("cpu").float().numpy() for key, value in state.items()}
    numbers = sorted({int(key.split(".")[1]) for key in arrays if re.fullmatch(r"mlp\.\d+\.(weight|bias)", key)})
    used = {f"mlp.{number}.{part}" for number in numbers for part in ("weight", "bias")}
    lacking = sorted(used - set(arrays))
    if not numbers or lacking:
        raise ExportError(
            f"{source}: the actor has no complete MLP (mlp.N.weight, mlp.N.bias"
            f"{'; lacks ' + ', '.join(lacking) if lacking else ''})."
        )
    layers = [(arrays[f"mlp.{number}.weight"], arrays[f"mlp.{number}.bias"]) for number in numbers]
    for (before, _), (after, _) in pairwise(layers):
        if after.shape[1] != before.shape[0]:
            raise ExportError(f"{source}: a layer gives {before.shape[0]} values and the next takes {after.shape[1]}.")
    mean = std = None
    if "obs_normalizer._mean" in arrays:
        if "obs_normalizer._std" not in arrays:
            raise ExportError(f"{source}: has obs_normalizer._mean but no obs_normalizer._std.")
        mean, std = arrays["obs_normalizer._mean"].reshape(-1), arrays["obs_normalizer._std"].reshape(-1)
        used |= {key for key in arrays if key.startswith("obs_normalizer.")}
    # The distribution's spread is not part of a deterministic policy.
    used |= {key for key in arrays if key.startswith("distribution.") or key in ("std", "log_std")}
    rest = sorted(set(arrays) - used)
    if rest:
        raise ExportError(
            f"{source}: the actor holds {', '.join(rest)}, which an MLP with a normalizer does not explain. Exporting "
            "it without them would change its actions; recurrent and custom actors are not read yet."
        )
    return layers, mean, std


def _normalizer_module(mean: F32, divisor: F32) -> torch.nn.Module:
    import torch

    class Normalizer(torch.nn.Module):
        """(obs - mean) / divisor."""

        def __init__(self, mean: torch.Tensor, divisor: torch.Tensor) -> None:
            super().__init__()
            self.register_buffer("mean", mean)
            self.register_buffer("divisor", divisor)

        def forward(self, obs: torch.Tensor) -> torch.Tensor:
            return (obs - self.mean) / self.divisor

    return Normalizer(torch.from_numpy(mean.copy()), torch.from_numpy(divisor.copy()))


def _activation_module(name: str) -> torch.nn.Module:
    import torch

    modules = {
        "elu": torch.nn.ELU,
        "relu": torch.nn.ReLU,
        "tanh": torch.nn.Tanh,
        "sigmoid": torch.nn.Sigmoid,
        "selu": torch.nn.SELU,
        "lrelu": torch.nn.LeakyReLU,
        "leaky_relu": torch.nn.LeakyReLU,
        "softplus": torch.nn.Softplus,
        "identity": torch.nn.Identity,
    }
    return modules[name]()
