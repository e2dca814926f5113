// Instructions start asynchronous operations here. The engine decides when these take effect (machine/async.h).
#pragma once

#include <memory>
#include <utility>

#include "exec/core/op.h"

namespace sim {

inline void submit(Cluster& cluster, const Origin& origin, std::unique_ptr<AsyncOperation> operation,
                   const Latency& when) {
  operation->origin = origin;
  cluster.scheduler->submit(std::move(operation), when);
}

/// Submits an operation that this lane's current instruction starts.
inline void submit(Warp& warp, int lane, std::unique_ptr<AsyncOperation> operation, const Latency& when) {
  submit(cluster_of(warp), origin_of(warp, lane), std::move(operation), when);
}

/// Submits an operation that follows from one that takes effect now; it has the same origin.
inline void submit_after(Cluster& cluster, const AsyncOperation& first, std::unique_ptr<AsyncOperation> next,
                         const Latency& when) {
  submit(cluster, first.origin, std::move(next), when);
}

}  // namespace sim
