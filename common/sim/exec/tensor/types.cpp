#include "exec/tensor/types.h"

namespace sim::tensor {

std::vector<ptx::Type> types_of(const Decoder& d) {
  std::vector<ptx::Type> types;
  d.for_modifiers([&](const std::string& modifier) {
    const ptx::Type type = ptx::type_of(modifier);
    if (type == ptx::Type::None) return false;
    types.push_back(type);
    return true;
  });
  return types;
}

Format format_of(const Decoder& d, ptx::Type type) {
  switch (type) {
    case ptx::Type::BF16: return Format::BF16;
    case ptx::Type::F16: return Format::F16;
    case ptx::Type::TF32: return Format::TF32;
    case ptx::Type::E4M3: return Format::E4M3;
    case ptx::Type::E5M2: return Format::E5M2;
    case ptx::Type::S8: return Format::S8;
    case ptx::Type::U8: return Format::U8;
    default: d.unsupported(faults::type_of_operands);
  }
}

ResultFormat result_of(ptx::Type type) {
  return type == ptx::Type::F32 ? ResultFormat::F32 : type == ptx::Type::F16 ? ResultFormat::F16 : ResultFormat::S32;
}

void count_multiply_adds(Cluster& cluster, uint64_t multiply_adds) {
  cluster.watchers.tell(
      TensorEvent{.what = TensorEvent::What::Multiplies, .cluster = cluster, .multiply_adds = multiply_adds});
}

}  // namespace sim::tensor
