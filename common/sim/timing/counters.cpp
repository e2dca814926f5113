#include "timing/counters.h"

#include <algorithm>
#include <array>
#include <bit>

#include "exec/core/program.h"

namespace sim {
namespace {

template <class T>
uint64_t distinct(T* values, size_t count) {
  std::sort(values, values + count);
  return static_cast<uint64_t>(std::unique(values, values + count) - values);
}

Counters::Access& slot(std::vector<Counters::Access>& accesses, uint32_t pc) {
  if (accesses.size() <= pc) accesses.resize(pc + 1);
  return accesses[pc];
}

void merge(std::vector<Counters::Access>& into, const std::vector<Counters::Access>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    into[i].count += from[i].count;
    into[i].sectors += from[i].sectors;
    into[i].lines += from[i].lines;
    into[i].wavefronts += from[i].wavefronts;
    into[i].bytes += from[i].bytes;
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}
std::string triple(const std::array<uint32_t, 3>& v) {
  return "[" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + "]";
}

/// Worst first: by lines for global memory, by wavefronts for shared.
std::string accesses_json(const std::vector<Counters::Access>& accesses, const Program& program, bool global) {
  std::vector<uint32_t> order;
  for (uint32_t pc = 0; pc < accesses.size(); ++pc) {
    if (accesses[pc].count > 0) order.push_back(pc);
  }
  const auto cost = [&](uint32_t pc) { return global ? accesses[pc].lines : accesses[pc].wavefronts; };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
  std::string out = "[";
  for (const uint32_t pc : order) {
    const Counters::Access& access = accesses[pc];
    const ptx::Instruction& instruction = *program.instructions[program.ops[pc].source];
    if (out.size() > 1) out += ",";
    out += "\n      {\"instruction\": " + quoted(instruction.form()) +
           ", \"ptx_line\": " + std::to_string(instruction.line) + ", \"source\": " + quoted(program.source_line(pc)) +
           ", \"warp_accesses\": " + std::to_string(access.count) + ", \"bytes\": " + std::to_string(access.bytes);
    if (global)
      out += ", \"sectors\": " + std::to_string(access.sectors) + ", \"lines\": " + std::to_string(access.lines);
    else
      out += ", \"wavefronts\": " + std::to_string(access.wavefronts);
    out += "}";
  }
  return out + "]";
}

}  // namespace

std::string to_json(const LaunchRecord& record) {
  const Counters& c = record.counters;
  std::string out = "{\"kernel\": " + quoted(record.kernel) + ", \"grid\": " + triple(record.grid) +
                    ", \"block\": " + triple(record.block) + ", \"cluster\": " + triple(record.cluster);
  const std::pair<const char*, uint64_t> numbers[] = {
      {"warp_instructions", c.warp_instructions},
      {"lane_instructions", c.lane_instructions},
      {"tensor_flops", c.tensor_flops},
      {"tensor_instructions", c.tensor_instructions},
      {"tma_instructions", c.tma_instructions},
      {"tma_load_bytes", c.tma_load_bytes},
      {"tma_fetch_bytes", c.tma_fetch_bytes},
      {"tma_store_bytes", c.tma_store_bytes},
      {"global_load_bytes", c.global_load_bytes},
      {"global_store_bytes", c.global_store_bytes},
      {"redundant_store_bytes", c.redundant_store_bytes},
      {"overwritten_bytes", c.overwritten_bytes},
      {"barrier_waits", c.barrier_waits},
      {"barrier_waits_blocked", c.barrier_waits_blocked},
      {"cta_barriers", c.cta_barriers},
      {"cluster_barriers", c.cluster_barriers},
      {"tmem_reads", c.tmem_reads},
  };
  if (record.useful_tensor_flops > 0)
    out += ",\n    \"useful_tensor_flops\": " + std::to_string(record.useful_tensor_flops);
  for (const auto& [name, value] : numbers) out += ",\n    \"" + std::string(name) + "\": " + std::to_string(value);
  out += ",\n    \"global\": " + accesses_json(c.global_accesses, *record.program, true);
  out += ",\n    \"shared\": " + accesses_json(c.shared_accesses, *record.program, false);
  return out + "}";
}

void Counters::add(const Counters& other) {
  warp_instructions += other.warp_instructions;
  lane_instructions += other.lane_instructions;
  tensor_flops += other.tensor_flops;
  tensor_instructions += other.tensor_instructions;
  tma_load_bytes += other.tma_load_bytes;
  tma_fetch_bytes += other.tma_fetch_bytes;
  tma_store_bytes += other.tma_store_bytes;
  tma_instructions += other.tma_instructions;
  global_load_bytes += other.global_load_bytes;
  global_store_bytes += other.global_store_bytes;
  redundant_store_bytes += other.redundant_store_bytes;
  overwritten_bytes += other.overwritten_bytes;
  barrier_waits += other.barrier_waits;
  barrier_waits_blocked += other.barrier_waits_blocked;
  cta_barriers += other.cta_barriers;
  cluster_barriers += other.cluster_barriers;
  tmem_reads += other.tmem_reads;
  merge(global_accesses, other.global_accesses);
  merge(shared_accesses, other.shared_accesses);
}

void count_global(Counters& counters, uint32_t pc, const uint64_t* addresses, uint32_t mask, uint32_t bytes,
                  bool is_store) {
  std::array<uint64_t, 64> sectors, lines;
  size_t n = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint64_t address = addresses[std::countr_zero(rest)];
    // An aligned access of up to 32 bytes lies in one sector; the second entry serves the ends of longer ones.
    sectors[n] = address / 32;
    lines[n++] = address / 128;
    sectors[n] = (address + bytes - 1) / 32;
    lines[n++] = (address + bytes - 1) / 128;
  }
  Counters::Access& access = slot(counters.global_accesses, pc);
  const uint64_t total = static_cast<uint64_t>(std::popcount(mask)) * bytes;
  ++access.count;
  access.sectors += distinct(sectors.data(), n);
  access.lines += distinct(lines.data(), n);
  access.bytes += total;
  (is_store ? counters.global_store_bytes : counters.global_load_bytes) += total;
}

uint32_t shared_wavefronts(const uint32_t* offsets, uint32_t mask, uint32_t bytes) {
  const int lanes_per_pass = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  const uint32_t words = std::max(bytes, 4u) / 4;
  uint32_t total = 0;
  for (int first = 0; first < 32; first += lanes_per_pass) {
    std::array<std::array<uint32_t, 32>, 32> bank;  // distinct words per bank
    std::array<uint8_t, 32> depth{};
    uint32_t worst = 0;
    for (int lane = first; lane < first + lanes_per_pass; ++lane) {
      if (!(mask >> lane & 1)) continue;
      for (uint32_t i = 0; i < words; ++i) {
        const uint32_t word = offsets[lane] / 4 + i;
        auto& column = bank[word % 32];
        uint8_t& used = depth[word % 32];
        if (std::find(column.begin(), column.begin() + used, word) != column.begin() + used) continue;
        if (used < 32) column[used++] = word;
        worst = std::max<uint32_t>(worst, used);
      }
    }
    total += worst;
  }
  return total;
}

void count_shared(Counters& counters, uint32_t pc, const uint32_t* offsets, uint32_t mask, uint32_t bytes) {
  Counters::Access& access = slot(counters.shared_accesses, pc);
  ++access.count;
  access.wavefronts += shared_wavefronts(offsets, mask, bytes);
  access.bytes += static_cast<uint64_t>(std::popcount(mask)) * bytes;
}

}  // namespace sim
