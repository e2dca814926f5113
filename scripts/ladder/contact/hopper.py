"""Probes of Hopper alone: wgmma. Operands are raw shared memory, so that an answer depends on every rule by which the
descriptors find them: A begins at the box, B 16 KiB later."""
from __future__ import annotations

from dataclasses import dataclass, replace

from ladder.contact.probe import Probe, names, put

DESCRIPTOR = "common/sim/exec/tensor/descriptor.cpp"
KERNELS = "common/sim/exec/tensor/kernels.cpp"
WGMMA = "common/sim/exec/tensor/wgmma.cpp"
TYPES = "common/sim/exec/tensor/types.cpp"

_B = 16 << 10
_SPAN = {"none": 16, "128B": 128, "64B": 64, "32B": 32}
_CODE = {"none": 0, "128B": 1, "64B": 2, "32B": 3}


@dataclass(frozen=True)
class Operand:
    swizzle: str = "128B"
    mn: bool = False   # MN-major: transposed
    start: int = 0     # bytes after its place
    base: int = 0      # the base offset, bits 49 to 51
    leading: int = -1  # bytes, in the place of what is usual

    def descriptor(self, at: int) -> int:
        """Without the address of the box. The offsets are those of a tile that is packed."""
        span = _SPAN[self.swizzle]
        stride, leading = 8 * span, 4096 if self.mn else 16
        if self.swizzle == "none":
            stride, leading = (2048, 128) if self.mn else (256, 128)
        if self.leading >= 0:
            leading = self.leading
        return ((at + self.start) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | self.base << 49 |
                _CODE[self.swizzle] << 62)


@dataclass(frozen=True)
class Mma:
    n: int = 64
    k: int = 16
    types: str = "f32.bf16.bf16"
    a: Operand = Operand()
    b: Operand = Operand()
    fragments: bool = False  # A comes from registers
    accumulate: bool = False
    signs: str = "1, 1"      # "": the instruction has none
    transposable: bool = True
    times: int = 1

    def body(self, start: int = 0x40400000) -> str:
        registers = self.n // (4 if self.types.startswith("f16") else 2)
        a = "{x0, x1, x2, x3}" if self.fragments else "%da"
        tail = ([self.signs] if self.signs else []) + (
            ([] if self.fragments else [str(int(self.a.mn))]) + [str(int(self.b.mn))] if self.transposable else [])
        operands = ", ".join([names("d", registers), a, "%db", "%p1", *tail])
        instruction = f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.k}.{self.types} {operands};\n"
        return (f".reg .b32 d<{registers}>, x<4>;\n" + "".join(f"mov.b32 d{i}, {start};\n" for i in range(registers)) +
                "shl.b32 %t0, %thread, 4; add.u32 %t0, %box, %t0; ld.shared.v4.b32 {x0, x1, x2, x3}, [%t0];\n"
                "shr.u32 %t0, %box, 4; cvt.u64.u32 %wide, %t0; "
                f"add.u64 %da, %wide, {self.a.descriptor(0)}; add.u64 %db, %wide, {self.b.descriptor(_B)};\n"
                f"setp.{'eq' if self.accumulate else 'ne'}.u32 %p1, 0, 0; wgmma.fence.sync.aligned;\n" +
                instruction * self.times + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n" +
                put("d", registers))


def wgmma(name: str, asks: str, place: str, mma: Mma, kind: str = "bf16", kind_b: str = "", start: int = 0x40400000
          ) -> Probe:
    registers = mma.n // (4 if mma.types.startswith("f16") else 2)
    return Probe(f"wgmma.{name}", asks, place, mma.body(start), 128 * registers,
                 ((kind, _B), (kind_b or kind, 3 * _B)))


def _layouts() -> list[Probe]:
    probes = []
    case = {"none": "default: break;", "32B": "case Swizzle::Bytes32: mask = 1;",
            "64B": "case Swizzle::Bytes64: mask = 3;", "128B": "case Swizzle::Bytes128: mask = 7;"}
    for swizzle in _SPAN:
        mn = f"{DESCRIPTOR}: uint32_t element_address"
        for which in "ab":
            for major in (False, True):
                operand = Operand(swizzle, major)
                way = "MN" if major else "K"
                probes.append(wgmma(
                    f"{which}_{way.lower()}_major_{swizzle}",
                    f"where the elements of {which.upper()} lie, {way}-major with the swizzle {swizzle}",
                    mn if major else f"{DESCRIPTOR}: {case[swizzle]}",
                    Mma(a=operand) if which == "a" else Mma(b=operand)))
    probes += [
        wgmma("advance", "that 32 bytes more at the start of a 128-byte row are the next 16 elements of K",
              f"{DESCRIPTOR}: struct Permutation", Mma(a=Operand(start=32), b=Operand(start=96))),
        wgmma("row_offset", "that the swizzle takes address bits 7 to 9, wherever the tile starts",
              f"{DESCRIPTOR}: ((linear >> 7) - base) & mask", Mma(a=Operand(start=384), b=Operand(start=128))),
        wgmma("base_offset", "what the base offset of a descriptor does",
              f"{DESCRIPTOR}: ((linear >> 7) - base) & mask", Mma(a=Operand(start=384, base=3), b=Operand(base=5))),
        wgmma("leading_ignored", "that a swizzled K-major operand has no leading dimension",
              f"{DESCRIPTOR}: d.swizzle == Swizzle::None ? d.leading : 16", Mma(a=Operand(leading=512),
                                                                               b=Operand(leading=0))),
        wgmma("a_fragments", "which elements of A each lane's registers hold", f"{WGMMA}: void read_a(",
              Mma(fragments=True)),
    ]
    return probes


def _shapes_and_types() -> list[Probe]:
    plain = Mma(transposable=False)
    rest = f"{WGMMA}: bool adds() const"
    return [
        *(wgmma(f"n{n}", f"the accumulators of N = {n}", f"{WGMMA}: void multiply_fragments(Warp& target",
                Mma(n=n)) for n in (8, 96, 256)),
        wgmma("f16", "FP16 operands", f"{TYPES}: ptx::Type::F16: return", Mma(types="f32.f16.f16"), "f16"),
        wgmma("f16_result", "FP16 accumulators, two in a register", f"{WGMMA}: halves[2 * i][l] = packed[l] & 0xFFFF",
              Mma(types="f16.f16.f16"), "f16",
              start=0x40004000),
        wgmma("tf32", "TF32 operands", f"{TYPES}: ptx::Type::TF32: return", replace(plain, k=8, types="f32.tf32.tf32"),
              "f32"),
        wgmma("tf32_low_bits", "that the lower 13 bits of a TF32 operand are ignored",
              f"{TYPES}: ptx::Type::TF32: return",
              replace(plain, k=8, types="f32.tf32.tf32"), "f32_spread"),
        wgmma("e4m3", "E4M3 operands", f"{TYPES}: ptx::Type::E4M3: return",
              replace(plain, k=32, types="f32.e4m3.e4m3"), "e4m3"),
        wgmma("e5m2_e4m3", "E5M2 by E4M3", f"{TYPES}: ptx::Type::E5M2: return",
              replace(plain, k=32, types="f32.e5m2.e4m3"), "e5m2",
              "e4m3"),
        wgmma("s8", "signed bytes", f"{TYPES}: ptx::Type::S8: return",
              replace(plain, k=32, types="s32.s8.s8", signs=""), "bytes"),
        wgmma("u8_s8", "unsigned by signed bytes", f"{TYPES}: ptx::Type::U8: return",
              replace(plain, k=32, types="s32.u8.s8", signs=""),
              "bytes"),
        wgmma("bits", "one bit, .and.popc", rest, replace(plain, k=256, types="s32.b1.b1.and.popc", signs=""), "bytes"),
        wgmma("accumulate", "that scale-d = 1 adds to D", rest, Mma(accumulate=True)),
        wgmma("overwrite_nan", "that scale-d = 0 ignores a NaN in D", f"{KERNELS}: const float c = !accumulate ? 0.0f",
              Mma(), start=0x7FC00000),
        wgmma("negate_a", "imm-scale-a = -1", f"{WGMMA}: negate_a = d.immediate", Mma(signs="-1, 1")),
        wgmma("negate_b", "imm-scale-b = -1", f"{WGMMA}: negate_b = d.immediate", Mma(signs="1, -1", accumulate=True)),
    ]


def _rounding() -> list[Probe]:
    unit = f"{KERNELS}: const int unit = top - how.fraction_bits;"
    last = f"{KERNELS}: const int last_place"
    fp8 = f"{WGMMA}: how.fraction_bits = 13"
    half = f"{KERNELS}: if (half) return double_to_f16(value);"
    plain = Mma(transposable=False)
    return [
        wgmma("round_bf16", "how many bits are kept when the terms of a BF16 sum are aligned", unit, Mma(),
              "bf16_spread"),
        wgmma("round_chain", "how sums are truncated to FP32, over eight instructions", last,
              Mma(accumulate=True, times=8), "bf16_spread"),
        wgmma("round_f16", "the same for FP16 operands", unit, Mma(types="f32.f16.f16", accumulate=True), "f16_spread"),
        wgmma("round_f16_result", "how FP16 accumulators are rounded", half, Mma(types="f16.f16.f16", accumulate=True),
              "f16_spread", start=0x3C013C01),
        wgmma("round_tf32", "the same for TF32", unit, replace(plain, k=8, types="f32.tf32.tf32", accumulate=True),
              "f32_spread"),
        wgmma("round_e4m3", "that FP8 keeps 13 bits", fp8,
              replace(plain, k=32, types="f32.e4m3.e4m3", accumulate=True, times=4), "e4m3_spread"),
        wgmma("round_e5m2", "the same for E5M2", fp8,
              replace(plain, k=32, types="f32.e5m2.e5m2", accumulate=True), "e5m2_spread"),
        wgmma("subnormal", "that subnormal operands and results count", f"{KERNELS}: int top = -133;", Mma(),
              "bf16_subnormal", start=0x00000005),
        wgmma("nan", "which NaN comes out, and infinities", f"{KERNELS}: half ? 0x7FFF : 0x7FFF'FFFF",
              Mma(accumulate=True), "bf16_special"),
        wgmma("overflow", "that a sum beyond FP32 is an infinity", f"{KERNELS}: std::fabs(value) >= 0x1p128", Mma(),
              "bf16_huge"),
        wgmma("cancelled", "the sign of a sum that cancels to zero", f"{KERNELS}: if (sum == 0) return 0;",
              Mma(accumulate=True), "bf16", start=0x80000000),
    ]


def probes() -> list[Probe]:
    return [*_layouts(), *_shapes_and_types(), *_rounding()]
