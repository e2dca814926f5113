"""Probes of Blackwell alone: tensor memory, tcgen05, narrow types, launch control.

As on Hopper, operands are raw memory: A begins at the box, B 16 KiB later. Tensor memory is filled before: columns 0 to
127 with D, 128 to 191 with an A, from 192 on with factors of blocks, from 240 on with metadata of a sparse A."""
from __future__ import annotations

from dataclasses import dataclass, replace

from ladder.contact.both import BOX, LOAD, tma
from ladder.contact.probe import MEET, Probe, TensorMap, ask, dump, names, note, once, put, say, wait, wipe

TCGEN05 = "common/sim/exec/tensor/tcgen05/"
DESCRIPTOR = "common/sim/exec/tensor/descriptor.cpp"
KERNELS = "common/sim/exec/tensor/kernels.cpp"
TRANSFER, OPERANDS = f"{TCGEN05}transfer.cpp", f"{TCGEN05}operands.cpp"
INSTRUCTION, FACTORS, COPY, MMA = (f"{TCGEN05}{name}.cpp" for name in ("instruction", "factors", "copy", "mma"))

_B = 16 << 10
_SPAN = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_atom32": 128}
_CODE = {"none": 0, "128B_atom32": 1, "128B": 2, "64B": 4, "32B": 6}
_A_COLUMN, _A_FACTORS, _B_FACTORS, _METADATA, _COLUMNS = 128, 192, 208, 240, 256


def descriptor(at: int, swizzle: str = "128B", mn: bool = False) -> int:
    """Without the address of the box."""
    span = _SPAN[swizzle]
    stride, leading = (4 if swizzle == "128B_atom32" else 8) * span, 16 * span if mn else 16
    if swizzle == "none":
        stride, leading = 256, 128
    return at >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | _CODE[swizzle] << 61


# ---- the frame of a kernel with tensor memory

_FILLS = {  # what is D at first: of thread and column (%t2) into %t3
    "float": "mad.lo.u32 %t3, %thread, 3, %t2; rem.u32 %t3, %t3, 9; cvt.rn.f32.u32 %t3, %t3; ",
    "half": "and.b32 %t3, %thread, 7; add.u32 %t3, %t3, 0x3C00; ",
    "hash": "mul.lo.u32 %t3, %t2, 0x9E3779B1; mad.lo.u32 %t3, %thread, 0x85EBCA6B, %t3; ",
    "nan": "mov.u32 %t3, 0x7FC00000; ",
}


def tensor(body: str, group: int = 1, fill: str = "float", factor: int = 0x7E) -> str:
    """Allocates, fills, runs the body and returns tensor memory; %tmem is its address, %at this warp's part."""
    g = f"cta_group::{group}"
    factors = (f"setp.ge.u32 %p1, %t2, {_A_FACTORS}; add.u32 %t4, %lane, %t2; and.b32 %t4, %t4, 3; "
               "mul.lo.u32 %t4, %t4, 0x01000100; shr.u32 %t5, %lane, 2; and.b32 %t5, %t5, 1; "
               f"mad.lo.u32 %t4, %t5, 0x00010001, %t4; add.u32 %t4, %t4, {factor * 0x01010101};\n"
               f"@%p1 mov.u32 %t3, %t4; setp.ge.u32 %p1, %t2, {_METADATA}; shl.b32 %t4, %lane, 2; "
               "shf.l.wrap.b32 %t5, 0x4E98D4C9, 0x4E98D4C9, %t4; @%p1 mov.u32 %t3, %t5;\n")
    return (f"{{ @!%warp0 bra end; tcgen05.alloc.{g}.sync.aligned.shared::cta.b32 [note], 512; "
            f"tcgen05.relinquish_alloc_permit.{g}.sync.aligned; end: bar.sync 0; }}\n"
            "ld.shared.b32 %tmem, [note]; shl.b32 %at, %warp, 21; add.u32 %at, %at, %tmem; mov.u32 %t2, 0;\n"
            f"{{ next: {_FILLS[fill]}{factors}add.u32 %t6, %at, %t2; "
            "tcgen05.st.sync.aligned.32x32b.x1.b32 [%t6], {%t3}; add.u32 %t2, %t2, 1; "
            f"setp.lt.u32 %p0, %t2, {_COLUMNS}; @%p0 bra next; }}\n"
            "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n" + MEET +
            "tcgen05.fence::after_thread_sync;\n" + body + "\ntcgen05.fence::before_thread_sync; bar.sync 0;\n" + MEET +
            f"@%warp0 tcgen05.dealloc.{g}.sync.aligned.b32 %tmem, 512;\n")


def show(columns: int, first: int = 0) -> str:
    """Each thread copies its lane's columns to the answer."""
    return (f"tcgen05.fence::after_thread_sync; shl.b32 %at, %warp, 21; add.u32 %at, %at, %tmem; "
            f"mad.wide.u32 %wide, %thread, {4 * columns}, %out; mov.u32 %t2, 0;\n"
            f"{{ next: add.u32 %t6, %at, %t2; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%t3}}, [%t6+{first}]; "
            "tcgen05.wait::ld.sync.aligned; st.global.b32 [%wide], %t3; add.u64 %wide, %wide, 4; "
            f"add.u32 %t2, %t2, 1; setp.lt.u32 %p0, %t2, {columns}; @%p0 bra next; }}\n")


def commit(group: int) -> str:
    if group == 1:
        return "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n"
    return ("{ .reg .b16 mask; mov.b16 mask, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
            ".multicast::cluster.b64 [%bar], mask; }\n")


# ---- loads and stores of tensor memory

_SHAPES = {"32x32b": (8, 8), "16x64b": (8, 8), "16x128b": (4, 8), "16x256b": (2, 8), "16x32bx2": (8, 8)}
_CELL = {"32x32b": "case Shape::Lanes32x32b: return {t, i};", "16x64b": "case Shape::Lanes16x64b: return",
         "16x128b": "case Shape::Lanes16x128b: return", "16x256b": "case Shape::Lanes16x256b: return",
         "16x32bx2": "return {t % 16, t < 16 ? i : second_half + i};"}


def _transfers() -> list[Probe]:
    probes = []
    for shape, (times, count) in _SHAPES.items():
        place, half = f"{TRANSFER}: {_CELL[shape]}", ", 19" if shape == "16x32bx2" else ""
        for packed in ("", "16b"):
            pack, unpack = (f".pack::{packed}", f".unpack::{packed}") if packed else ("", "")
            suffix = f"{shape}{'_packed' if packed else ''}"
            load = (f".reg .b32 x<{count}>; tcgen05.ld.sync.aligned.{shape}.x{times}{pack}.b32 {names('x', count)}, "
                    f"[%at+3]{half}; tcgen05.wait::ld.sync.aligned;\n" + put("x", count))
            probes.append(Probe(f"tmem.ld_{suffix}", f"which cells a load of shape {suffix} gives each lane", place,
                                tensor(load, fill="hash"), 128 * count, (("bytes", 256),)))
            store = (f".reg .b32 x<{count}>; " + "".join(
                f"mad.lo.u32 x{i}, %thread, 0x85EBCA6B, {i * 0x9E3779B1 % 2**32}; " for i in range(count)) +
                f"\ntcgen05.st.sync.aligned.{shape}.x{times}{unpack}.b32 [%at+3]{half}, {names('x', count)}; "
                "tcgen05.wait::st.sync.aligned;\n" + show(48))
            probes.append(Probe(f"tmem.st_{suffix}", f"which cells a store of shape {suffix} writes", place,
                                tensor(store, fill="hash"), 128 * 48, (("bytes", 256),)))
    upper = (".reg .b32 x<4>; add.u32 %t6, %at, 0x100000; tcgen05.ld.sync.aligned.16x64b.x4.b32 {x0, x1, x2, x3}, "
             "[%t6]; tcgen05.wait::ld.sync.aligned;\n" + put("x", 4))
    probes.append(Probe("tmem.ld_upper_lanes", "that a shape of 16 lanes can begin at lane 16",
                        f"{TRANSFER}: named % 32 != 16", tensor(upper, fill="hash"), 512, (("bytes", 256),)))
    shift = "add.u32 %t6, %tmem, 4; " + once(f"tcgen05.shift.cta_group::1.down [%t6];\n{commit(1)}") + wait() + show(16)
    probes.append(Probe("tmem.shift", "which way tcgen05.shift.down moves lanes, and how many columns",
                        f"{TCGEN05}shift.cpp: the 32 bytes of the next lane", tensor(shift, fill="hash"), 128 * 16,
                        (("bytes", 256),)))
    two = ("{ @!%warp0 bra end; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [note], 64; "
           "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [note+4], 32; "
           "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ld.shared.b32 %t0, [note]; "
           "ld.shared.b32 %t1, [note+4]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t0, 64; "
           "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t1, 32; end: bar.sync 0; }\n" +
           once(note("%t0", 0) + note("%t1", 1)))
    probes.append(Probe("tmem.alloc", "which columns two allocations get",
                        "common/sim/machine/tmem.cpp: int Tmem::allocate(", two, 2,
                        (("bytes", 256),)))
    return probes


# ---- copies from shared to tensor memory

_COPIES = {  # qualifier: its name, and what assumes it
    "128x256b": ("128x256b", '{"128x256b", {128, 32}}'), "4x256b": ("4x256b", "case Spread::Quarters: return"),
    "128x128b": ("128x128b", '{"128x128b", {128, 16}}'),
    "64x128b.warpx2::02_13": ("64x128b_02_13", "case Spread::Warpx2_02_13: return"),
    "64x128b.warpx2::01_23": ("64x128b_01_23", "case Spread::Warpx2_01_23: return"),
    "32x128b.warpx4": ("32x128b_warpx4", "case Spread::Warpx4: return"),
    "128x128b.b8x16.b6x16_p32": ("unpack_6", "const uint32_t element = two >> at"),
    "128x128b.b8x16.b4x16_p64": ("unpack_4", "element << 2 : element"),
}


def _copies() -> list[Probe]:
    probes = []
    for group, shapes in ((1, list(_COPIES)), (2, ["128x256b", "32x128b.warpx4"])):
        for shape in shapes:
            name, text = _COPIES[shape]
            one = (f"shr.u32 %t0, %box, 4; cvt.u64.u32 %wide, %t0; add.u64 %da, %wide, {descriptor(0, 'none')};\n"
                   f"add.u32 %t0, %tmem, 5; tcgen05.cp.cta_group::{group}.{shape} [%t0], %da;\n{commit(group)}")
            body = tensor(once(one, "%leader" if group == 2 else "%first") + wait() + show(16), group, "hash")
            probes.append(Probe(f"cp.{name}{'_pair' if group == 2 else ''}",
                                f"where tcgen05.cp.{shape} puts rows{' of both CTAs' if group == 2 else ''}",
                                f"{COPY}: {text}", body, 128 * 16, (("bytes", 16384),), ctas=group))
    return probes


# ---- products


@dataclass(frozen=True)
class Mma:
    kind: str = "f16"
    a_type: int = 1  # codes of the instruction descriptor
    b_type: int = 1
    d_type: int = 1
    m: int = 128
    n: int = 64
    group: int = 1
    a: tuple[str, bool] = ("128B", False)  # swizzle, MN-major
    b: tuple[str, bool] = ("128B", False)
    a_in_tmem: bool = False
    accumulate: bool = True
    negate: int = 0       # bit 0: A, bit 1: B
    more: str = ""        # operands after the predicate
    lanes: str = ""       # the vector of lanes to leave out
    form: str = ""        # .ws, .sp
    scale: str = ""       # .block_scale.scale_vec::1X
    factor_ids: int = 0   # bits 4-5 and 29-30
    e8m0: bool = True
    d_lane: int = 0
    times: int = 1

    def instruction(self) -> str:
        bits = (self.a_type << 7 | self.b_type << 10 | self.negate << 13 | int(self.a[1]) << 15 |
                int(self.b[1]) << 16 | self.n // 8 << 17 | self.m // 16 << 24 | (self.form == ".sp") << 2)
        bits |= int(self.e8m0) << 23 | self.factor_ids if self.scale else self.d_type << 4
        a = f"[%tmem+{_A_COLUMN}]" if self.a_in_tmem else "%da"
        metadata = f"[%tmem+{_METADATA}], " if self.form == ".sp" else ""
        factors = f", [%tmem+{_A_FACTORS}], [%tmem+{_B_FACTORS}]" if self.scale else ""
        return (f"tcgen05.mma{self.form}.cta_group::{self.group}.kind::{self.kind}{self.scale} [%t1], {a}, %db, "
                f"{metadata}{bits}{factors}{self.lanes}, %p1{self.more};\n")

    def body(self, fill: str, factor: int) -> str:
        who = "%leader" if self.group == 2 else "%first"
        one = ("mov.u32 %t2, 0x0000FFFF; mov.u32 %t3, 0x80000001; mov.u32 %t4, 0; mov.u32 %t5, 0x12345678;\n"
               f"shr.u32 %t0, %box, 4; cvt.u64.u32 %wide, %t0; add.u64 %da, %wide, {descriptor(0, *self.a)}; "
               f"add.u64 %db, %wide, {descriptor(_B, *self.b)}; add.u32 %t1, %tmem, {self.d_lane << 16};\n"
               f"setp.{'eq' if self.accumulate else 'ne'}.u32 %p1, 0, 0;\n" + self.instruction() * self.times +
               commit(self.group))
        return tensor(once(one, who) + wait() + show(self.n), self.group, fill, factor)


def mma(name: str, asks: str, place: str, what: Mma, kind: str = "bf16", kind_b: str = "", fill: str = "float",
        factor: int = 0x7E) -> Probe:
    return Probe(f"mma.{name}", asks, place, what.body(fill, factor), 128 * what.n,
                 ((kind, _B), (kind_b or kind, 3 * _B)), ctas=what.group)


def _layouts() -> list[Probe]:
    case = {"none": "default: break;", "32B": "case Swizzle::Bytes32: mask = 1;",
            "64B": "case Swizzle::Bytes64: mask = 3;", "128B": "case Swizzle::Bytes128: mask = 7;"}
    probes = []
    for swizzle, text in case.items():
        for which in "ab":
            for mn in (False, True):
                way = "MN" if mn else "K"
                place = f"{DESCRIPTOR}: {'uint32_t element_address' if mn else text}"
                probes.append(mma(f"{which}_{way.lower()}_major_{swizzle}",
                                  f"where the elements of {which.upper()} lie, {way}-major with the swizzle {swizzle}",
                                  place, Mma(a=(swizzle, mn)) if which == "a" else Mma(b=(swizzle, mn))))
    tf32 = Mma("tf32", 2, 2)
    probes += [
        mma("tf32_mn_major", "TF32 operands, MN-major in atoms of 32 bytes",
            f"{DESCRIPTOR}: case Swizzle::Bytes128Atom32: mask = 3, shift = 5;",
            replace(tf32, a=("128B_atom32", True), b=("128B_atom32", True)), "f32"),
        mma("m64", "which lanes hold the rows of D with M = 64", f"{OPERANDS}: layout F", Mma(m=64)),
        mma("m64_upper", "the same from lane 16 on", f"{OPERANDS}: 0xFFFFu << (lane & 16)", Mma(m=64, d_lane=16)),
        mma("n8", "that M = 128 takes N = 8", f"{INSTRUCTION}: N in steps of 8 with M = 128", Mma(n=8)),
        mma("n128", "the columns of D with N = 128", f"{OPERANDS}: layouts A and D", Mma(n=128)),
        mma("pair_m256", "which CTA of a pair holds which rows of D and columns of B", f"{OPERANDS}: layouts A and D",
            Mma(m=256, group=2)),
        mma("pair_m128", "that a pair with M = 128 puts halves of N one above the other", f"{OPERANDS}: layout B",
            Mma(m=128, group=2)),
        mma("pair_mn_major", "a pair with both operands MN-major", f"{DESCRIPTOR}: uint32_t element_address",
            Mma(m=256, group=2, a=("128B", True), b=("64B", True))),
        *(mma(f"ws_m{m}", f"where .ws puts D with M = {m}", f"{OPERANDS}: layouts E and G", Mma(m=m, form=".ws"))
          for m in (32, 64, 128)),
        mma("a_in_tmem", "how BF16 elements of A lie in tensor memory", f"{OPERANDS}: if (!o.a_in_tmem)",
            Mma(a_in_tmem=True)),
        mma("a_in_tmem_tf32", "how TF32 elements of A lie in tensor memory", f"{OPERANDS}: if (!o.a_in_tmem)",
            replace(tf32, a_in_tmem=True), "f32"),
    ]
    return probes


def _types() -> list[Probe]:
    codes = f"{INSTRUCTION}: constexpr Code "
    eight = Mma("f8f6f4", 0, 0)
    return [
        mma("f16", "FP16 operands", f"{codes}kF16[]", Mma(a_type=0, b_type=0), "f16"),
        mma("f16_result", "FP16 accumulators, one in a cell", f"{INSTRUCTION}: tensor::ResultFormat::F16",
            Mma(a_type=0, b_type=0, d_type=0), "f16", fill="half"),
        mma("tf32", "TF32 operands", f"{codes}kTF32[]", Mma("tf32", 2, 2), "f32"),
        mma("e4m3", "E4M3 operands", f"{codes}kF8F6F4[]", eight, "e4m3"),
        mma("e4m3_mn_major", "E4M3 operands, MN-major", f"{DESCRIPTOR}: uint32_t element_address",
            replace(eight, a=("128B", True), b=("128B", True)), "e4m3"),
        mma("e5m2_e4m3", "E5M2 by E4M3", f"{codes}kF8F6F4[]", replace(eight, a_type=1), "e5m2", "e4m3"),
        mma("e2m3_e3m2", "six-bit types, sixteen elements in twelve of 16 bytes", f"{codes}kF8F6F4[]",
            replace(eight, a_type=3, b_type=4), "bytes"),
        mma("e2m1", "four-bit elements beside eight-bit ones, sixteen in eight of 16 bytes", f"{codes}kF8F6F4[]",
            replace(eight, a_type=5), "bytes", "e4m3"),
        mma("s8", "signed bytes", f"{codes}kI8[]", Mma("i8", 1, 1, 2), "bytes", fill="hash"),
        mma("u8_s8", "unsigned by signed bytes", f"{codes}kI8[]", Mma("i8", 0, 1, 2), "bytes", fill="hash"),
        mma("overwrite_nan", "that enable-input-d = 0 ignores a NaN in D", f"{KERNELS}: !accumulate ? 0.0f",
            Mma(accumulate=False), fill="nan"),
        mma("negate_a", "the bit that negates A", f"{INSTRUCTION}: in.negate_a = bits >> 13", Mma(negate=1)),
        mma("negate_b", "the bit that negates B", f"{INSTRUCTION}: in.negate_b = bits >> 14", Mma(negate=2)),
        mma("scale_input_d", "that scale-input-d = 3 multiplies D by 2^-3", f"{MMA}: int scale_d = 0;",
            Mma(more=", 3")),
        mma("lanes_left_out", "which lanes a mask of disabled lanes leaves as they are",
            f"{MMA}: const uint32_t off = disabled",
            Mma(lanes=", {%t2, %t3, %t4, %t5}")),
    ]


def _scaled() -> list[Probe]:
    cell = f"{FACTORS}: cta.tmem.column(column + row / 32)[32 * quarter + row % 32]"
    byte = f"{FACTORS}: static_cast<uint8_t>(cell >> 8 * (byte + f))"
    eight = Mma("mxf8f6f4", 0, 0, scale=".block_scale.scale_vec::1X")
    four = Mma("mxf4", 1, 1, scale=".block_scale.scale_vec::2X")
    nv = Mma("mxf4nvf4", 1, 1, scale=".block_scale.scale_vec::4X", e8m0=False)
    ids = f"{INSTRUCTION}: in.b_factor = static_cast<int>(bits >> 4 & 3)"
    return [
        mma("mx_e4m3", "which row has which factor (UE8M0, one for 32 elements)", cell, eight, "e4m3"),
        mma("mx_e4m3_ids", "which bits of the instruction descriptor choose the byte of a factor", ids,
            replace(eight, factor_ids=2 << 4 | 1 << 29), "e4m3"),
        mma("mx_e2m3_e5m2", "factors of mixed types", cell, replace(eight, a_type=3, b_type=1), "bytes", "e5m2"),
        mma("mx_n128", "the factors of 128 columns of B", cell, replace(eight, n=128), "e4m3"),
        mma("mx_pair", "the factors of a pair of CTAs", cell, replace(eight, m=256, group=2), "e4m3"),
        mma("mxf4", "which of 64 elements of K have which of two factors", byte, four, "bytes"),
        mma("mxf4_ids", "the second pair of factors in a cell", ids, replace(four, factor_ids=2 << 4 | 2 << 29),
            "bytes"),
        mma("nvf4", "four factors of type UE4M3 for 64 elements", f"{FACTORS}: e4m3_to_float(code & 0x7F)", nv, "bytes",
            factor=0x38),
        mma("nvf4_e8m0", "the same kind with two factors of type UE8M0", byte,
            replace(nv, scale=".block_scale.scale_vec::2X", e8m0=True), "bytes"),
    ]


def _sparse() -> list[Probe]:
    place = f"{OPERANDS}: Nibbles read_metadata"
    return [mma("sparse_bf16", "how metadata in tensor memory select elements of BF16", place, Mma(form=".sp")),
            mma("sparse_e4m3", "the same for E4M3", place, Mma("f8f6f4", 0, 0, form=".sp"), "e4m3")]


def _rounding() -> list[Probe]:
    unit = f"{KERNELS}: const int unit = top - how.fraction_bits;"
    last = f"{KERNELS}: const int last_place"
    bits = "common/sim/exec/tensor/kernels.h: int fraction_bits = 25;"
    return [
        mma("round_bf16", "how many bits are kept when the terms of a BF16 sum are aligned", unit,
            Mma(accumulate=False), "bf16_spread"),
        mma("round_chain", "how sums are truncated to FP32, over eight instructions", last, Mma(times=8),
            "bf16_spread"),
        mma("round_f16", "the same for FP16 operands", unit, Mma(a_type=0, b_type=0), "f16_spread"),
        mma("round_f16_result", "how FP16 accumulators are rounded",
            f"{KERNELS}: if (half) return double_to_f16(value);",
            Mma(a_type=0, b_type=0, d_type=0), "f16_spread", fill="half"),
        mma("round_tf32", "the same for TF32", unit, Mma("tf32", 2, 2), "f32_spread"),
        mma("round_e4m3", "how many bits FP8 keeps on Blackwell", bits, Mma("f8f6f4", 0, 0, times=4), "e4m3_spread"),
        mma("round_e5m2", "the same for E5M2", bits, Mma("f8f6f4", 1, 1), "e5m2_spread"),
        mma("round_nvf4", "how sums of products with factors are rounded", f"{MMA}: fp4_columns",
            Mma("mxf4nvf4", 1, 1, scale=".block_scale.scale_vec::4X", e8m0=False, times=6), "bytes", factor=0x21),
        mma("subnormal", "that subnormal operands and results count", f"{KERNELS}: int top = -133;",
            Mma(accumulate=False), "bf16_subnormal"),
        mma("nan", "which NaN comes out, and infinities", f"{KERNELS}: half ? 0x7FFF : 0x7FFF'FFFF", Mma(),
            "bf16_special"),
        mma("overflow", "that a sum beyond FP32 is an infinity", f"{KERNELS}: std::fabs(value) >= 0x1p128", Mma(),
            "bf16_huge"),
    ]


# ---- commits, launch control, TMA, warps


def _others() -> list[Probe]:
    mask = (once("{ .reg .b16 mask; mov.b16 mask, 11; tcgen05.commit.cta_group::1.mbarrier::arrive::one"
                 ".shared::cluster.multicast::cluster.b64 [%bar], mask; }", "%leader") +
            "{ setp.eq.u32 %p1, %rank, 2; @%p1 bra end;\n" + wait() + "end: mov.u32 %t6, 0; }\n" + MEET +
            once(ask("mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar], 0;", 0)))
    plain = (once("mapa.shared::cluster.u32 %t0, %bar, 1; tcgen05.commit.cta_group::1.mbarrier::arrive::one"
                  ".shared::cluster.b64 [%t0];", "%leader") +
             "{ setp.eq.u32 %p1, %rank, 0; @%p1 bra end;\n" + wait() + "end: mov.u32 %t6, 0; }\n" + MEET +
             once(ask("mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar], 0;", 0)))
    cancel = (".reg .b128 %answer; .reg .b64 %base;\nmov.u32 %t4, %ctaid.x; neg.s32 %t5, %t4; "
              "mul.wide.s32 %base, %t5, 8; add.u64 %base, %base, %out; mov.u32 %t5, 0;\n" +
              once("again: red.global.add.u32 [%base], 1; red.global.add.u32 [%base+4], %t4;\n"
                   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16; fence.proxy.async;\n"
                   "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [note], "
                   "[bar];\n"
                   "poll: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], %t5; @!%p2 bra poll; xor.b32 "
                   "%t5, %t5, 1;\n"
                   "ld.shared.b128 %answer, [note]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, "
                   "%answer; @!%p1 bra end;\nclusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %t4, "
                   "%answer; "
                   "bra again;"))
    cvt = (".reg .b32 f<2>; .reg .b16 h; .reg .b8 e; shl.b32 %t0, %thread, 3; add.u32 %t0, %t0, %box; "
           "ld.shared.v2.b32 {f0, f1}, [%t0];\n")
    conversions = [
        Probe(f"cvt.{name}", f"how FP32 is converted to {name}, beyond its range too",
              f"common/sim/exec/arithmetic/{text}", cvt + instruction + say("%t1"), 128,
              (("f32_spread", 1024),))
        for name, text, instruction in (
            ("e2m1", "narrow.cpp: uint32_t narrow(float value) const",
             "cvt.rn.satfinite.e2m1x2.f32 e, f0, f1; cvt.u32.u8 %t1, e;\n"),
            ("e2m3", "narrow.cpp: kE2M3{2, 3, 1}", "cvt.rn.satfinite.e2m3x2.f32 h, f0, f1; cvt.u32.u16 %t1, h;\n"),
            ("e3m2", "narrow.cpp: kE3M2{3, 2, 3}", "cvt.rn.satfinite.e3m2x2.f32 h, f0, f1; cvt.u32.u16 %t1, h;\n"),
            ("ue8m0", "convert.cpp: decode_to_scales",
             "cvt.rp.satfinite.ue8m0x2.f32 h, f0, f1; cvt.u32.u16 %t1, h;\n"))]
    rows = ("shl.b32 %t0, %lane, 4; shl.b32 %t1, %warp, 9; add.u32 %t0, %t0, %t1; add.u32 %t0, %t0, %box;\n"
            ".reg .b32 x<4>;\n")
    matrix = "common/sim/exec/memory/matrix.cpp"
    four = wipe(4096) + once(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512; cp.async.bulk.tensor.2d.shared::cluster.global"
        ".tile::gather4.mbarrier::complete_tx::bytes [%box], [%map, {0, 9, 2, 63, 4}], [bar];") + wait() + dump(4096)
    scatter = once("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%map, {0, 9, 2, 12, 4}], "
                   "[%box]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;")
    pair = (wipe(4096) + once("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4096;", "%leader") + MEET +
            once("and.b32 %t0, %bar, 0xFEFFFFFF; shl.b32 %t1, %rank, 3; mapa.shared::cluster.u32 %t2, %box, %rank; "
                 "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 "
                 "[%t2], [%map, {0, %t1}], [%t0];") +
            "{ setp.eq.u32 %p1, %rank, 1; @%p1 bra end;\n" + wait() + "end: mov.u32 %t6, 0; }\n" + MEET + dump(2048))
    row = TensorMap((64, 64), (64, 1), (128,))
    # What is in the gaps is open.
    six = "shl.b32 %t0, %thread, 4; add.u32 %t0, %t0, %box; st.shared.b32 [%t0+12], 0; st.shared.b32 [%t0+2060], 0;\n"
    gaps = six + "st.shared.b32 [%t0+8], 0; st.shared.b32 [%t0+2056], 0;\n"
    return [
        *conversions,
        Probe("commit.multicast", "which CTAs of four a commit's mask reaches",
              f"{TCGEN05}commit.cpp: if (mask >> rank & 1)", mask, 1, (("bytes", 256),), ctas=4),
        Probe("commit.remote", "that a commit can name a barrier of another CTA",
              f"{TCGEN05}commit.cpp: commit->ranks.push_back(address >> kSharedRankShift);", plain, 1,
              (("bytes", 256),), ctas=2),
        Probe("launch_control.all_once", "that each of 600 CTAs is either started or cancelled, once",
              "common/sim/exec/async/launch_control.cpp: class TryCancel", cancel, 2, (("bytes", 256),), grid=600),
        Probe("matrix.ldmatrix_b8", "which bytes ldmatrix.m16n16.trans.b8 gives each lane", f"{matrix}: m16n16",
              rows + "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {x0, x1, x2, x3}, [%t0];\n" + put("x", 4), 512),
        Probe("matrix.ldmatrix_b4", "how ldmatrix spreads elements of four bits", f"{matrix}: ldmatrix",
              rows + "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {x0, x1, x2, x3}, [%t0];\n" + put("x", 4),
              512),
        Probe("matrix.stmatrix_b8", "where stmatrix.m16n8.trans.b8 puts bytes", f"{matrix}: m16n8",
              rows + "add.u32 %t1, %t0, 8192; ld.shared.v4.b32 {x0, x1, x2, x3}, [%t1];\n"
              "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%t0], {x0, x1, x2, x3};\n" + dump(2048), 512),
        Probe("warp.redux_f32", "what redux.sync.min of FP32 does with a NaN",
              "common/sim/exec/sync/warp.cpp: struct Redux",
              "shl.b32 %t0, %thread, 2; add.u32 %t0, %t0, %box; ld.shared.b32 %t1, [%t0]; setp.eq.u32 %p0, "
              "%thread, 40; "
              "@%p0 mov.b32 %t1, 0x7FC00001; redux.sync.min.f32 %t2, %t1, 0xffffffff; "
              "redux.sync.max.abs.NaN.f32 %t3, %t1, 0xffffffff;\n" + say("%t2", "%t3"), 256, (("f32_spread", 1024),)),
        tma("swizzle_128B_atom32", "where TMA puts pieces of 32 bytes",
            f"{BOX}: case Swizzle::Bytes128Atom32: return address", TensorMap((64, 64), (64, 16), (128,), swizzle=4),
            "0, 3", 2048),
        tma("packed_4", "how 16U4_ALIGN8B lies in shared memory", f"{BOX}: box.inner_bytes = box.count[0]",
            TensorMap((128, 64), (128, 16), (64,), type=13), "0, 3", 1024),
        tma("spread_4", "that 16U4_ALIGN16B leaves gaps of eight bytes, and how many bytes count",
            f"{BOX}: const uint32_t bytes = 2 * box.map.bits();", TensorMap((128, 64), (128, 16), (64,), type=14),
            "0, 3", 1024, after=gaps),
        tma("spread_6", "that 16U6_ALIGN16B leaves gaps of four bytes",
            f"{BOX}: const uint32_t bytes = 2 * box.map.bits();",
            TensorMap((128, 64), (128, 16), (96,), type=15), "0, 3", 1536, after=six),
        Probe("tma.gather4", "the order of four gathered rows", f"{BOX}: void place_rows", four, 1024,
              (("bytes", 16384),), map=row),
        Probe("tma.scatter4", "the order of four scattered rows", f"{BOX}: void place_rows", scatter, 1024,
              (("bytes", 16384),), map=TensorMap((64, 16), (64, 1), (128,), of_output=True)),
        Probe("tma.pair", "that .cta_group::2 counts both CTAs' loads at the leader's barrier",
              f"{LOAD}: credit_bytes(cluster, to, credit", pair, 512, (("bytes", 16384),), ctas=2,
              map=TensorMap((64, 64), (64, 16), (128,))),
    ]


def probes() -> list[Probe]:
    return [*_transfers(), *_copies(), *_layouts(), *_types(), *_scaled(), *_sparse(), *_rounding(), *_others()]
