// Control flow, barriers, fences, votes and what else concerns whole warps.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

constexpr Row kRows[] = {
    {"bra", "[.uni]", "label"},
    {"brx.idx", "[.uni]", "u32, targets"},
    {"ret", "[.uni]", ""},
    {"exit", "", ""},
    {"trap", "", ""},
    {"brkpt", "", ""},
    {"pmevent", "", "#b32:0..15"},
    {"pmevent.mask", "", "#b32"},
    {"nanosleep", ".u32", "u32", "6.3 sm_70"},

    // ---- barriers of a CTA
    {"bar", ".sync", "i32:0..15, ?i32:/32"},
    {"bar.cta", ".sync", "i32:0..15, ?i32:/32"},
    {"bar.arrive", "", "i32:0..15, i32:/32"},
    {"bar.cta.arrive", "", "i32:0..15, i32:/32"},
    {"barrier", ".sync[.aligned]", "i32:0..15, ?i32:/32"},
    {"barrier.cta", ".sync[.aligned]", "i32:0..15, ?i32:/32"},
    {"barrier.arrive", "[.aligned]", "i32:0..15, i32:/32"},
    {"barrier.cta.arrive", "[.aligned]", "i32:0..15, i32:/32"},
    {"bar.red", ".popc.u32", "=u32, i32:0..15, !pred"},
    {"bar.cta.red", ".popc.u32", "=u32, i32:0..15, !pred"},
    {"bar.red", ".popc.u32", "=u32, i32:0..15, i32:/32, !pred"},
    {"bar.cta.red", ".popc.u32", "=u32, i32:0..15, i32:/32, !pred"},
    {"bar.red", ".{and|or}.pred", "=pred, i32:0..15, !pred"},
    {"bar.cta.red", ".{and|or}.pred", "=pred, i32:0..15, !pred"},
    {"bar.red", ".{and|or}.pred", "=pred, i32:0..15, i32:/32, !pred"},
    {"bar.cta.red", ".{and|or}.pred", "=pred, i32:0..15, i32:/32, !pred"},
    {"barrier.red", ".popc[.aligned].u32", "=u32, i32:0..15, !pred"},
    {"barrier.cta.red", ".popc[.aligned].u32", "=u32, i32:0..15, !pred"},
    {"barrier.red", ".popc[.aligned].u32", "=u32, i32:0..15, i32:/32, !pred"},
    {"barrier.cta.red", ".popc[.aligned].u32", "=u32, i32:0..15, i32:/32, !pred"},
    {"barrier.red", ".{and|or}[.aligned].pred", "=pred, i32:0..15, !pred"},
    {"barrier.cta.red", ".{and|or}[.aligned].pred", "=pred, i32:0..15, !pred"},
    {"barrier.red", ".{and|or}[.aligned].pred", "=pred, i32:0..15, i32:/32, !pred"},
    {"barrier.cta.red", ".{and|or}[.aligned].pred", "=pred, i32:0..15, i32:/32, !pred"},
    {"bar.warp", ".sync", "i32", "6.0"},
    {"barrier.cluster.arrive", "[.{release|relaxed}][.aligned]", "", "7.8 sm_90"},
    {"barrier.cluster.wait", "[.acquire][.aligned]", "", "7.8 sm_90"},

    // ---- fences
    {"membar", ".{cta|gl|sys}", ""},
    {"membar.proxy", ".{alias|async|async.global|async.shared::cta|async.shared::cluster}", "", "7.5 sm_70"},
    {"fence", "[.{sc|acq_rel|acquire|release}].{$scope}", "", "6.0 sm_70"},
    {"fence", ".acquire.sync_restrict::shared::cluster.cluster", "", "8.6 sm_90"},
    {"fence", ".release.sync_restrict::shared::cta.cluster", "", "8.6 sm_90"},
    {"fence", ".mbarrier_init.release.cluster", "", "8.0 sm_90"},
    {"fence.proxy", ".alias", "", "7.5 sm_70"},
    {"fence.proxy", ".async[.{global|shared::cta|shared::cluster}]", "", "8.0 sm_90"},
    {"fence.proxy", ".async.global", "", "8.0 sm_90"},
    {"fence.proxy", ".tensormap::generic.release.{$scope}", "", "8.3 sm_90"},
    {"fence.proxy", ".tensormap::generic.acquire.{$scope}", "[generic~], #b32:128", "8.3 sm_90"},
    {"fence.proxy", ".async::generic.acquire.sync_restrict::shared::cluster.cluster", "", "8.6 sm_90"},
    {"fence.proxy", ".async::generic.release.sync_restrict::shared::cta.cluster", "", "8.6 sm_90"},

    // ---- within a warp
    {"shfl", ".sync.{up|down|bfly|idx}.b32", "=b32[|=_pred], b32, b32, b32, i32", "6.0"},
    {"vote", ".sync.{all|any|uni}.pred", "=pred, !pred, i32", "6.0"},
    {"vote", ".sync.ballot.b32", "=b32, !pred, i32", "6.0"},
    {"match", ".any.sync.{b32|b64}", "=b32, 1, i32", "6.0 sm_70"},
    {"match", ".all.sync.{b32|b64}", "=_b32[|=_pred], 1, i32", "6.0 sm_70"},
    {"activemask", ".b32", "=b32", "6.2"},
    {"redux", ".sync.{add|min|max}.{u32|s32}", "=1, 1, i32", "7.0 sm_80"},
    {"redux", ".sync.{and|or|xor}.b32", "=i32, i32, i32", "7.0 sm_80"},
    {"redux", ".sync.{min|max}[.abs][.NaN].f32", "=1, 1, i32", "8.6 sm_100a,sm_100f,sm_103a"},
    {"elect", ".sync", "=_i32|=pred, i32", "8.0 sm_90"},

    // ---- kernels and their resources
    {"griddepcontrol", ".{wait|launch_dependents}", "", "7.8 sm_90"},
    {"setmaxnreg.inc", ".sync.aligned.{u32|s32}", "#1:24..256/8", "8.0 sm_90a,sm_100f,sm_120f"},
    {"setmaxnreg.dec", ".sync.aligned.{u32|s32}", "#1:24..256/8", "8.0 sm_90a,sm_100f,sm_120f"},
    {"clusterlaunchcontrol.try_cancel.async", "[.shared::cta].mbarrier::complete_tx::bytes.b128", "[~], [shared]",
     "8.6 sm_100"},
    {"clusterlaunchcontrol.try_cancel.async",
     "[.shared::cta].mbarrier::complete_tx::bytes.multicast::cluster::all.b128", "[~], [shared]",
     "8.6 sm_100f,sm_120f"},
    {"clusterlaunchcontrol.query_cancel", ".is_canceled.pred.b128", "=pred, b128", "8.6 sm_100"},
    {"clusterlaunchcontrol.query_cancel", ".get_first_ctaid[.v4].b32.b128", "={4 b32}, b128", "8.6 sm_100"},
    {"clusterlaunchcontrol.query_cancel", ".{get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z}.b32.b128",
     "=b32, b128", "8.6 sm_100"},
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace sim::ptx
