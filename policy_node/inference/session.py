# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""An ONNX Runtime session that runs one policy, quietly and fast.

One intra-op and one inter-op thread without spinning: a default session spins on every core and slows whatever
runs beside it. Inputs and outputs are bound once to arrays of our own, so a run copies nothing that it need not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from policy_node.errors import ModelError, ProviderError
from policy_node.inference.graph import inspect_graph
from policy_node.spec.model import PolicySpec

F32 = npt.NDArray[np.float32]

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
WARM_UP_RUNS = 50
_MEASURED_RUNS = 200


@dataclass(frozen=True, slots=True)
class StateTensor:
    """A recurrent state: the output of one tick is the input of the next, zero at a reset."""

    input_name: str
    output_name: str
    shape: tuple[int, ...]


class OnnxPolicy:
    """A policy as a graph.

    Attributes:
        obs_dim: width of the observation.
        action_dim: width of the action.
        provider: name of the execution provider that the session really runs on.
        state: recurrent state tensors that are threaded from tick to tick.
    """

    def __init__(self, content: bytes, spec: PolicySpec, provider: str = "cpu", source: str = "policy.onnx") -> None:
        """Opens a session and runs it until it is warm.

        Args:
            content: the ONNX file.
            spec: the contract, which says what the graph declares.
            provider: cpu, cuda, tensorrt, or auto.
            source: name of the file for messages.

        Raises:
            ModelError: the graph is not what the contract says, or the run time cannot load it.
            ProviderError: the provider is unknown, or the session does not run on it.
        """
        info = inspect_graph(content, source)
        declared = spec.model.onnx
        if declared is None:
            raise ModelError(f"{source}: the contract declares no ONNX graph.")
        for kind, said, found in (("input", declared.inputs, info.inputs), ("output", declared.outputs, info.outputs)):
            names, present = [item.name for item in said], [name for name, _ in found]
            if sorted(names) != sorted(present):
                raise ModelError(
                    f"{source}: has the {kind}s {', '.join(present)}; the contract names "
                    f"{', '.join(names)}. Graph and contract come from different exports."
                )
        if provider == "auto":
            provider = choose_provider(content, source)
        if provider not in PROVIDERS:
            raise ProviderError(f"provider '{provider}' is not known; known: auto, {', '.join(PROVIDERS)}.")
        self._session = _open(content, provider, source)
        self.provider = _running_on(self._session, provider)
        self.obs_dim, self.action_dim = spec.observations.dim, spec.actions.dim
        self._obs, self._action = _find_io(self._session, source)
        self._obs_array = np.zeros(_batch_of_one(self._obs, source), dtype=np.float32)
        self._action_array = np.zeros(_batch_of_one(self._action, source), dtype=np.float32)
        for argument, array, width, name in (
            (self._obs, self._obs_array, self.obs_dim, "observation"),
            (self._action, self._action_array, self.action_dim, "action"),
        ):
            if array.size != width:
                raise ModelError(f"{source}: '{argument.name}' is {array.size} wide; the contract's {name} is {width}.")
        self._obs_view, self._action_view = self._obs_array.reshape(-1), self._action_array.reshape(-1)
        self.state = _find_state(self._session, self._obs.name, self._action.name, source)
        self._state_in = [np.zeros(item.shape, dtype=np.float32) for item in self.state]
        self._state_out = [np.zeros(item.shape, dtype=np.float32) for item in self.state]
        self._binding = self._bind()
        # The wrapper's run_with_iobinding only forwards to these two objects.
        self._run, self._native = self._session._sess.run_with_iobinding, self._binding._iobinding
        try:
            self.warm_up()
        except Exception as error:  # onnxruntime raises classes of its own that share no base
            raise ModelError(f"{source}: loads, but fails when it is run: {error}") from None

    def reset(self) -> None:
        """Recurrent state is zero again."""
        for array in self._state_in:
            array.fill(0.0)

    def infer(self, obs: F32) -> F32:
        """Raw action of an observation, threading the recurrent state.

        Args:
            obs: shape (obs_dim,), float32.

        Returns:
            Shape (action_dim,), float32; valid until the next call.
        """
        self._obs_view[:] = obs
        self._run(self._native, None)
        for ahead, behind in zip(self._state_in, self._state_out):
            ahead[:] = behind
        return self._action_view

    def warm_up(self) -> None:
        """Runs the graph until its first, slow runs are over; the state is zero afterwards."""
        for _ in range(WARM_UP_RUNS):
            self.infer(self._obs_view)
        self.reset()

    def _bind(self) -> ort.IOBinding:
        binding = self._session.io_binding()
        inputs = [(self._obs.name, self._obs_array)]
        inputs += [(item.input_name, array) for item, array in zip(self.state, self._state_in)]
        for name, array in inputs:
            binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        outputs = [(self._action.name, self._action_array)]
        outputs += [(item.output_name, array) for item, array in zip(self.state, self._state_out)]
        for name, array in outputs:
            binding.bind_output(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        bound = {name for name, _ in outputs}
        for extra in self._session.get_outputs():
            if extra.name not in bound:
                binding.bind_output(extra.name)
        return binding


def session_options() -> ort.SessionOptions:
    """One thread of each kind, no spinning, errors only."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options


def choose_provider(content: bytes, source: str = "policy.onnx") -> str:
    """Measures every provider that this machine really runs the graph on, and names the fastest.

    A small network is often faster on the CPU than on a GPU, so nothing but a measurement can tell.
    """
    times: dict[str, float] = {}
    for name, full in PROVIDERS.items():
        if full not in ort.get_available_providers():
            continue
        try:
            session = _open(content, name, source)
            _running_on(session, name)
            times[name] = _time_of(session)
        except Exception as error:  # a provider that opens may still fail when it runs
            if name == "cpu":
                raise ModelError(f"{source}: cannot be run on the CPU: {error}") from None
    return min(times, key=times.__getitem__)


def _time_of(session: ort.InferenceSession) -> float:
    feeds = {
        item.name: np.zeros([axis if isinstance(axis, int) else 1 for axis in item.shape], dtype=np.float32)
        for item in session.get_inputs()
    }
    for _ in range(WARM_UP_RUNS):
        session.run(None, feeds)
    samples = []
    for _ in range(_MEASURED_RUNS):
        start = time.perf_counter()
        session.run(None, feeds)
        samples.append(time.perf_counter() - start)
    return float(np.median(samples))


def _open(content: bytes, provider: str, source: str) -> ort.InferenceSession:
    full = PROVIDERS[provider]
    if full not in ort.get_available_providers():
        missing = "onnxruntime-gpu" if provider in ("cuda", "tensorrt") else "onnxruntime"
        raise ProviderError(
            f"provider '{provider}' was asked for, but the installed onnxruntime {ort.__version__} offers "
            f"{', '.join(ort.get_available_providers())}. Install {missing} (never both), or take provider cpu."
        )
    providers = [full] if provider == "cpu" else [full, PROVIDERS["cpu"]]
    try:
        return ort.InferenceSession(content, session_options(), providers=providers)
    except Exception as error:  # onnxruntime raises classes of its own that share no base
        raise ModelError(f"{source}: onnxruntime {ort.__version__} cannot load it: {error}") from None


def _running_on(session: ort.InferenceSession, provider: str) -> str:
    # get_available_providers() tells what was compiled in; only the session knows what it runs on.
    running = session.get_providers()
    if running[0] != PROVIDERS[provider]:
        raise ProviderError(
            f"provider '{provider}' was asked for, but the session runs on {', '.join(running)}: its libraries (CUDA "
            "and cuDNN in the versions that this onnxruntime-gpu needs, TensorRT for tensorrt) were not found or did "
            "not load. Install them, or take provider cpu or auto."
        )
    return provider


def _find_io(session: ort.InferenceSession, source: str) -> tuple[ort.NodeArg, ort.NodeArg]:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    for item in (*inputs, *outputs):
        if item.type != "tensor(float)":
            raise ModelError(f"{source}: '{item.name}' is a {item.type}; tensor(float) is run.")
    obs = next((item for item in inputs if item.name == "obs"), None) or (inputs[0] if len(inputs) == 1 else None)
    action = next((item for item in outputs if item.name in ("actions", "action")), None)
    action = action or (outputs[0] if len(outputs) == 1 else None)
    if obs is None or action is None:
        raise ModelError(
            f"{source}: has the inputs {', '.join(item.name for item in inputs)} and the outputs "
            f"{', '.join(item.name for item in outputs)}; expected an input 'obs' and an output 'actions'."
        )
    return obs, action


def _batch_of_one(argument: ort.NodeArg, source: str) -> tuple[int, ...]:
    shape = argument.shape
    if len(shape) not in (1, 2) or not isinstance(shape[-1], int):
        raise ModelError(f"{source}: '{argument.name}' has shape {shape}; expected [batch, width] or [width].")
    if len(shape) == 2 and shape[0] not in (1, None) and not isinstance(shape[0], str):
        raise ModelError(f"{source}: '{argument.name}' has a batch fixed at {shape[0]}; a robot is a batch of one.")
    return tuple(shape) if len(shape) == 1 else (1, shape[-1])


def _find_state(session: ort.InferenceSession, obs: str, action: str, source: str) -> tuple[StateTensor, ...]:
    outputs = {item.name: item for item in session.get_outputs() if item.name != action}
    found = []
    for item in session.get_inputs():
        if item.name == obs:
            continue
        partner = item.name.removesuffix("_in") + "_out"
        if not item.name.endswith("_in") or partner not in outputs:
            raise ModelError(
                f"{source}: nothing feeds its input '{item.name}'. A recurrent state is a pair such as h_in and h_out."
            )
        if len(item.shape) != 3 or not all(isinstance(axis, int) for axis in (item.shape[0], item.shape[2])):
            raise ModelError(f"{source}: '{item.name}' has shape {item.shape}; expected [layers, batch, hidden].")
        found.append(StateTensor(item.name, partner, (item.shape[0], 1, item.shape[2])))
    return tuple(found)
