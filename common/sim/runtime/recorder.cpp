#include "runtime/recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/file.h"

namespace sim::runtime {

using recording::Content;
using recording::MemoryBox;

void Recorder::made(const Gpu& gpu) {
  recording_.gpu = gpu.key;
  recording_.sms = static_cast<uint32_t>(gpu.sm_count);
}

uint32_t Recorder::content(Content content) {
  const auto [found, is_new] =
      known_.try_emplace(std::move(content), static_cast<uint32_t>(recording_.contents.size()));
  if (is_new) recording_.contents.push_back(found->first);
  return found->second;
}

/// The shortest representation of these bytes.
Content Recorder::described(std::string bytes, const void* host) const {
  const auto known = generated_.find(reinterpret_cast<uintptr_t>(host));
  if (known != generated_.end() && known->second.count == bytes.size() && bytes_of(known->second) == bytes)
    return known->second;
  const bool is_even = !bytes.empty() && bytes.find_first_not_of(bytes[0]) == bytes.npos;
  if (is_even) return {Content::Kind::Repeated, bytes.substr(0, 1), bytes.size()};
  return {Content::Kind::Literal, std::move(bytes)};
}

void Recorder::loaded(const DeviceModule* module, const std::vector<std::string>& texts, const std::string& name,
                      Device::PtxValidation judged) {
  recording::LoadStep load{.texts = {}, .name = name, .whole = judged == Device::PtxValidation::Whole};
  for (const std::string& text : texts) load.texts.push_back(content({Content::Kind::Literal, text}));
  const auto number = static_cast<uint32_t>(modules_.size());
  modules_[module] = number;
  add(std::move(load));
}

void Recorder::allocated(const void* pointer, uint64_t bytes, const std::string& label, GlobalMemory::Kind kind) {
  const uint64_t address = device_address(pointer);
  add(recording::AllocateStep{bytes, address, label, static_cast<uint32_t>(kind)});
  if (kind != GlobalMemory::Kind::Device) shared_with_host(pointer, bytes);
}

void Recorder::adopted(const void* pointer, uint64_t bytes, const std::string& label) {
  add(recording::AdoptStep{device_address(pointer), bytes, label});
  wrote(pointer, bytes);
  shared_with_host(pointer, bytes);
}

void Recorder::released(const void* pointer) {
  host_changes();
  visible_.erase(device_address(pointer));
  add(recording::ReleaseStep{device_address(pointer)});
}

void Recorder::shared_with_host(const void* pointer, uint64_t bytes) {
  visible_[device_address(pointer)] = {bytes, std::string(static_cast<const char*>(pointer), bytes)};
}

void Recorder::wrote(const void* pointer, uint64_t bytes) {
  std::string now(static_cast<const char*>(pointer), bytes);
  add(recording::WriteStep{{.address = device_address(pointer), .width = bytes},
                           content(described(std::move(now), nullptr))});
}

void Recorder::host_changes() {
  constexpr uint64_t kPiece = 4096;
  for (auto& [address, visible] : visible_) {
    const uint8_t* const now = host_pointer(address);
    for (uint64_t at = 0; at < visible.bytes; at += kPiece) {
      const uint64_t bytes = std::min(kPiece, visible.bytes - at);
      if (std::memcmp(now + at, visible.known.data() + at, bytes) == 0) continue;
      wrote(now + at, bytes);
      std::memcpy(visible.known.data() + at, now + at, bytes);
    }
  }
}

void Recorder::took_effect() {
  for (auto& [address, visible] : visible_) {
    const uint8_t* const now = host_pointer(address);
    if (std::memcmp(now, visible.known.data(), visible.bytes) == 0) continue;
    std::memcpy(visible.known.data(), now, visible.bytes);
    read({.address = address, .width = visible.bytes});
  }
}

void Recorder::read(const MemoryBox& from) {
  recording::Digests digests = digests_of(from, results_);
  add(recording::ReadStep{from, std::move(digests.parts), std::move(digests.whole)});
}

void Recorder::copies(const MemoryBox& to, bool to_device, const MemoryBox& from, bool from_device) {
  host_changes();
  if (to_device && from_device) return add(recording::MoveStep{to, from});
  if (from_device) return read(from);
  if (!to_device) return;
  std::string bytes;
  bytes.reserve(from.bytes());
  from.for_rows([&](uint64_t row) { bytes.append(reinterpret_cast<const char*>(row), from.width); });
  add(recording::WriteStep{to, content(described(std::move(bytes), reinterpret_cast<const void*>(from.address)))});
}

void Recorder::fills(const MemoryBox& to, uint32_t value, uint32_t unit) {
  host_changes();
  add(recording::FillStep{to, value, unit});
}

void Recorder::launches(const DeviceModule* module, const KernelInfo& info, const LaunchConfig& config,
                        void* const* arguments) {
  host_changes();
  recording::LaunchStep launch{.module = modules_.at(module),
                               .kernel = info.name,
                               .grid = config.grid,
                               .block = config.block,
                               .cluster = config.cluster,
                               .dynamic_smem = config.dynamic_smem,
                               .stack_bytes = config.stack_bytes,
                               .max_dynamic_smem = config.max_dynamic_smem,
                               .stream = config.stream,
                               .nonportable_cluster = config.nonportable_cluster,
                               .cooperative = config.cooperative,
                               .blocking_stream = config.blocking_stream,
                               .overlaps = config.overlaps,
                               .registers = static_cast<uint64_t>(info.registers),
                               .local_bytes = info.local_bytes,
                               .arguments = {}};
  for (std::size_t i = 0; i < info.parameters.size(); ++i)
    launch.arguments.emplace_back(static_cast<const char*>(arguments[i]), info.parameters[i].size);
  add(std::move(launch));
  settled_ = false;
}

bool Recorder::settles() {
  if (std::exchange(settled_, true)) return false;
  host_changes();
  add(recording::SettleStep{});
  return true;
}

void Recorder::generated(const void* host, uint64_t bytes, uint64_t init, uint64_t seed, uint64_t operand) {
  generated_[reinterpret_cast<uintptr_t>(host)] = {Content::Kind::Generated, "", bytes, init, seed, operand};
}

void Recorder::describes(recording::ResultStep result) {
  std::erase_if(results_, [&](const recording::ResultStep& old) { return old.address == result.address; });
  results_.push_back(result);
  add(std::move(result));
}

void Recorder::finish(int exit_code) {
  add(recording::EndStep{static_cast<uint32_t>(exit_code)});
  if (!results_of_.empty()) take_results(recording_, recording::from_file(base::read_file(results_of_)));
  base::write_file(file_, to_file(recording_));
}

}  // namespace sim::runtime
