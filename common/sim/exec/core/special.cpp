#include "exec/core/special.h"

#include <algorithm>
#include <utility>

#include "exec/core/program.h"
#include "machine/address.h"

namespace sim {
namespace {

constexpr std::pair<std::string_view, SpecialKind> kVectors[] = {{"tid", SpecialKind::Tid},
                                                                 {"ntid", SpecialKind::Ntid},
                                                                 {"ctaid", SpecialKind::Ctaid},
                                                                 {"nctaid", SpecialKind::Nctaid},
                                                                 {"cluster_ctaid", SpecialKind::ClusterCtaid},
                                                                 {"cluster_nctaid", SpecialKind::ClusterNctaid},
                                                                 {"clusterid", SpecialKind::Clusterid},
                                                                 {"nclusterid", SpecialKind::Nclusterid}};
constexpr std::pair<std::string_view, SpecialKind> kScalars[] = {
    {"cluster_ctarank", SpecialKind::ClusterCtarank},
    {"cluster_nctarank", SpecialKind::ClusterNctarank},
    {"laneid", SpecialKind::Laneid},
    {"warpid", SpecialKind::Warpid},
    {"nwarpid", SpecialKind::Nwarpid},
    {"smid", SpecialKind::Smid},
    {"nsmid", SpecialKind::Nsmid},
    {"gridid", SpecialKind::Gridid},
    {"lanemask_eq", SpecialKind::LanemaskEq},
    {"lanemask_lt", SpecialKind::LanemaskLt},
    {"lanemask_le", SpecialKind::LanemaskLe},
    {"lanemask_gt", SpecialKind::LanemaskGt},
    {"lanemask_ge", SpecialKind::LanemaskGe},
    {"dynamic_smem_size", SpecialKind::DynamicSmemSize},
    {"total_smem_size", SpecialKind::TotalSmemSize},
    {"aggr_smem_size", SpecialKind::TotalSmemSize},
    {"reserved_smem_offset_0", SpecialKind::ReservedSmem},
    {"reserved_smem_offset_1", SpecialKind::ReservedSmem},
    {"reserved_smem_offset_end", SpecialKind::ReservedSmemEnd},
    {"reserved_smem_offset_cap", SpecialKind::ReservedSmemCap},
    {"envreg1", SpecialKind::GridWorkspaceHigh},  // where cooperative groups look for the grid's barrier
    {"envreg2", SpecialKind::GridWorkspaceLow},
    {"is_explicit_cluster", SpecialKind::IsExplicitCluster},
};

bool is_wide(SpecialKind kind) { return kind == SpecialKind::Gridid || kind == SpecialKind::SharedAddress64; }

uint64_t value_of(const SpecialRegister& special, const Warp& warp, uint32_t lane) {
  const Cta& cta = *warp.cta;
  const Cluster& cluster = *cta.cluster;
  const Launch& launch = *cluster.launch;
  const auto &block = launch.block, &size = launch.cluster;
  const uint32_t i = special.argument;
  switch (special.kind) {
    case SpecialKind::Tid: {
      const uint32_t thread = warp.index * 32 + lane;
      return i == 0 ? thread % block[0] : i == 1 ? thread / block[0] % block[1] : thread / block[0] / block[1];
    }
    case SpecialKind::Ntid: return block[i];
    case SpecialKind::Ctaid: return cta.index[i];
    case SpecialKind::Nctaid: return launch.grid[i];
    case SpecialKind::ClusterCtaid: return cta.index[i] % size[i];
    case SpecialKind::ClusterNctaid: return size[i];
    case SpecialKind::Clusterid: return cta.index[i] / size[i];
    case SpecialKind::Nclusterid: return launch.grid[i] / size[i];
    case SpecialKind::ClusterCtarank: return cta.rank;
    case SpecialKind::ClusterNctarank: return cluster.ctas.size();
    case SpecialKind::Laneid: return lane;
    case SpecialKind::Warpid: return warp.index;
    case SpecialKind::Nwarpid: return cta.warps.size();
    case SpecialKind::Smid: return cta.sm;
    case SpecialKind::Nsmid: return static_cast<uint64_t>(launch.gpu->sm_count);
    case SpecialKind::Gridid: return launch.number;
    case SpecialKind::LanemaskEq: return 1u << lane;
    case SpecialKind::LanemaskLt: return (1u << lane) - 1;
    case SpecialKind::LanemaskLe: return (2u << lane) - 1;
    case SpecialKind::LanemaskGt: return ~((2u << lane) - 1);
    case SpecialKind::LanemaskGe: return ~((1u << lane) - 1);
    case SpecialKind::DynamicSmemSize: return launch.dynamic_smem;
    case SpecialKind::TotalSmemSize: return launch.smem_bytes - Gpu::smem_reserved;
    case SpecialKind::ReservedSmemEnd: return 0x120;
    case SpecialKind::ReservedSmemCap: return Gpu::smem_reserved;
    case SpecialKind::GridWorkspaceHigh: return launch.grid_workspace >> 32;
    case SpecialKind::GridWorkspaceLow: return static_cast<uint32_t>(launch.grid_workspace);
    case SpecialKind::SharedAddress32:
    case SpecialKind::SharedAddress64: return cta.rank << kSharedRankShift | special.argument;
    case SpecialKind::IsExplicitCluster: return launch.cluster_size() > 1 || launch.program->kernel->explicit_cluster;
    case SpecialKind::ReservedSmem:
    case SpecialKind::Carry:
    case SpecialKind::Zero: break;
  }
  return 0;
}

}  // namespace

SpecialRegister special_register(std::string_view name) {
  const size_t dot = name.size() < 2 ? 0 : name.size() - 2;
  if (name.size() > 2 && name[dot] == '.' && name.back() >= 'x' && name.back() <= 'z') {
    for (const auto& [text, kind] : kVectors) {
      if (name.substr(0, dot) == text) return {kind, static_cast<uint32_t>(name.back() - 'x')};
    }
  }
  for (const auto& [text, kind] : kScalars) {
    if (name == text) return {kind};
  }
  return {};
}

bool is_predicate(SpecialKind kind) { return kind == SpecialKind::IsExplicitCluster || kind == SpecialKind::Carry; }

void fill_registers(Warp& warp) {
  const Program& program = *warp.cta->cluster->launch->program;
  for (const Program::Constant& constant : program.constants) {
    uint8_t* const slot = warp.registers + constant.slot;
    if (constant.bytes == 0) {
      *reinterpret_cast<Mask*>(slot) = static_cast<Mask>(constant.value);
    } else if (constant.bytes == 4) {
      std::fill_n(reinterpret_cast<uint32_t*>(slot), 32, static_cast<uint32_t>(constant.value));
    } else {
      std::fill_n(reinterpret_cast<uint64_t*>(slot), 32, constant.value);
      if (constant.bytes == 16) std::fill_n(reinterpret_cast<uint64_t*>(slot) + 32, 32, 0);
    }
  }
  for (const Program::Special& special : program.specials) {
    uint8_t* const slot = warp.registers + special.slot;
    if (is_predicate(special.which.kind)) {
      *reinterpret_cast<Mask*>(slot) = value_of(special.which, warp, 0) != 0 ? kAllLanes : 0;
      continue;
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint64_t value = value_of(special.which, warp, lane);
      if (is_wide(special.which.kind))
        reinterpret_cast<uint64_t*>(slot)[lane] = value;
      else
        reinterpret_cast<uint32_t*>(slot)[lane] = static_cast<uint32_t>(value);
    }
  }
}

}  // namespace sim
