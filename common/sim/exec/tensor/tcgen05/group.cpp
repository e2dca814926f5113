#include "exec/tensor/tcgen05/group.h"

#include "exec/core/report.h"

namespace sim::tcgen05 {

void require(Warp& w) {
  if (!cluster_of(w).launch->gpu->has_tcgen05) {
    throw Fault{faults::no_tensor_memory, {cluster_of(w).launch->gpu->name}};
  }
}

int group_of(const Decoder& d) { return d.has("cta_group::2") ? 2 : 1; }

Cta& peer_of(Cta& cta, const char* what) {
  Cluster& cluster = *cta.cluster;
  const uint32_t rank = cta.rank ^ 1;
  if (rank >= cluster.ctas.size()) throw Fault{faults::pair_of_odd_cluster, {what}};
  Cta& peer = cluster.ctas[rank];
  if (peer.exited) throw Fault{faults::peer_has_exited, {what, name_of(peer)}};
  return peer;
}

Cta& alive(Cluster& cluster, uint32_t rank, const char* who) {
  Cta& cta = cluster.ctas[rank];
  if (cta.exited) throw Fault{faults::needed_cta_has_exited, {who, name_of(cta)}};
  return cta;
}

void tell_moved(Warp& w, int lane, TensorAccesses& seen) {
  Cluster& cluster = cluster_of(w);
  cluster.watchers.tell(TensorEvent{.what = TensorEvent::What::Move,
                                    .cluster = cluster,
                                    .warp = &w,
                                    .lanes = 1u << lane,
                                    .pc = w.split().pc,
                                    .accesses = &seen});
}

TmemOperand TmemOperand::decode(Decoder& d, size_t index) {
  const ptx::Operand& address = d.operand(index);
  return {d.source(d.inside(address, 0), ptx::Type::B32), static_cast<uint32_t>(address.value)};
}

}  // namespace sim::tcgen05
