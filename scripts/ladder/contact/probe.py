"""A probe: a small kernel in PTX that asks one question about the machine, and the place that assumes its answer.

Every kernel has the same frame. It fills shared memory from the input, initialises a few mbarriers, runs its body and
leaves its answer in global memory. A body finds in registers: %thread, %lane, %warp, %rank (in the cluster); %box, the
address of dynamic shared memory; %bar, that of eight mbarriers with a count of one; %in, %out, this CTA's input and
output; %map, a tensor map. Fragments below write what many bodies need.
"""
from __future__ import annotations

from dataclasses import dataclass

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"  # all threads of a cluster
SHARED = 64 << 10  # bytes of dynamic shared memory in each CTA


@dataclass(frozen=True)
class TensorMap:
    """Over the input, for cuTensorMapEncodeTiled; names as in its documentation. `type`: bfloat16, float32, ..."""

    dims: tuple[int, ...]
    box: tuple[int, ...]
    strides: tuple[int, ...] = ()  # bytes, of all dimensions but the first
    type: int = 9
    steps: tuple[int, ...] = ()
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # of im2col
    of_output: bool = False


@dataclass(frozen=True)
class Probe:
    name: str
    asks: str   # what the hardware is asked, as the report says it
    place: str  # FILE: TEXT, where the simulator or a constant assumes the answer
    body: str
    words: int = 128  # of the answer, per CTA
    kinds: tuple[tuple[str, int], ...] = (("bytes", SHARED),)  # of the input: patterns of values.py, and bytes
    ctas: int = 1     # a cluster
    grid: int = 0     # CTAs; 0: one cluster
    threads: int = 128
    map: TensorMap | None = None
    known: tuple[str, str] = ("", "")  # another answer (a pattern) that a GPU has given, and why it may differ
    faults: bool = False  # the answer is an error of the launch: nothing else can run in that process

    def kernel(self, target: str) -> str:
        cluster = f".explicitcluster\n.reqnctapercluster {self.ctas}, 1, 1\n" if self.ctas > 1 else ""
        size = sum(count for _, count in self.kinds)
        return f"""\
.version 9.0
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 box[];
.visible .entry probe(.param .u64 in, .param .u64 out, .param .u64 map)
.reqntid {self.threads}, 1, 1
.maxnreg 240
{cluster}{{
.reg .b64 %in, %out, %map, %wide, %wide1, %wide2, %da, %db;
.reg .b32 %thread, %lane, %warp, %rank, %box, %bar, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %tmem, %at;
.reg .pred %first, %warp0, %p0, %p1, %p2, %leader;
.shared .align 8 .b64 bar[8];
.shared .align 16 .b8 note[64];
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %map, [map];
mov.u32 %thread, %tid.x; and.b32 %lane, %thread, 31; shr.u32 %warp, %thread, 5; mov.u32 %box, box; mov.u32 %bar, bar;
mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %first, %thread, 0; setp.eq.u32 %warp0, %warp, 0;
or.b32 %t0, %thread, %rank; setp.eq.u32 %leader, %t0, 0;
mad.wide.u32 %in, %rank, {size}, %in; mov.u32 %t0, %ctaid.x; mad.wide.u32 %out, %t0, {4 * self.words}, %out;
shl.b32 %at, %thread, 4;
fill: setp.ge.u32 %p0, %at, {size}; @%p0 bra filled;
cvt.u64.u32 %wide, %at; add.u64 %wide, %in, %wide; ld.global.v4.b32 {{%t0, %t1, %t2, %t3}}, [%wide];
add.u32 %t4, %box, %at; st.shared.v4.b32 [%t4], {{%t0, %t1, %t2, %t3}};
add.u32 %at, %at, {16 * self.threads}; bra fill;
filled: @!%first bra ready;
{"".join(f"mbarrier.init.shared::cta.b64 [bar+{8 * i}], 1; " for i in range(8))}
fence.mbarrier_init.release.cluster;
ready: fence.proxy.async; bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
{{
{self.body}
}}
bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}}
"""


def names(name: str, count: int) -> str:
    return "{" + ", ".join(f"{name}{i}" for i in range(count)) + "}"


def put(name: str, count: int) -> str:
    """Each thread stores registers name0.. one after another."""
    return (f"mad.wide.u32 %wide, %thread, {4 * count}, %out;\n" +
            "".join(f"st.global.b32 [%wide+{4 * i}], {name}{i};\n" for i in range(count)))


def say(*registers: str) -> str:
    """Each thread stores these."""
    return (f"mad.wide.u32 %wide, %thread, {4 * len(registers)}, %out;\n" +
            "".join(f"st.global.b32 [%wide+{4 * i}], {each};\n" for i, each in enumerate(registers)))


def note(register: str, at: int) -> str:
    """The thread that executes it stores one word of the answer."""
    return f"st.global.b32 [%out+{4 * at}], {register};\n"


def _scope(body: str, end: str) -> str:
    """A scope of labels, which ends with one."""
    return f"{{\n{body}\n{end}: mov.u32 %at, 0;\n}}\n"


def dump(count: int, offset: int = 0) -> str:
    """All threads copy `count` bytes of dynamic shared memory to the answer."""
    return "bar.sync 0;\n" + _scope(
        f"shl.b32 %at, %thread, 2;\nnext: setp.ge.u32 %p0, %at, {count}; @%p0 bra end;\n"
        f"add.u32 %t0, %box, %at; ld.shared.b32 %t1, [%t0+{offset}]; cvt.u64.u32 %wide, %at; "
        "add.u64 %wide, %out, %wide; st.global.b32 [%wide], %t1; add.u32 %at, %at, 512; bra next;", "end")


def wipe(count: int, pattern: int = 0xA5A5A5A5) -> str:
    """All threads fill dynamic shared memory, so that what is not written shows."""
    return _scope(
        f"shl.b32 %at, %thread, 2;\nnext: setp.ge.u32 %p0, %at, {count}; @%p0 bra end;\nadd.u32 %t0, %box, %at; "
        f"st.shared.b32 [%t0], {pattern}; add.u32 %at, %at, 512; bra next;",
        "end") + "fence.proxy.async; bar.sync 0;\n" + MEET


def wait(barrier: int = 0, parity: int = 0) -> str:
    """For a phase of an mbarrier. What never comes traps after a while, and does not hang the GPU."""
    return _scope(f"mov.u32 %t7, 0;\nagain: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar+{8 * barrier}], "
                  f"{parity}; @%p2 bra end; add.u32 %t7, %t7, 1; setp.lt.u32 %p2, %t7, 20000; @%p2 bra again; trap;",
                  "end")


def once(body: str, who: str = "%first") -> str:
    """One thread executes it, or the threads for which another predicate holds."""
    return _scope(f"@!{who} bra end;\n{body}", "end")


def ask(test: str, at: int, predicate: str = "%p0") -> str:
    """Notes what an instruction leaves in a predicate."""
    return f"{test}\nselp.u32 %t0, 1, 0, {predicate}; {note('%t0', at)}"

