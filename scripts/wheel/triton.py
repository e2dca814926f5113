"""Triton and PyTorch on the simulated device: sim.sh --triton, or `import tensor_core_ladder_sim.triton` first.

Triton hands over PTX in the place of ptxas's machine code. PyTorch's own kernels exist as machine code only: what they
would compute, the host computes. Allocations, views and copies stay on the device, and so do the kernels of a program.
"""
from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder


def hand_over_ptx(compiler):
    """triton.backends.nvidia.compiler"""
    backend, hash_of = compiler.CUDABackend, compiler.CUDABackend.hash
    backend.make_cubin = lambda self, source, *_: source.encode() + b"\0"
    backend.hash = lambda self: f"{hash_of(self)}-simulated"  # apart from machine code in Triton's cache


def take_first_configuration(autotuner):
    """triton.runtime.autotuner: no time here is that of a GPU, so the first configuration is taken."""
    def first(self, configs):
        return prune(self, configs)[:1]

    prune, autotuner.Autotuner.prune_configs = autotuner.Autotuner.prune_configs, first


def compute_on_host(torch):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    stays = {"empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "set_", "resize_",
             "record_stream", "is_pinned", "_pin_memory", "lift_fresh"}

    def copied(storage, device):
        """On every device a plain copy of bytes."""
        there = torch.UntypedStorage(storage.nbytes(), device=device)
        there.copy_(storage)
        return there

    def placed(like, storage, device):
        return torch.empty(0, dtype=like.dtype, device=device).set_(storage, like.storage_offset(), like.size(),
                                                                    like.stride())

    class OnHost(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            inputs = []
            tree_map(lambda each: inputs.append(each) if isinstance(each, torch.Tensor) else None, (args, kwargs))
            device = kwargs.get("device") or next((each.device for each in inputs if each.is_cuda), "cpu")
            on_cuda = torch.device(device).type == "cuda"
            if (func.namespace != "aten" or func.is_view or func._schema.name[len("aten::"):] in stays
                    or not (on_cuda or any(each.is_cuda for each in inputs))):
                return func(*args, **kwargs)
            images = {}    # of tensors: by identity, the image and the device's
            storages = {}  # by the device's address: the device's and the host's

            def to_host(each):
                if isinstance(each, torch.Tensor) and each.is_cuda:
                    there = each.untyped_storage()
                    if there.data_ptr() not in storages:
                        storages[there.data_ptr()] = there, copied(there, "cpu")
                    image = placed(each, storages[there.data_ptr()][1], "cpu")
                    images[id(image)] = image, each
                    return image
                if isinstance(each, torch.Generator):
                    return torch.default_generator
                return torch.device("cpu") if isinstance(each, torch.device) and each.type == "cuda" else each

            def to_device(each):
                if not isinstance(each, torch.Tensor):
                    return each
                if id(each) in images:  # an input
                    return images[id(each)][1]
                here = each.untyped_storage()
                known = [there for there, host in storages.values() if host.data_ptr() == here.data_ptr()]
                return placed(each, known[0] if known else copied(here, device), device)

            host_args, host_kwargs = tree_map(to_host, (args, kwargs))
            answer = func(*host_args, **host_kwargs)
            if func._schema.is_mutable:
                for there, host in storages.values():
                    there.copy_(host)
            return tree_map(to_device, answer) if on_cuda else answer

    OnHost().__enter__()


ACTIONS = {
    "torch": compute_on_host,
    "triton.backends.nvidia.compiler": hand_over_ptx,
    "triton.runtime.autotuner": take_first_configuration,
}


class AfterImport(MetaPathFinder):
    """Changes a module as soon as it has been imported; importing none that the program does not import."""

    def find_spec(self, name: str, path=None, target=None):
        action = ACTIONS.pop(name, None)
        spec = importlib.util.find_spec(name) if action else None
        if action is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            action(module)

        spec.loader.exec_module = exec_module
        return spec


for module in [each for each in ACTIONS if each in sys.modules]:
    ACTIONS.pop(module)(sys.modules[module])
sys.meta_path.insert(0, AfterImport())
