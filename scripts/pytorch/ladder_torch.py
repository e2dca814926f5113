"""A level of the ladder as a PyTorch operator: torch.ops.ladder.linear(x, weight) is x @ weight.T in BF16.

    import ladder_torch
    y = ladder_torch.linear(x, weight)          x: (..., K), weight: (N, K), as in torch.nn.Linear

LADDER_LIBRARY names the library; without it, level 08 for Hopper from build/lib/.
"""
import os
from pathlib import Path

import torch
from level_library import LevelLibrary

DEFAULT = Path(__file__).resolve().parents[2] / "build" / "lib" / "libladder_production_sm90.so"
_library = LevelLibrary(Path(os.environ.get("LADDER_LIBRARY", DEFAULT)))


@torch.library.custom_op("ladder::linear", mutates_args=(), device_types="cuda")
def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    if x.dtype != torch.bfloat16 or weight.dtype != torch.bfloat16:
        raise TypeError(f"ladder.linear multiplies bfloat16, not {x.dtype} and {weight.dtype}")
    if weight.dim() != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"ladder.linear: x {tuple(x.shape)} and weight {tuple(weight.shape)} do not fit together")
    # Rows without gaps, from a 16-byte boundary: that is what the level's tensor maps describe.
    a, b = (t if t.is_contiguous() and t.data_ptr() % 16 == 0 else t.clone(memory_format=torch.contiguous_format)
            for t in (x, weight))
    out = x.new_empty((*x.shape[:-1], weight.shape[0]))
    if out.numel():
        with torch.cuda.device(x.device):
            n, k = weight.shape
            _library.matmul(out.numel() // n, n, k, a.data_ptr(), b.data_ptr(), out.data_ptr(),
                            torch.cuda.current_stream().cuda_stream)
    return out


@linear.register_fake
def _(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))
