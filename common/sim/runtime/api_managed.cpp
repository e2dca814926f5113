// Advice about managed memory. The location of memory makes no difference here; advice is only stored for queries.
#include <cstring>
#include <string>
#include <vector>

#include "report/text.h"
#include "runtime/streams.h"

using namespace sim;
using namespace sim::runtime;

namespace {

/// The last advice for a part of an allocation.
struct Advice {
  std::string allocation;  ///< its label, since another allocation may have its addresses later
  uintptr_t begin, end;
  cudaMemRangeAttribute about;  ///< ReadMostly, PreferredLocation, AccessedBy or LastPrefetchLocation
  cudaMemLocation location;     ///< type None: unset. For ReadMostly any other type means set
};

constexpr cudaMemLocation kNothing{cudaMemLocationTypeNone, 0};

// Never destroyed, like Process. The newest comes last.
std::vector<Advice>& advices() {
  static auto& all = *new std::vector<Advice>;
  return all;
}

const GlobalMemory::Allocation& managed_range(Process& process, const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto* found = process.memory().find(address, bytes);
  if (bytes == 0 || found == nullptr || found->kind != GlobalMemory::Kind::Managed) {
    refuse(cudaErrorInvalidValue, "%zu bytes at %p are not managed memory (cudaMallocManaged): the address is %s.",
           bytes, pointer, report::place(process.memory().place_of(address)).c_str());
  }
  return *found;
}

void remember(Process& process, const void* pointer, std::size_t bytes, cudaMemRangeAttribute about,
              cudaMemLocation location) {
  const GlobalMemory::Allocation& allocation = managed_range(process, pointer, bytes);
  const auto begin = reinterpret_cast<uintptr_t>(pointer), end = begin + bytes;
  std::erase_if(advices(), [&](const Advice& old) {  // the new advice covers all of it
    return old.allocation == allocation.label && old.about == about && begin <= old.begin && old.end <= end;
  });
  advices().push_back({allocation.label, begin, end, about, location});
}

/// The advice for the whole range; None if it is not the same everywhere.
cudaMemLocation known(Process& process, const void* pointer, std::size_t bytes, cudaMemRangeAttribute about) {
  const GlobalMemory::Allocation& allocation = managed_range(process, pointer, bytes);
  const auto begin = reinterpret_cast<uintptr_t>(pointer), end = begin + bytes;
  cudaMemLocation answer = kNothing;
  for (uintptr_t at = begin, next; at < end; at = next) {
    next = end;
    cudaMemLocation here = kNothing;
    for (const Advice& each : advices()) {
      if (each.allocation != allocation.label || each.about != about) continue;
      if (each.begin <= at && at < each.end) here = each.location;
      for (const uintptr_t edge : {each.begin, each.end}) {
        if (edge > at && edge < next) next = edge;
      }
    }
    if (at > begin && (here.type != answer.type || here.id != answer.id)) return kNothing;
    answer = here;
  }
  return answer;
}

/// The device number of a location, for the older attributes without a location type.
int device_of(cudaMemLocation location) {
  switch (location.type) {
    case cudaMemLocationTypeNone: return cudaInvalidDeviceId;
    case cudaMemLocationTypeDevice: return location.id;
    default: return cudaCpuDeviceId;
  }
}

void answer_attribute(Process& process, void* data, std::size_t room, cudaMemRangeAttribute attribute,
                      const void* pointer, std::size_t bytes) {
  require_pointer(data, "data");
  if (room == 0 || room % sizeof(int) != 0 || (room != sizeof(int) && attribute != cudaMemRangeAttributeAccessedBy))
    refuse(cudaErrorInvalidValue, "dataSize is %zu; an attribute has 4 bytes, and 4 for each device in AccessedBy.",
           room);
  const auto asked = [&](cudaMemRangeAttribute about) { return known(process, pointer, bytes, about); };
  const auto answer = [&](int value) { std::memcpy(data, &value, sizeof value); };
  switch (attribute) {
    case cudaMemRangeAttributeReadMostly: return answer(asked(attribute).type != cudaMemLocationTypeNone);
    case cudaMemRangeAttributePreferredLocation:
    case cudaMemRangeAttributeLastPrefetchLocation: return answer(device_of(asked(attribute)));
    case cudaMemRangeAttributeAccessedBy: {
      const int nobody = cudaInvalidDeviceId;
      for (std::size_t at = 0; at < room; at += sizeof(int))
        std::memcpy(static_cast<char*>(data) + at, &nobody, sizeof nobody);
      return answer(device_of(asked(attribute)));
    }
    case cudaMemRangeAttributePreferredLocationType: return answer(asked(cudaMemRangeAttributePreferredLocation).type);
    case cudaMemRangeAttributePreferredLocationId: return answer(asked(cudaMemRangeAttributePreferredLocation).id);
    case cudaMemRangeAttributeLastPrefetchLocationType:
      return answer(asked(cudaMemRangeAttributeLastPrefetchLocation).type);
    case cudaMemRangeAttributeLastPrefetchLocationId:
      return answer(asked(cudaMemRangeAttributeLastPrefetchLocation).id);
    default: refuse(cudaErrorInvalidValue, "there is no attribute %d of ranges.", static_cast<int>(attribute));
  }
}

}  // namespace

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  return call("cudaMemAdvise", [&](Process& process) {
    constexpr cudaMemLocation kYes{cudaMemLocationTypeDevice, 0};
    const auto say_of = [&](cudaMemRangeAttribute about, cudaMemLocation what) {
      remember(process, pointer, bytes, about, what);
    };
    switch (advice) {
      case cudaMemAdviseSetReadMostly: return say_of(cudaMemRangeAttributeReadMostly, kYes);
      case cudaMemAdviseUnsetReadMostly: return say_of(cudaMemRangeAttributeReadMostly, kNothing);
      case cudaMemAdviseSetPreferredLocation: return say_of(cudaMemRangeAttributePreferredLocation, location);
      case cudaMemAdviseUnsetPreferredLocation: return say_of(cudaMemRangeAttributePreferredLocation, kNothing);
      case cudaMemAdviseSetAccessedBy: return say_of(cudaMemRangeAttributeAccessedBy, location);
      case cudaMemAdviseUnsetAccessedBy: return say_of(cudaMemRangeAttributeAccessedBy, kNothing);
    }
    refuse(cudaErrorInvalidValue, "there is no advice %d.", static_cast<int>(advice));
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned,
                                 cudaStream_t stream) {
  return call("cudaMemPrefetchAsync", [&](Process& process) {
    find_stream(stream);
    remember(process, pointer, bytes, cudaMemRangeAttributeLastPrefetchLocation, location);
  });
}
SIM_PER_THREAD(cudaMemPrefetchAsync, _ptsz)

cudaError_t cudaMemRangeGetAttribute(void* data, size_t room, cudaMemRangeAttribute attribute, const void* pointer,
                                     size_t bytes) {
  return call("cudaMemRangeGetAttribute",
              [&](Process& process) { answer_attribute(process, data, room, attribute, pointer, bytes); });
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* room, cudaMemRangeAttribute* attributes, size_t count,
                                      const void* pointer, size_t bytes) {
  return call("cudaMemRangeGetAttributes", [&](Process& process) {
    require_pointer(data, "data");
    require_pointer(room, "dataSizes");
    require_pointer(attributes, "attributes");
    for (size_t i = 0; i < count; ++i) answer_attribute(process, data[i], room[i], attributes[i], pointer, bytes);
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  return call("cudaStreamAttachMemAsync", [&](Process&) { find_stream(stream); });
}
SIM_PER_THREAD(cudaStreamAttachMemAsync, _ptsz)
