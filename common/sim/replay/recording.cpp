#include "replay/recording.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "common/base/text.h"
#include "common/harness/inputs.h"
#include "machine/pages.h"

namespace sim::recording {
namespace {

constexpr std::string_view kTitle = "recording for the simulated device, version ";
constexpr uint64_t kRest = 1024;  // bytes per digest outside of described results

// FNV-1a.
constexpr uint64_t kFirst = 0xCBF2'9CE4'8422'2325, kPrime = 0x100'0000'01B3;
uint64_t digest(const void* data, std::size_t bytes, uint64_t so_far = kFirst) {
  const auto* at = static_cast<const uint8_t*>(data);
  for (std::size_t i = 0; i < bytes; ++i) so_far = (so_far ^ at[i]) * kPrime;
  return so_far;
}
uint32_t folded(uint64_t digest) { return static_cast<uint32_t>(digest ^ digest >> 32); }

// --- fields: one list for reading and writing
// -------------------------------------------------------------------------

class Out {
 public:
  std::string bytes;
  void operator()(const uint64_t& value) {  // seven bits per byte, low bits first
    uint64_t rest = value;
    for (; rest >= 0x80; rest >>= 7) bytes += static_cast<char>(rest | 0x80);
    bytes += static_cast<char>(rest);
  }
  void operator()(const uint32_t& value) { (*this)(uint64_t{value}); }
  void operator()(const bool& value) { (*this)(uint64_t{value}); }
  void operator()(const std::string& text) {
    (*this)(uint64_t{text.size()});
    bytes += text;
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(uint64_t{values.size()});
    for (const T& value : values) (*this)(value);
  }
  void operator()(const std::array<uint32_t, 3>& values) {
    for (const uint32_t value : values) (*this)(value);
  }
};

class In {
 public:
  explicit In(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  void operator()(uint64_t& value) {
    value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      if (shift > 63) fail();
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return;
    }
  }
  void operator()(uint32_t& value) {
    uint64_t wide = 0;
    (*this)(wide);
    if (wide > UINT32_MAX) fail();
    value = static_cast<uint32_t>(wide);
  }
  void operator()(bool& value) {
    uint64_t wide = 0;
    (*this)(wide);
    value = wide != 0;
  }
  void operator()(std::string& text) {
    uint64_t size = 0;
    (*this)(size);
    text = take(size);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    uint64_t size = 0;
    (*this)(size);
    if (size > rest_.size()) fail();  // each element has at least one byte
    values.resize(static_cast<std::size_t>(size));
    for (T& value : values) (*this)(value);
  }
  void operator()(std::array<uint32_t, 3>& values) {
    for (uint32_t& value : values) (*this)(value);
  }
  [[noreturn]] static void fail() { throw Damaged("its content is invalid"); }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

template <class T, class... Options>
concept one_of = (std::same_as<std::remove_const_t<T>, Options> || ...);

template <class Archive, class... Fields>
void all(Archive& archive, Fields&... fields) {
  (archive(fields), ...);
}
template <class Archive, one_of<MemoryBox> T>
void fields(Archive& a, T& x) {
  all(a, x.address, x.width, x.rows, x.slices, x.pitch, x.slice_pitch);
}
template <class Archive, one_of<Content> T>
void fields(Archive& a, T& x) {
  auto kind = static_cast<uint64_t>(x.kind);
  all(a, kind, x.bytes, x.count, x.init, x.seed, x.operand);
  if constexpr (!std::is_const_v<T>) {
    if (kind > static_cast<uint64_t>(Content::Kind::Generated)) In::fail();
    x.kind = static_cast<Content::Kind>(kind);
  }
}
template <class Archive, one_of<LoadStep> T>
void fields(Archive& a, T& x) {
  all(a, x.texts, x.name, x.whole);
}
template <class Archive, one_of<AllocateStep> T>
void fields(Archive& a, T& x) {
  all(a, x.bytes, x.address, x.label, x.kind);
}
template <class Archive, one_of<AdoptStep> T>
void fields(Archive& a, T& x) {
  all(a, x.address, x.bytes, x.label);
}
template <class Archive, one_of<ReleaseStep> T>
void fields(Archive& a, T& x) {
  all(a, x.address);
}
template <class Archive, one_of<WriteStep> T>
void fields(Archive& a, T& x) {
  fields(a, x.to);
  all(a, x.content);
}
template <class Archive, one_of<FillStep> T>
void fields(Archive& a, T& x) {
  fields(a, x.to);
  all(a, x.value, x.unit);
}
template <class Archive, one_of<MoveStep> T>
void fields(Archive& a, T& x) {
  fields(a, x.to);
  fields(a, x.from);
}
template <class Archive, one_of<ReadStep> T>
void fields(Archive& a, T& x) {
  fields(a, x.from);
  all(a, x.digests, x.whole);
}
template <class Archive, one_of<ResultStep> T>
void fields(Archive& a, T& x) {
  all(a, x.name, x.address, x.rows, x.columns, x.element, x.pitch);
}
template <class Archive, one_of<OrderStep> T>
void fields(Archive& a, T& x) {
  all(a, x.what, x.stream, x.blocking, x.host_waits, x.event, x.name, x.reads, x.writes);
}
template <class Archive, one_of<NamesStep> T>
void fields(Archive& a, T& x) {
  all(a, x.lines);
}
template <class Archive, one_of<UsefulFlops> T>
void fields(Archive& a, T& x) {
  all(a, x.flops);
}
template <class Archive, one_of<LaunchStep> T>
void fields(Archive& a, T& x) {
  all(a, x.module, x.kernel, x.grid, x.block, x.cluster, x.dynamic_smem, x.stack_bytes, x.max_dynamic_smem, x.stream,
      x.nonportable_cluster, x.cooperative, x.blocking_stream, x.overlaps, x.registers, x.local_bytes, x.arguments);
}
template <class Archive, one_of<SettleStep> T>
void fields(Archive&, T&) {}
template <class Archive, one_of<EndStep> T>
void fields(Archive& a, T& x) {
  all(a, x.exit_code);
}

template <std::size_t... Index>
Step step_of_kind(uint64_t kind, std::index_sequence<Index...>) {
  Step step;
  const bool is_known = ((kind == Index && (step.emplace<Index>(), true)) || ...);
  if (!is_known) In::fail();
  return step;
}

/// Checks that the numbers in the steps refer to existing contents, modules and events.
void check(const Recording& recording) {
  uint32_t modules = 0;
  uint64_t events = 0;
  const auto require = [](bool right) {
    if (!right) In::fail();
  };
  for (const Step& step : recording.steps) {
    if (const auto* load = std::get_if<LoadStep>(&step)) {
      ++modules;
      require(!load->texts.empty());
      for (const uint32_t text : load->texts) require(text < recording.contents.size());
    } else if (const auto* write = std::get_if<WriteStep>(&step)) {
      require(write->content < recording.contents.size());
    } else if (const auto* launch = std::get_if<LaunchStep>(&step)) {
      require(launch->module < modules);
    } else if (const auto* order = std::get_if<OrderStep>(&step)) {
      const auto what = static_cast<OrderStep::What>(order->what);
      require(what <= OrderStep::What::Forget && order->reads.size() % 2 == 0 && order->writes.size() % 2 == 0);
      require(what != OrderStep::What::Forget || order->writes.size() == 2);
      if (what == OrderStep::What::RecordEvent) ++events;
      if (what == OrderStep::What::HostWaitsFor || what == OrderStep::What::StreamWaits) require(order->event < events);
    } else if (const auto* fill = std::get_if<FillStep>(&step)) {
      require(fill->unit == 1 || fill->unit == 2 || fill->unit == 4);
    } else if (const auto* result = std::get_if<ResultStep>(&step)) {
      require(result->rows > 0 && result->columns > 0 && result->element > 0);
    } else if (const auto* allocate = std::get_if<AllocateStep>(&step)) {
      require(allocate->kind < static_cast<uint32_t>(GlobalMemory::Kind::Adopted));
    }
  }
}

}  // namespace

std::string bytes_of(const Content& content) {
  switch (content.kind) {
    case Content::Kind::Literal: return content.bytes;
    case Content::Kind::Repeated: return std::string(content.count, content.bytes.empty() ? '\0' : content.bytes[0]);
    case Content::Kind::Generated: break;
  }
  std::string bytes(content.count, '\0');
  harness::fill_input(static_cast<harness::Init>(content.init), content.seed,
                      static_cast<harness::Operand>(content.operand),
                      std::span(reinterpret_cast<harness::Bf16*>(bytes.data()), bytes.size() / sizeof(harness::Bf16)));
  return bytes;
}

uint32_t ResultStep::tile() const {
  constexpr uint32_t kLeast = 16, kMost = 64;  // least edge of a tile; most tiles in a row
  uint32_t edge = kLeast;
  while (uint64_t{edge} * kMost < std::max(rows, columns)) edge *= 2;
  return edge;
}

uint32_t Recording::launches() const {
  return static_cast<uint32_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& step) { return std::holds_alternative<LaunchStep>(step); }));
}

void take_results(Recording& recording, const Recording& right) {
  auto other = right.steps.begin();
  for (Step& step : recording.steps) {
    auto* const read = std::get_if<ReadStep>(&step);
    if (read == nullptr) continue;
    other =
        std::find_if(other, right.steps.end(), [](const Step& each) { return std::holds_alternative<ReadStep>(each); });
    if (other == right.steps.end()) return;
    const ReadStep& there = std::get<ReadStep>(*other++);
    if (there.digests.size() == read->digests.size()) read->digests = there.digests, read->whole = there.whole;
  }
}

std::string to_file(const Recording& recording) {
  Out out;
  out(recording.gpu);
  out(recording.sms);
  out(uint64_t{recording.contents.size()});
  for (const Content& content : recording.contents) fields(out, content);
  out(uint64_t{recording.steps.size()});
  for (const Step& step : recording.steps) {
    out(uint64_t{step.index()});
    std::visit([&](const auto& each) { fields(out, each); }, step);
  }
  const uint64_t sum = digest(out.bytes.data(), out.bytes.size());
  return std::string(kTitle) + std::to_string(kVersion) + "\n" +
         base::format("%016llx", static_cast<unsigned long long>(sum)) + "\n" + out.bytes;
}

Recording from_file(std::string_view file) {
  constexpr std::size_t kSum = 17;  // digits and the line's end
  const std::size_t end = file.find('\n');
  if (!file.starts_with(kTitle) || end == file.npos) {
    if (file.starts_with("\x1f\x8b")) throw Damaged("it is compressed; decompress it first (gunzip)");
    throw Damaged("it is not a recording made by sim.sh --record");
  }
  const std::string version(file.substr(kTitle.size(), end - kTitle.size()));
  if (version != std::to_string(kVersion))
    throw OtherVersion("it has version " + version + ", and this simulated device reads version " +
                       std::to_string(kVersion) + ": record the program again");
  file.remove_prefix(end + 1);
  if (file.size() < kSum) throw Damaged("it is incomplete");
  const std::string_view sum = file.substr(0, kSum - 1);
  file.remove_prefix(kSum);
  if (sum != base::format("%016llx", static_cast<unsigned long long>(digest(file.data(), file.size()))))
    throw Damaged("it is incomplete or has been changed: its checksum differs");

  Recording recording;
  In in(file);
  uint64_t count = 0;
  in(recording.gpu);
  in(recording.sms);
  for (in(count); count > 0; --count) fields(in, recording.contents.emplace_back());
  for (in(count); count > 0; --count) {
    uint64_t kind = 0;
    in(kind);
    recording.steps.push_back(step_of_kind(kind, std::make_index_sequence<std::variant_size_v<Step>>()));
    std::visit([&](auto& each) { fields(in, each); }, recording.steps.back());
  }
  if (!in.at_end()) In::fail();
  check(recording);
  return recording;
}

Digests digests_of(const MemoryBox& box, const std::vector<ResultStep>& described) {
  std::string bytes;
  bytes.reserve(box.bytes());
  box.for_rows([&](uint64_t row) { bytes.append(reinterpret_cast<const char*>(host_pointer(row)), box.width); });
  Digests found;
  const bool is_linear = box.rows == 1 && box.slices == 1;
  for (const ResultStep& result : described) {
    const uint64_t width = uint64_t{result.columns} * result.element;
    const uint64_t last = result.address + (result.rows - 1) * result.pitch + width;
    if (!is_linear || result.address < box.address || last > box.address + box.width) continue;
    found.results.push_back(&result);
    char* const first = bytes.data() + (result.address - box.address);
    const uint32_t tile = result.tile();
    uint64_t whole = kFirst;
    for (uint32_t row = 0; row < result.rows; ++row) whole = digest(first + row * result.pitch, width, whole);
    found.whole.push_back(whole);
    for (uint32_t row = 0; row < result.rows; row += tile) {
      for (uint32_t column = 0; column < result.columns; column += tile) {
        const uint64_t count = uint64_t{std::min(tile, result.columns - column)} * result.element;
        uint64_t part = kFirst;
        for (uint32_t r = row; r < std::min(row + tile, result.rows); ++r)
          part = digest(first + r * result.pitch + uint64_t{column} * result.element, count, part);
        found.parts.push_back(folded(part));
      }
    }
    for (uint32_t row = 0; row < result.rows; ++row) std::memset(first + row * result.pitch, 0, width);
  }
  for (uint64_t at = 0; at < bytes.size(); at += kRest)
    found.parts.push_back(folded(digest(bytes.data() + at, std::min<uint64_t>(kRest, bytes.size() - at))));
  return found;
}

}  // namespace sim::recording
