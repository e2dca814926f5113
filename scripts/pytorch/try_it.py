#!/usr/bin/env python3
"""Tries a level as a PyTorch operator on the GPU of this machine: right, under torch.compile and in a CUDA graph too,
and how long a call takes beside torch.nn.functional.linear. Needs PyTorch; build the library first:

    scripts/build.sh ladder_production_sm90
    python3 scripts/pytorch/try_it.py --output docs/results/h200_pytorch.csv

Exit codes: 0 right; 1 wrong; 77 no PyTorch, or no GPU for it.
"""
from __future__ import annotations

import argparse
import csv
import sys
from functools import partial
from pathlib import Path

# At the end: a command there is called like a module of Python.
sys.path.append(str(Path(__file__).resolve().parents[1]))

SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (1000, 4096, 14336), (37, 1000, 520)]
COLUMNS = ["m", "n", "k", "us", "torch_us", "ratio", "different", "kind", "gpu", "torch", "date", "commit"]
ROUNDS, CALLS = 15, 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, metavar="FILE", help="a CSV file for the figures")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("try_it.py: there is no PyTorch here.", file=sys.stderr)
        return 77
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("try_it.py: this needs an H100 or H200.", file=sys.stderr)
        return 77
    import ladder_torch

    from ladder import files

    torch.manual_seed(0)
    rows = []
    wrong = 0
    for m, n, k in SHAPES:
        x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        weight = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
        expected = torch.nn.functional.linear(x, weight)
        got = ladder_torch.linear(x, weight)
        different = (got != expected).sum().item()
        right = is_right(x, weight, got)
        ratio, mine, theirs = compare(torch, partial(ladder_torch.linear, x, weight),
                                      partial(torch.nn.functional.linear, x, weight))
        wrong += not right
        print(f"{m} x {n} x {k}: {'right' if right else 'WRONG'}, {different} of {got.numel()} elements differ from "
              f"torch's; {mine:.1f} us, torch {theirs:.1f} us: {ratio:.3f} of its speed", flush=True)
        rows.append([m, n, k, f"{mine:.2f}", f"{theirs:.2f}", f"{ratio:.4f}", different, "measured",
                     torch.cuda.get_device_name(), torch.__version__,
                     files.now(), files.commit_id()])
    if options.output:
        with options.output.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)
    wrong += not try_in_a_model(torch, ladder_torch)
    return 1 if wrong else 0


def is_right(x, weight, got) -> bool:  # type: ignore[no-untyped-def]
    """Within the harness's bound of every element (common/harness/README.md), against products in FP64."""
    k = x.shape[1]
    x, weight = x.double(), weight.double()
    exact = x @ weight.T
    tolerance = -(-k // 16) * (2**-23 + 17 * 2**-25) * 6 / k**0.5
    bound = exact.abs() * 2**-8 + tolerance * x.norm(dim=1)[:, None] * weight.norm(dim=1)
    return bool(((got.double() - exact).abs() <= bound).all())


def compare(torch, mine, theirs) -> tuple[float, float, float]:  # type: ignore[no-untyped-def]
    """Medians of alternating rounds: the ratio of their time to ours, and both in microseconds per call."""
    def time(call) -> float:  # type: ignore[no-untyped-def]
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1000 / CALLS

    for call in (mine, theirs) * 3:
        time(call)
    rounds = [(time(mine), time(theirs)) for _ in range(ROUNDS)]
    middle = ROUNDS // 2
    ratio = sorted(b / a for a, b in rounds)[middle]
    return ratio, sorted(a for a, _ in rounds)[middle], sorted(b for _, b in rounds)[middle]


def try_in_a_model(torch, ladder_torch) -> bool:  # type: ignore[no-untyped-def]
    """Three dimensions, a tensor that is not contiguous, torch.compile, a CUDA graph: all as a plain call."""
    x = torch.randn(2, 128, 512, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16).T  # not contiguous
    plain = torch.relu(ladder_torch.linear(x, weight))
    checks = {"not contiguous": torch.equal(plain, torch.relu(ladder_torch.linear(x, weight.contiguous())))}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.relu(ladder_torch.linear(x, weight))
    captured.zero_()
    graph.replay()
    torch.cuda.synchronize()
    checks["CUDA graph"] = torch.equal(captured, plain)
    compiled = torch.compile(lambda x, w: torch.relu(ladder_torch.linear(x, w)), fullgraph=True)
    checks["torch.compile"] = torch.equal(compiled(x, weight), plain)
    for what, held in checks.items():
        print(f"{what}: {'the same' if held else 'DIFFERENT'}", flush=True)
    return all(checks.values())


if __name__ == "__main__":
    sys.exit(main())
