#include "support.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "report/text.h"

namespace sim::test {
namespace {

struct Declared {
  std::string type, name;
};

std::vector<Declared> parse_declarations(const std::string& text) {
  std::vector<Declared> list;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    std::istringstream words(item);
    Declared one;
    words >> one.type >> one.name;
    list.push_back(one);
  }
  return list;
}

int words_of(const Declared& declared) { return declared.type == "b128" ? 2 : 1; }

int total_words(const std::vector<Declared>& list) {
  int total = 0;
  for (const Declared& each : list) total += words_of(each);
  return total;
}

std::string load_register(const Declared& to, int offset) {
  const std::string get = "ld.global.b64 %rd50, [%rd60+" + std::to_string(offset) + "];\n";
  if (to.type == "pred") return get + "setp.ne.u64 " + to.name + ", %rd50, 0;\n";
  if (to.type == "b128")
    return get + "ld.global.b64 %rd51, [%rd60+" + std::to_string(offset + 8) + "];\nmov.b128 " + to.name +
           ", {%rd50, %rd51};\n";
  if (to.type.ends_with("64")) return get + "mov.b64 " + to.name + ", %rd50;\n";
  if (to.type.ends_with("16")) return get + "cvt.u16.u64 %h30, %rd50;\nmov.b16 " + to.name + ", %h30;\n";
  return get + "cvt.u32.u64 %r50, %rd50;\nmov.b32 " + to.name + ", %r50;\n";
}

std::string store_register(const Declared& from, int offset) {
  const std::string put = "st.global.b64 [%rd62+" + std::to_string(offset) + "], %rd50;\n";
  if (from.type == "pred") return "selp.b64 %rd50, 1, 0, " + from.name + ";\n" + put;
  if (from.type == "b128")
    return "mov.b128 {%rd50, %rd51}, " + from.name + ";\nst.global.b64 [%rd62+" + std::to_string(offset + 8) +
           "], %rd51;\n" + put;
  if (from.type.ends_with("64")) return "mov.b64 %rd50, " + from.name + ";\n" + put;
  if (from.type.ends_with("16")) return "mov.b16 %h30, " + from.name + ";\ncvt.u64.u16 %rd50, %h30;\n" + put;
  return "mov.b32 %r50, " + from.name + ";\ncvt.u64.u32 %rd50, %r50;\n" + put;
}

std::string hex_row(const Row& row) {
  std::ostringstream text;
  for (const uint64_t value : row) text << " 0x" << std::hex << value;
  return text.str();
}

}  // namespace

std::string Source::text() const {
  return ".version 9.0\n.target " + target + "\n.address_size 64\n" + prologue + "\n.visible .entry k(" + parameters +
         ")\n" + directives +
         "\n{\n"
         ".reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<64>;\n.reg .f64 %fd<16>;\n.reg .pred "
         "%p<32>;\n.reg .b128 %q<4>;\n"
         "mov.u32 %r61, %ctaid.x;\nmov.u32 %r62, %ntid.x;\nmov.u32 %r63, %tid.x;\nmad.lo.u32 %r60, %r61, %r62, "
         "%r63;\n" +
         body + "\nret;\n}\n";
}

Bench::Bench(Options options, std::string_view gpu)
    : device_(std::make_unique<Device>(*find_gpu(gpu), std::move(options))) {}

Outcome Bench::launch_kernel(const std::string& ptx, const LaunchConfig& config, void* const* arguments) {
  Outcome outcome;
  DeviceModule* module = device_->load(ptx, "test", &outcome);
  if (module == nullptr) return outcome;
  const KernelInfo* kernel = module->kernel("k");
  if (kernel == nullptr) return {Status::InvalidDeviceFunction, "the text has no kernel k"};
  LaunchConfig allowed = config;
  allowed.max_dynamic_smem = std::max(config.max_dynamic_smem, config.dynamic_smem);
  allowed.nonportable_cluster = true;
  return device_->launch(*module, *kernel, allowed, arguments);
}

void expect_success(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
  EXPECT_EQ(outcome.report, "");
}

void expect_failure(const Outcome& outcome, Status status, std::initializer_list<std::string_view> texts) {
  EXPECT_EQ(outcome.status, status) << outcome.report;
  for (const std::string_view text : texts)
    EXPECT_NE(outcome.report.find(text), std::string::npos) << "no '" << text << "' in:\n" << outcome.report;
}

void expect_fault(const Outcome& outcome, const FaultText& fault, const std::vector<Detail>& details) {
  for (const Finding& each : outcome.findings) {
    if (each.fault != &fault) continue;
    EXPECT_EQ(outcome.status, each.is_tolerated ? Status::Success : fault.status) << outcome.report;
    for (const Detail& wanted : details) {
      const auto is_it = [&](const Detail& detail) {
        return detail.is_number == wanted.is_number && detail.number == wanted.number &&
               detail.name.find(wanted.name) != std::string::npos;
      };
      EXPECT_TRUE(std::any_of(each.details.begin(), each.details.end(), is_it))
          << "no '" << wanted.name << "', or " << wanted.number << ", in:\n"
          << outcome.report;
    }
    return;
  }
  ADD_FAILURE() << "not " << fault.name << ", but:\n" << outcome.report;
}

Waiting expect_wait(const Outcome& outcome, Wait wait) {
  EXPECT_EQ(outcome.status, Status::LaunchTimeout) << outcome.report;
  for (const Finding& finding : outcome.findings) {
    for (const CtaState& cta : finding.ctas) {
      for (const Waiting& each : cta.waits) {
        if (each.wait == wait) return each;
      }
    }
  }
  ADD_FAILURE() << "no wait for a " << report::word_of(wait) << ", but:\n" << outcome.report;
  return {};
}

std::string found_in(const Outcome& outcome) {
  std::string text;
  for (const Finding& each : outcome.findings) {
    text += (each.is_tolerated ? "habit " + each.rule : "error (" + each.rule + ")") + ": " +
            report::word_of(each.violation) + ": " + report::word_of(each.missing.what) + "\n";
  }
  return text;
}

std::vector<Options> all_schedules() {
  std::vector<Options> list(5);
  list[1].schedule = Options::Schedule::Latest;
  for (size_t i = 2; i < list.size(); ++i) list[i].schedule = Options::Schedule::Seeded, list[i].seed = i;
  return list;
}

Rows evaluate(const std::string& instructions, const std::string& inputs, const std::string& outputs, const Rows& rows,
              const std::string& prologue) {
  const std::vector<Declared> in = parse_declarations(inputs), out = parse_declarations(outputs);
  const int in_words = total_words(in), out_words = total_words(out);
  Source source;
  source.prologue = prologue;
  source.parameters = ".param .u64 in, .param .u64 out, .param .u32 count";
  std::string& body = source.body;
  std::map<std::string, std::string> declared;
  for (const auto& list : {in, out}) {
    for (const Declared& each : list) {
      if (declared.emplace(each.name, each.type).second) body += ".reg ." + each.type + " " + each.name + ";\n";
    }
  }
  body += "ld.param.u32 %r59, [count];\nsetp.ge.u32 %p31, %r60, %r59;\n@%p31 bra done;\n";
  body += "ld.param.u64 %rd60, [in];\nmul.wide.u32 %rd61, %r60, " + std::to_string(8 * in_words) +
          ";\nadd.s64 %rd60, %rd60, %rd61;\n";
  body += "ld.param.u64 %rd62, [out];\nmul.wide.u32 %rd63, %r60, " + std::to_string(8 * out_words) +
          ";\nadd.s64 %rd62, %rd62, %rd63;\n";
  int at = 0;
  for (const Declared& each : in) {
    body += load_register(each, 8 * at);
    at += words_of(each);
  }
  body += instructions + "\n";
  at = 0;
  for (const Declared& each : out) {
    body += store_register(each, 8 * at);
    at += words_of(each);
  }
  body += "done:\n";

  Bench bench;
  std::vector<uint64_t> flat;
  for (const Row& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  const auto count = static_cast<uint32_t>(rows.size());
  const uint64_t* from = bench.upload(flat);
  uint64_t* to = bench.allocate<uint64_t>(rows.size() * static_cast<size_t>(out_words));
  const Outcome outcome =
      bench.launch(source, {.grid = {(count + 255) / 256, 1, 1}, .block = {256, 1, 1}}, from, to, count);
  EXPECT_EQ(outcome.status, Status::Success) << instructions << "\n" << outcome.report;
  Rows results;
  if (outcome.status != Status::Success) return results;
  for (size_t i = 0; i < rows.size(); ++i)
    results.emplace_back(to + i * static_cast<size_t>(out_words), to + (i + 1) * static_cast<size_t>(out_words));
  return results;
}

void expect_value(const std::string& instructions, const std::string& inputs, const std::string& outputs,
                  const Rows& rows, const std::function<uint64_t(const Row&)>& model) {
  const Rows results = evaluate(instructions, inputs, outputs, rows);
  ASSERT_EQ(results.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(results[i], Row{model(rows[i])})
        << instructions << "\n  of" << hex_row(rows[i]) << "\n  is" << hex_row(results[i]);
  }
}

std::vector<uint64_t> edge_integers(int bits) {
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1, top = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> values{0,   1,       2,   3,       7,       8,       31,      32,        33,
                               63,  64,      65,  100,     127,     128,     255,     256,       top - 1,
                               top, top + 1, all, all - 1, all - 2, all / 3, all / 5, all - 127, all - 128};
  Dice dice(static_cast<uint64_t>(bits) + 12);
  for (int i = 0; i < 24; ++i) values.push_back(dice.next());
  for (uint64_t& value : values) value &= all;
  return values;
}

std::vector<uint64_t> edge_floats() {
  std::vector<uint64_t> values;
  for (const uint32_t magnitude :
       {0x0000'0000u, 0x0000'0001u, 0x0000'0002u, 0x0040'0000u, 0x007F'FFFFu, 0x0080'0000u, 0x0080'0001u, 0x0100'0000u,
        0x3380'0000u, 0x3F00'0000u, 0x3F7F'FFFFu, 0x3F80'0000u, 0x3F80'0001u, 0x3FC0'0000u, 0x4000'0000u, 0x4020'0000u,
        0x4060'0000u, 0x4B00'0000u, 0x4B7F'FFFFu, 0x4EFF'FFFFu, 0x4F00'0000u, 0x4F80'0000u, 0x5F00'0000u, 0x7F00'0000u,
        0x7F7F'FFFFu, 0x7F80'0000u, 0x7F80'0001u, 0x7FC0'0000u, 0x7FFF'FFFFu}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x8000'0000u);
  }
  Dice dice(5);
  for (int i = 0; i < 24; ++i) values.push_back(bits_of(dice.real(-20, 20)));
  for (int i = 0; i < 16; ++i) values.push_back(dice.word());
  return values;
}

Rows pairs(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  Rows rows;
  for (const uint64_t x : a) {
    for (const uint64_t y : b) rows.push_back({x, y});
  }
  return rows;
}
Rows singles(const std::vector<uint64_t>& a) {
  Rows rows;
  for (const uint64_t x : a) rows.push_back({x});
  return rows;
}

TensorMap make_map(const MapSpec& spec) {
  TensorMap map{};
  map.magic = TensorMap::kMagic;
  map.address = reinterpret_cast<uint64_t>(spec.address);
  map.data_type = static_cast<uint8_t>(spec.data_type);
  map.rank = static_cast<uint8_t>(spec.dims.size());
  uint64_t stride = static_cast<uint64_t>(spec.element_bytes);
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    map.dims_minus_1[i] = static_cast<uint32_t>(spec.dims[i] - 1);
    map.box[i] = static_cast<uint16_t>(spec.box[i]);
    map.element_strides[i] = static_cast<uint8_t>(i < spec.element_strides.size() ? spec.element_strides[i] : 1);
    if (i > 0) map.strides[i - 1] = spec.strides.empty() ? stride : spec.strides[i - 1];
    stride *= spec.dims[i];
  }
  map.swizzle = static_cast<uint8_t>(spec.swizzle);
  map.oob_fill = spec.nan_fill;
  return map;
}

}  // namespace sim::test
