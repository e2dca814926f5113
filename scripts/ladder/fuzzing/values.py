"""Values that instructions give on a device, compared with the exact model's."""
from __future__ import annotations

import multiprocessing
import random
import re
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Optional, Union

from ladder.command import Failure
from ladder.exact import atomics, conversions, floating, integers, kernel, warps
from ladder.exact.device import Device, Refused
from ladder.exact.form import Form
from ladder.fuzzing.trial import Deadline, Record

BATCH = 100
REFUSED = "refused"
# ptxas 13.0 adds the register behind the operand to the upper half: machine code for sm_90a shows it, and an H200.
MISCOMPILED = re.compile(r"(atom|red)\.shared\.add\.noftz\.b?f16x2")
# Index, outcome, what is wrong; or why there is no device.
Said = Union[tuple[int, str, str], Failure]


def all_forms(hopper: bool) -> list[Form]:
    """In an order in which the first few are of all kinds."""
    forms = [form for module in (integers, floating, conversions, warps, atomics) for form in module.forms()
             if form.hopper or not hopper]
    random.Random(0).shuffle(forms)
    return forms


def compare(build: Optional[Path], gpu: str, seed: int, indices: Sequence[int], record: Record,
            deadline: Deadline) -> None:
    """Trial i is of the i-th form, and goes round. An instruction that a device refuses ends all work of a process on
    that device, so it is another one that compares; after a refusal, the next goes on."""
    rest = list(indices)
    while rest and not deadline.is_over():
        done, last = 0, ""
        for said in _apart(build, gpu, seed, rest):
            if isinstance(said, Failure):
                raise said
            record.add(*said)
            done, last = done + 1, said[1]
            if deadline.is_over():
                break
        else:
            if done < len(rest) and last != REFUSED:
                record.add(rest[done], "failed", f"trial {rest[done]} ends the process")
                done += 1
        rest = rest[done:]


def _apart(build: Optional[Path], gpu: str, seed: int, indices: Sequence[int]) -> Iterator[Said]:
    """What a process of its own has to say, until it ends."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, build, gpu, seed, indices), daemon=True)
    process.start()
    theirs.close()
    try:
        while True:
            yield ours.recv()
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()


def _work(out: Connection, build: Optional[Path], gpu: str, seed: int, indices: Sequence[int]) -> None:
    try:
        _compare_here(out, Device(build, gpu), build is None, seed, indices)
    except Failure as failure:
        out.send(failure)
    except Exception:
        out.send(Failure(f"the model itself fails:\n{traceback.format_exc()}"))


def _compare_here(out: Connection, device: Device, on_hardware: bool, seed: int, indices: Sequence[int]) -> None:
    hopper = device.hopper
    forms = all_forms(hopper)
    head = kernel.HEAD.format(target="sm_90a" if hopper else "sm_100a")
    for start in range(0, len(indices), BATCH):
        batch = indices[start:start + BATCH]
        trials = {i: kernel.trial(random.Random(f"values/{seed}/{i}"), forms[i % len(forms)], on_hardware)
                  for i in batch}
        try:
            module = device.load(head + "".join(each.kernel(f"k{i}") for i, each in trials.items()))
        except Refused as refusal:
            raise Failure(f"the kernels of the trials {batch[0]} to {batch[-1]} are refused: {refusal}") from None
        for i, each in trials.items():
            if on_hardware and MISCOMPILED.search(each.form.text):
                out.send((i, "left out", ""))
                continue
            try:
                got = device.run(module, f"k{i}", each.rows, len(each.form.outputs))
            except Refused as refusal:
                out.send((i, REFUSED, f"{each.instruction()}: {refusal}"))
                return
            wrong = each.wrong(got)
            out.send((i, "differs" if wrong else "agrees", wrong[0] if wrong else ""))
        device.unload(module)
