"""Probes of what Hopper and Blackwell have in common: TMA, mbarriers, clusters, warps."""
from __future__ import annotations

from ladder.contact.probe import MEET, Probe, TensorMap, ask, dump, note, once, put, say, wait, wipe

BOX = "common/sim/exec/async/box.cpp"
BOX_H = "common/sim/exec/async/box.h"
LOAD = "common/sim/exec/async/tensor_load.cpp"
BARRIER = "common/sim/machine/mbarrier.cpp"
MBARRIER = "common/sim/exec/sync/mbarrier.cpp"
ADDRESS = "common/sim/machine/address.h"

PLAIN = TensorMap((64, 64), (64, 16), (128,))  # BF16
_HALF = (("bytes", 16384),)


def tma(name: str, asks: str, place: str, tensor: TensorMap, at: str, count: int, extra: str = "",
        before: str = "", offset: int = 0, after: str = "") -> Probe:
    """A load of `count` bytes; what it leaves of 4 KiB that were filled before."""
    rank = at.count(",") + 1
    kind = "im2col" if tensor.corners else "tile"
    load = once(f"{before}mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {count}; add.u32 %t0, %box, {offset};\n"
                f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{kind}.mbarrier::complete_tx::bytes [%t0], "
                f"[%map, {{{at}}}], [bar]{extra};")
    return Probe(f"tma.{name}", asks, place, wipe(4096) + load + wait() + after + dump(4096), 1024, _HALF, map=tensor)


def store(name: str, asks: str, place: str, tensor: TensorMap, at: str, instruction: str = "cp.async.bulk.tensor",
          operation: str = "", faults: bool = False) -> Probe:
    """A store or reduction into the answer."""
    rank = at.count(",") + 1
    body = once(f"{instruction}.{rank}d.global.shared::cta{operation}.tile.bulk_group [%map, {{{at}}}], [%box];\n"
                "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;")
    return Probe(f"tma.{name}", asks, place, body, words=2048, map=tensor, kinds=(("bf16", 16384),), faults=faults)


def _tma() -> list[Probe]:
    case = ("default: return address;", *(f"case Swizzle::Bytes{span}: return address ^" for span in (32, 64, 128)))
    probes = [tma(f"swizzle_{name}", f"where TMA puts 16-byte pieces with the swizzle {name}", f"{BOX}: {case[i]}",
                  TensorMap((64, 64), (inner, 16), (128,), swizzle=i), "0, 3", 32 * inner, offset=1024)
              for i, (name, inner) in enumerate((("none", 64), ("32B", 16), ("64B", 32), ("128B", 64)))]
    probes += [
        tma("swizzle_offset", "whether the swizzle takes bits of the absolute address, not of the box",
            f"{BOX}: case Swizzle::Bytes128: return address ^ (address >> 3 & 0x70);",
            TensorMap((64, 64), (64, 16), (128,), swizzle=3), "0, 0", 2048, offset=384),
        tma("narrow_box", "how far apart the rows of a box are that is narrower than the swizzle",
            f"{BOX}: box.pitch = std::max(span_bytes", TensorMap((64, 64), (16, 16), (128,), swizzle=3), "0, 0", 512),
        tma("outside_zero", "with what TMA fills beyond the tensor, and that all bytes are counted",
            f"{LOAD}: std::memset(bytes, 0, count);", TensorMap((40, 20), (64, 16), (128,)), "8, 10", 2048),
        tma("outside_nan", "which NaN TMA fills in for BF16", f"{LOAD}: kNan = 0x7FF7",
            TensorMap((40, 20), (64, 16), (128,), fill=1), "8, 10", 2048),
        tma("outside_nan_f32", "which NaN TMA fills in for FP32", f"{LOAD}: kNan = 0x7FF7",
            TensorMap((20, 20), (32, 16), (128,), type=7, fill=1), "4, 10", 2048),
        tma("negative", "that a load may begin at negative coordinates", f"{BOX}: faults::store_at_negative_coordinate",
            PLAIN, "-8, -5", 2048),
        tma("steps", "which rows a step of three between elements takes",
            f"{BOX}: box.count[i] = (box.map.box[i] + stride - 1) / stride;",
            TensorMap((64, 64), (64, 16), (128,), steps=(1, 3)), "0, 1", 768),
        tma("rank1", "a box of rank 1", f"{BOX}: void place_tile(Box& box)", TensorMap((4096,), (256,)), "512", 512),
        tma("rank3", "the order of a box's dimensions of rank 3", f"{BOX_H}: the second dimension varies fastest",
            TensorMap((32, 8, 8), (32, 4, 8), (64, 512)), "0, 2, 1", 2048),
        tma("rank5", "the order of a box's dimensions of rank 5", f"{BOX_H}: the second dimension varies fastest",
            TensorMap((8, 4, 4, 4, 4), (8, 2, 4, 2, 4), (16, 64, 256, 1024)), "0, 1, 0, 1, 0", 1024),
        tma("promotion", "that a promotion to 256 bytes in L2 changes no data", f"{BOX}: void place(Box& box",
            TensorMap((64, 64), (64, 16), (128,), promotion=3), "0, 7", 2048),
        tma("im2col", "which pixels im2col takes, from image to image", f"{BOX}: void place_pixels(Box& box)",
            TensorMap((16, 8, 6, 4), (16, 20), (32, 256, 1536), corners=((-1, -1), (-1, -1))), "0, 4, 3, 0", 640,
            ", {h0, h1}", ".reg .b16 h<2>; mov.b16 h0, 1; mov.b16 h1, 2; "),
        Probe("tma.multicast", "which CTAs of four a mask of multicast reaches, data and barrier",
              "common/sim/exec/async/destination.cpp: Destination destination_of",
              wipe(4096) + once("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 2048;") +
              MEET +
              once("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                   ".multicast::cluster [%box], [%map, {0, 5}], [bar], 13;", "%leader") +
              "setp.eq.u32 %p1, %rank, 1; @%p1 bra skip;\n" + wait() + "skip:\n" + dump(2048),
              words=512, ctas=4, map=PLAIN, kinds=(("bytes", 16384),)),
        store("store", "a store through a swizzled map", f"{BOX}: void row_from_shared",
              TensorMap((64, 32), (64, 16), (128,), swizzle=3, of_output=True), "0, 4"),
        store("store_clipped", "that a store clips rows exactly and columns to 16 bytes",
              f"{BOX}: (last + 15) / 16 * 16", TensorMap((44, 10), (64, 16), (128,), of_output=True), "0, 3"),
        store("store_negative", "that a store at a negative coordinate is an error",
              f"{BOX}: faults::store_at_negative_coordinate",
              TensorMap((64, 32), (64, 16), (128,), of_output=True), "0, -1",
              faults=True),
        store("reduce_add", "a reduction that adds BF16", "common/sim/exec/async/tensor_store.cpp: class TensorStore",
              TensorMap((64, 32), (64, 16), (128,), of_output=True), "0, 4", "cp.reduce.async.bulk.tensor", ".add"),
        store("reduce_max", "a reduction that takes the maximum of unsigned words",
              "common/sim/exec/async/tensor_store.cpp: class TensorStore",
              TensorMap((32, 32), (32, 16), (128,), type=2, of_output=True), "0, 4", "cp.reduce.async.bulk.tensor",
              ".max"),
    ]
    return probes


def _bulk() -> list[Probe]:
    return [
        Probe("bulk.load", "a bulk copy of 1,552 bytes into shared memory",
              "common/sim/exec/async/bulk_load.cpp: class BulkLoad",
              wipe(4096) + once("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1552; add.u32 %t0, %box, 48;\n"
                                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t0], [%in], "
                                "1552, [bar];") + wait() + dump(4096), 1024, _HALF),
        Probe("bulk.store", "a bulk copy of 1,552 bytes out of shared memory",
              "common/sim/exec/async/bulk_store.cpp: class BulkStore",
              once("add.u32 %t0, %box, 48; cp.async.bulk.global.shared::cta.bulk_group [%out], [%t0], 1552;\n"
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"), 1024, _HALF),
        Probe("bulk.to_peer", "a bulk copy into the other CTA's shared memory, counted there",
              "common/sim/exec/async/destination.cpp: Destination destination_of",
              wipe(4096) + once("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;") +
              MEET + "xor.b32 %t4, %rank, 1;\n"
              "mapa.shared::cluster.u32 %t0, %box, %t4; mapa.shared::cluster.u32 %t1, %bar, %t4;\n"
              "add.u32 %t2, %box, 8192;\n" +
              once("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%t0], [%t2], 512, [%t1];") +
              wait() + dump(1024), words=256, ctas=2, kinds=(("bytes", 16384),)),
        Probe("bulk.reduce_f32", "a bulk reduction that adds FP32 into global memory",
              "common/sim/exec/async/bulk_store.cpp: class BulkStore",
              once("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out], [%box], 512;\n"
                   "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out], [%box], 512;\n"
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"), kinds=(("f32", 4096),)),
        Probe("bulk.whole_warp", "that a bulk reduction executed by 32 lanes adds 32 times",
              "common/sim/README.md: counts once for each lane that executes it",
              once("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%box], 16;\n"
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", who="%warp0"), words=4),
    ]


def _barrier(name: str, asks: str, place: str, body: str, words: int, faults: bool = False,
             known: tuple[str, str] = ("", "")) -> Probe:
    return Probe(f"mbarrier.{name}", asks, place, ".reg .b64 %s0, %s1;\n" + once(body), words, (("bytes", 256),),
                 faults=faults, known=known)


def _test(at: int, parity: int, barrier: int = 0) -> str:
    return ask(f"mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar+{8 * barrier}], {parity};", at)


def _barriers() -> list[Probe]:
    init = "mbarrier.inval.shared::cta.b64 [bar]; mbarrier.init.shared::cta.b64 [bar], "
    pending = "mbarrier.pending_count.b64 %t1, %s0; "
    return [
        _barrier("parity", "what a wait for either parity says, before the first phase ends and after",
                 f"{MBARRIER}: if (last->complete(parity))", _test(0, 0) + _test(1, 1) +
                 "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + _test(2, 0) + _test(3, 1) +
                 "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + _test(4, 0) + _test(5, 1), 6),
        _barrier("counts", "which pending count an arrival's state holds, phase after phase",
                 f"{BARRIER}: pending = expected;", init + "3;\n" + "".join(
                     f"mbarrier.arrive.shared::cta.b64 %s0, [bar]; {pending}{note('%t1', i)}" for i in range(7)), 7),
        _barrier("word", "the bits of an mbarrier's state", f"{BARRIER}: uint64_t Mbarrier::word() const",
                 init + "5; mbarrier.arrive.expect_tx.shared::cta.b64 %s0, [bar], 48; mbarrier.arrive.shared::cta.b64 "
                 f"%s1, [bar]; mov.b64 {{%t0, %t1}}, %s1;\n{note('%t0', 0)}{note('%t1', 1)}", 2,
                 known=("* 7fffe3ff", "the state is opaque, and its lower half here the barrier's word; on an "
                                      "H100 it is "
                                      "something else")),
        _barrier("tx_first", "that bytes may arrive before they are expected", f"{BARRIER}: tx -= ",
                 "mbarrier.complete_tx.shared::cta.b64 [bar], 64;\n" + _test(0, 0) +
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n" + _test(1, 0), 2),
        _barrier("expect_completes", "that a plain expect_tx which brings the count to zero ends the phase",
                 f"{BARRIER}: bool Mbarrier::expect_tx", "mbarrier.complete_tx.shared::cta.b64 [bar], 64; "
                 "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + _test(0, 0) +
                 "mbarrier.expect_tx.shared::cta.b64 [bar], 64;\n" + _test(1, 0), 2),
        _barrier("drop", "what arrive_drop takes from the phases that follow",
                 f"{BARRIER}: bool Mbarrier::arrive_drop", init + "3; mbarrier.arrive_drop.shared::cta.b64 %s0, "
                 f"[bar]; mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n{_test(0, 0)}"
                 f"mbarrier.arrive.shared::cta.b64 _, [bar];\n{_test(1, 1)}"
                 f"mbarrier.arrive.shared::cta.b64 _, [bar];\n{_test(2, 1)}", 3),
        _barrier("largest", "that a phase can wait for 1,048,575 bytes",
                 f"{BARRIER}: static_cast<int64_t>(bytes) > kMaxCount",
                 "mbarrier.expect_tx.shared::cta.b64 [bar], 1048575; mbarrier.arrive.shared::cta.b64 _, [bar];\n" +
                 _test(0, 0) + "mbarrier.complete_tx.shared::cta.b64 [bar], 1048575;\n" + _test(1, 0), 2),
        _barrier("too_many", "that more arrivals than the phase waits for are an error",
                 f"{BARRIER}: static_cast<int64_t>(count) > pending",
                 init + f"2; mbarrier.arrive.shared::cta.b64 _, [bar], 3;\n{_test(0, 0)}", 1, faults=True),
        _barrier("too_many_bytes", "that expecting more than 1,048,575 bytes is an error",
                 f"{BARRIER}: static_cast<int64_t>(bytes) > kMaxCount",
                 "mbarrier.expect_tx.shared::cta.b64 [bar], 1048575; mbarrier.expect_tx.shared::cta.b64 [bar], 1;\n" +
                 _test(0, 0), 1, faults=True, known=(
                     "00000000", "the ISA's range ends at 1,048,575 bytes, which is reported here; an H100 counts to "
                     "1,048,576")),
        _barrier("try_wait", "that try_wait returns False within a millisecond, however long the time that is given",
                 "common/sim/exec/sync/mbarrier.cpp: times_out",
                 ".reg .b64 %from, %to;\nmov.u64 %from, %globaltimer;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0, 10000000;\nmov.u64 %to, %globaltimer; "
                 f"selp.u32 %t0, 1, 0, %p0; {note('%t0', 0)}sub.u64 %to, %to, %from; setp.lt.u64 %p0, %to, 1000000; "
                 f"selp.u32 %t0, 1, 0, %p0; {note('%t0', 1)}", 2),
        Probe("mbarrier.remote", "an arrival at the barrier of the other CTA",
              "common/sim/exec/sync/signal.cpp: void apply(",
              "xor.b32 %t4, %rank, 1; mapa.shared::cluster.u32 %t1, %bar, %t4;\n" +
              once("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t1];") + wait() +
              once(_test(0, 0) + _test(1, 1)), 2, (("bytes", 256),), ctas=2),
    ]


def _clusters() -> list[Probe]:
    return [
        Probe("cluster.address", "where the rank stands in a shared::cluster address, and where dynamic memory begins",
              f"{ADDRESS}: kSharedRankShift = 24", "mapa.shared::cluster.u32 %t0, %box, 3; "
                                                   "mapa.shared::cluster.u32 %t1, %t0, 1;\n" +
              once(note("%t0", 0) + note("%t1", 1)), 2, (("bytes", 256),), ctas=4),
        Probe("cluster.leader_bit", "that clearing bit 24 of an address names the even CTA of a pair",
              "common/ptx/registers.cuh: address & 0xFEFFFFFF",
              "mapa.shared::cluster.u32 %t0, %bar, %rank; and.b32 %t0, %t0, 0xFEFFFFFF;\n" +
              once("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%t0], 16; "
                   "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%t0], 16; "
                   "and.b32 %t1, %rank, 1; setp.eq.u32 %p0, %t1, 1; @!%p0 bra end;\n"
                   "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t0];") +
              MEET + once(_test(0, 0)), 1,
              (("bytes", 256),), ctas=4),
        Probe("cluster.dsmem", "stores into and loads from the other CTA's shared memory",
              "common/sim/exec/memory/address.cpp: // ---- mapa",
              "xor.b32 %t4, %rank, 1; mapa.shared::cluster.u32 %t0, %box, %t4; shl.b32 %t1, %thread, 2; "
              "add.u32 %t0, %t0, %t1;\nshl.b32 %t2, %rank, 16; add.u32 %t2, %t2, %thread; "
              "st.shared::cluster.b32 [%t0], %t2; barrier.cluster.arrive; barrier.cluster.wait;\n"
              "add.u32 %t3, %box, %t1; ld.shared.b32 %t5, [%t3]; ld.shared::cluster.b32 %t6, [%t0];\n" +
              say("%t5", "%t6"), 256, ctas=2),
        Probe("cluster.st_async", "that st.async is counted at the barrier where its bytes arrive",
              "common/sim/exec/async/st_async.cpp: class RemoteStore",
              once("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;") +
              MEET + "xor.b32 %t4, %rank, 1; mapa.shared::cluster.u32 %t0, %box, "
              "%t4; mapa.shared::cluster.u32 %t1, %bar, %t4; add.u32 %t2, %rank, 77;\n" +
              once("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%t0], {%t2, %t2, 5, 6}, [%t1];") +
              wait() + dump(32), 8, ctas=2),
        Probe("cluster.ranks", "the ranks of CTAs, as special registers say",
              "common/sim/exec/core/special.cpp: case SpecialKind::ClusterCtarank",
              "mov.u32 %t0, %cluster_nctarank; mov.u32 %t1, %cluster_ctaid.x; mov.u32 %t2, %clusterid.x; "
              "mov.u32 %t3, %nclusterid.x;\n" + once("".join(note(f"%t{i}", i) for i in range(4)) + note("%rank", 4)),
              5,
              (("bytes", 256),), ctas=4),
    ]


def _matrices() -> list[Probe]:
    place = "common/sim/exec/memory/matrix.cpp"
    address = "shl.b32 %t0, %lane, 4; shl.b32 %t1, %warp, 9; add.u32 %t0, %t0, %t1; add.u32 %t0, %t0, %box;\n"
    return [
        *(Probe(f"matrix.ldmatrix{suffix.replace('.', '_')}", f"which elements ldmatrix.x4{suffix} gives each lane",
                f"{place}: Flow ldmatrix(", address + ".reg .b32 x<4>; ldmatrix.sync.aligned.m8n8.x4" + suffix +
                ".shared.b16 {x0, x1, x2, x3}, [%t0];\n" + put("x", 4), 512) for suffix in ("", ".trans")),
        *(Probe(f"matrix.stmatrix{suffix.replace('.', '_')}", f"where stmatrix.x4{suffix} puts each lane's elements",
                f"{place}: Flow stmatrix(", address + "add.u32 %t1, %t0, 8192; ld.shared.v4.b32 {%t2, %t3, %t4, "
                                                      "%t5}, [%t1];\n"
                "stmatrix.sync.aligned.m8n8.x4" + suffix + ".shared.b16 [%t0], {%t2, %t3, %t4, %t5};\n" + dump(2048),
                512) for suffix in ("", ".trans")),
    ]


def _warps() -> list[Probe]:
    elect = ".reg .b32 %e;\nelect.sync %e|%p0, 0xffffffff; selp.u32 %t0, 1, 0, %p0;\n"
    part = ("and.b32 %t1, %lane, 3; setp.eq.u32 %p1, %t1, 2; mov.u32 %t2, 99; mov.u32 %t3, 0; @!%p1 bra other;\n"
            "elect.sync %t2|%p0, 0x44444444; selp.u32 %t3, 1, 0, %p0; other: bar.warp.sync 0xffffffff;\n")
    return [
        Probe("warp.elect", "which lane elect.sync elects",
              "common/sim/exec/sync/warp.cpp: Hardware elects the lowest lane",
              elect + say("%e", "%t0"), 64, (("bytes", 256),), threads=32),
        Probe("warp.elect_part", "which lane elect.sync elects of every fourth",
              "common/sim/exec/sync/warp.cpp: Hardware elects the lowest lane", part + say("%t2", "%t3"), 64,
              (("bytes", 256),), threads=32),
        Probe("warp.setmaxnreg", "that a warpgroup gives registers back and gets them again",
              "common/sim/exec/control/setmaxnreg.cpp: set_max_registers",
              "setmaxnreg.dec.sync.aligned.u32 40; bar.sync 0; setmaxnreg.inc.sync.aligned.u32 240;\n" +
              say("%thread"), 128,
              (("bytes", 256),)),
        Probe("warp.griddepcontrol", "that griddepcontrol does nothing in an ordinary launch",
              "common/sim/exec/sync/dependent_launch.cpp: Flow",
              "griddepcontrol.launch_dependents; griddepcontrol.wait;\n" + say("%thread"), 128, (("bytes", 256),)),
    ]


def probes() -> list[Probe]:
    return [*_warps(), *_barriers(), *_clusters(), *_matrices(), *_bulk(), *_tma()]
