// What single instructions give, bit for bit: runs each form of a list with values from a seed, and compares a digest
// of the results with the one that stands in the list, which is what a GPU gave.
//
//   instructions h200_instructions.txt            compares; exit code 1 if some differ
//   instructions h200_instructions.txt --record   prints the list with the digests of this GPU, or simulated one
//   instructions FILE --values                    prints the results themselves, for a list of a few forms
//
// A line of the list: three digests, a tab, OUTPUTS = INPUTS : INSTRUCTIONS. Inputs and outputs are a kind of value and
// a register's name. A form of wgmma has operands in shared memory, too: `descriptors A B; shared KIND KIND;`. The
// descriptors are relative to 40 KiB, of which A has the first 8.
#include <cuda.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    const CUresult status = (call);                                                           \
    if (status != CUDA_SUCCESS) {                                                             \
      const char* name = "?";                                                                 \
      cuGetErrorName(status, &name);                                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name), std::exit(2); \
    }                                                                                         \
  } while (0)

namespace {

constexpr size_t kTileWords = 40 * 1024 / 4, kTileWordsOfA = 8 * 1024 / 4;

struct Value {
  std::string kind, name;
  int bits() const {
    for (const char* each : {"long", "double", "b64"}) {
      if (kind == each) return 64;
    }
    for (const char* each : {"short", "half", "brain", "fp8x2", "b16"}) {
      if (kind == each) return 16;
    }
    return kind == "pred" ? 1 : 32;
  }
  std::string register_type() const { return bits() == 1 ? "pred" : "b" + std::to_string(bits()); }
};

struct Form {
  std::array<uint64_t, 3> digests{};  ///< by round
  std::string text, body;
  std::string a_kind, b_kind;  ///< of wgmma
  unsigned long long a = 0, b = 0;
  std::vector<Value> inputs, outputs;

  bool has_tiles() const { return !a_kind.empty(); }
  bool has_fragments() const { return inputs.size() > 5; }
  unsigned block() const { return has_tiles() ? 128 : 32; }
  unsigned grid() const { return has_tiles() ? 2 : has_fragments() ? 6 : 24; }
};

std::vector<Value> values_of(const std::string& text) {
  std::vector<Value> list;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::stringstream words(part);
    Value value;
    words >> value.kind >> value.name;
    list.push_back(value);
  }
  return list;
}

Form parse(const std::string& line) {
  Form form;
  std::stringstream digests(line);
  for (uint64_t& digest : form.digests) digests >> std::hex >> digest;
  form.text = line.substr(line.find('\t') + 1);
  const size_t equals = form.text.find(" = "), colon = form.text.find(" : ");
  form.outputs = values_of(form.text.substr(0, equals));
  form.inputs = values_of(form.text.substr(equals + 3, colon - equals - 3));
  form.body = form.text.substr(colon + 3);
  char a[32], b[32];
  int end = 0;
  if (std::sscanf(form.body.c_str(), "descriptors %llu %llu; shared %31s %31[^;];%n", &form.a, &form.b, a, b, &end) ==
      4)
    form.a_kind = a, form.b_kind = b, form.body.erase(0, static_cast<size_t>(end));
  return form;
}

/// A thread reads its inputs, 64 bits for each, executes the instructions, and writes its outputs.
std::string kernel(const Form& form, size_t number) {
  std::stringstream text;
  text << ".visible .entry k" << number
       << "(.param .u64 in, .param .u64 out, .param .u64 tiles, .param .u64 a_descriptor, "
       << ".param .u64 b_descriptor)\n{\n.reg .b64 %in, %out, %from, %da, %db, %wide; .reg .pred %p0;\n"
       << ".reg .b32 %tmp, %thread, %index, %size, %block, %w0, %w1, %w2, %w3;\n";
  for (const auto* list : {&form.inputs, &form.outputs}) {
    for (const Value& each : *list) text << ".reg ." << each.register_type() << " " << each.name << ";\n";
  }
  text << "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %from, [tiles];\n"
       << "ld.param.u64 %da, [a_descriptor]; ld.param.u64 %db, [b_descriptor];\n"
       << "mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %size, %ntid.x;\n"
       << "mad.lo.u32 %index, %block, %size, %thread; mad.wide.u32 %in, %index, " << 8 * form.inputs.size()
       << ", %in; mad.wide.u32 %out, %index, " << 8 * form.outputs.size() << ", %out;\n";
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    const Value& each = form.inputs[i];
    text << "ld.global.u64 %wide, [%in+" << 8 * i << "]; ";
    each.bits() == 64  ? text << "mov.b64 " << each.name << ", %wide;\n"
    : each.bits() == 1 ? text << "setp.ne.u64 " << each.name << ", %wide, 0;\n"
                       : text << "cvt.u" << each.bits() << ".u64 " << each.name << ", %wide;\n";
  }
  if (form.has_tiles()) {  // 40 KiB for each block: 20 x 16 bytes for each of 128 threads
    text << ".shared .align 1024 .b8 box[" << 4 * kTileWords << "];\nmov.u32 %tmp, box; shl.b32 %index, %thread, 4;\n"
         << "add.u32 %tmp, %tmp, %index; mad.lo.u32 %index, %block, " << 4 * kTileWords << ", %index;\n"
         << "cvt.u64.u32 %wide, %index; add.u64 %from, %from, %wide; mov.u32 %index, 0;\n"
         << "again: ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%from]; st.shared.v4.b32 [%tmp], {%w0, %w1, %w2, %w3};\n"
         << "add.u64 %from, %from, 2048; add.u32 %tmp, %tmp, 2048; add.u32 %index, %index, 1;\n"
         << "setp.lt.u32 %p0, %index, 20; @%p0 bra again;\n"
         << "mov.u32 %tmp, box; shr.u32 %tmp, %tmp, 4; cvt.u64.u32 %wide, %tmp;\n"
         << "add.u64 %da, %da, %wide; add.u64 %db, %db, %wide; fence.proxy.async; bar.sync 0;\n";
  }
  text << "{ " << form.body << " }\n";
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    const Value& each = form.outputs[i];
    each.bits() == 64  ? text << "mov.b64 %wide, " << each.name << ";"
    : each.bits() == 1 ? text << "selp.b64 %wide, 1, 0, " << each.name << ";"
                       : text << "cvt.u64.u" << each.bits() << " %wide, " << each.name << ";";
    text << " st.global.u64 [%out+" << 8 * i << "], %wide;\n";
  }
  text << "ret;\n}\n";
  return text.str();
}

// ---- values. Three rounds: small numbers of few bits, whose sums are exact; around one; anything.

enum Round { kSmall, kOrdinary, kAnything, kRounds };

class Generator {
 public:
  Generator(uint64_t seed, Round round) : state_(seed + round), round_(round) {}

  /// For fragments of matrices there are less edges, since few of them make all sums alike.
  uint64_t value(const std::string& kind, bool for_fragments) {
    for_fragments_ = for_fragments;
    if (kind == "int") return for_fragments_ ? next() & 0xFFFF'FFFF : integer(32);
    if (kind == "long") return integer(64);
    if (kind == "short") return integer(16);
    if (kind == "float") return packed(1, 8, 23);
    if (kind == "double") return packed(1, 11, 52);
    if (kind == "half") return packed(1, 5, 10);
    if (kind == "brain") return packed(1, 8, 7);
    if (kind == "half2") return packed(2, 5, 10);
    if (kind == "brain2") return packed(2, 8, 7);
    if (kind == "e4m3x4") return packed(4, 4, 3);
    if (kind == "e5m2x4") return packed(4, 5, 2);
    if (kind == "fp8x2") return next() & 0xFFFF;
    if (kind == "pred") return next() >> 63;
    if (kind == "lane") return next() % 40;
    if (kind == "few") return next() % 3;
    // Sparsity metadata: ordered, as some instructions allow them, and of one element of two.
    if (kind == "anypairs" && round_ == kOrdinary)
      return nibbles({0x4, 0x8, 0x9, 0xC, 0xD, 0xE, 0x1, 0x2, 0x6, 0x3, 0x7, 0xB});
    if (kind == "pairs" || kind == "anypairs") return nibbles({0x4, 0x8, 0x9, 0xC, 0xD, 0xE});
    if (kind == "single") return nibbles({0x4, 0xE});
    std::fprintf(stderr, "there is no kind of value '%s'\n", kind.c_str());
    std::exit(2);
  }

 private:
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15);
    z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9, z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
    return z ^ z >> 31;
  }

  uint64_t integer(int bits) {
    static const uint64_t edges[] = {0,
                                     1,
                                     ~uint64_t{0},
                                     0x7FFF'FFFF'FFFF'FFFF,
                                     0x8000'0000'0000'0000,
                                     0x7FFF'FFFF,
                                     0x8000'0000,
                                     0x7FFF,
                                     0x8000,
                                     0x80,
                                     0x7F,
                                     0xFFFF'FFFF,
                                     31,
                                     32,
                                     33,
                                     64,
                                     0x8000'8000,
                                     0x7FFF7FFF,
                                     0x8080'8080,
                                     0x7F7F'7F7F,
                                     0xFF,
                                     0xFFFF};
    const uint64_t random = next(), mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (round_ == kSmall) return ((random >> 32) % 41 - (random & 1 ? 8 : 0)) & mask;
    if (round_ == kOrdinary && (random & 3) != 0) return edges[(random >> 8) % (sizeof edges / 8)] & mask;
    return next() & mask;
  }

  /// A floating-point pattern of `e` exponent and `m` fraction bits.
  uint64_t real(int e, int m) {
    const uint64_t random = next(), fraction_mask = (uint64_t{1} << m) - 1, bias = (uint64_t{1} << (e - 1)) - 1;
    const uint64_t sign = (random >> 63) << (e + m), fraction = next() & fraction_mask, dice = random >> 8 & 0xFF;
    if (round_ == kSmall) {
      if (dice < 40) return 0;
      return sign | (bias + (random & 3) % 3) << m | (fraction & uint64_t{1} << (m - 1));
    }
    if (round_ ==
        kAnything) {  // random bits, zeros, subnormal numbers, and, but for fragments, infinities, NaNs, the largest
      const bool often = !for_fragments_;
      if (dice < (often ? 64 : 4)) return (next() & ((uint64_t{1} << (e + m)) - 1)) | sign;
      if (dice < (often ? 84 : 20)) return sign;
      if (dice < (often ? 104 : 36)) return sign | fraction;
      if (often && dice < 116) return sign | ((uint64_t{1} << e) - 1) << m | (dice < 110 ? 0 : fraction);
      if (often && dice < 124) return sign | ((uint64_t{1} << e) - 2) << m | fraction_mask;
    }
    const uint64_t span = round_ == kAnything ? bias * 5 / 8 : bias < 12 ? bias : 12;
    return sign | (bias - span + (random >> 20) % (2 * span + 1)) << m | fraction;
  }
  uint64_t packed(int count, int e, int m) {
    uint64_t all = 0;
    for (int i = 0; i < count; ++i) all |= real(e, m) << (i * (1 + e + m));
    return all;
  }
  uint64_t nibbles(std::initializer_list<uint64_t> choice) {
    uint64_t all = 0;
    for (int i = 0; i < 8; ++i) all |= choice.begin()[next() % choice.size()] << (4 * i);
    return all;
  }

  uint64_t state_;
  Round round_;
  bool for_fragments_ = false;
};

uint64_t digest_of(const uint64_t* values, size_t count) {
  uint64_t digest = 0xCBF2'9CE4'8422'2325;
  for (size_t i = 0; i < count; ++i) digest = (digest ^ values[i]) * 0x100'0000'01B3, digest ^= digest >> 29;
  return digest;
}

// ---- running

class Runner {
 public:
  explicit Runner(const std::vector<Form>& forms) {
    std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n";
    for (size_t i = 0; i < forms.size(); ++i) text += kernel(forms[i], i);
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module_, text.c_str()));
    CHECK(cuMemAlloc(&in_, kMost));
    CHECK(cuMemAlloc(&out_, kMost));
    CHECK(cuMemAlloc(&tiles_, 2 * 4 * kTileWords));
  }

  /// The outputs of all threads, one after the other.
  std::vector<uint64_t> run(const Form& form, size_t number, Round round) {
    std::vector<uint64_t> words(form.text.size() / sizeof(uint64_t));
    std::memcpy(words.data(), form.text.data(), words.size() * sizeof(uint64_t));
    Generator generator(digest_of(words.data(), words.size()), round);
    const size_t threads = form.block() * form.grid();
    std::vector<uint64_t> in, out(threads * form.outputs.size());
    for (size_t thread = 0; thread < threads; ++thread) {
      for (const Value& each : form.inputs) in.push_back(generator.value(each.kind, form.has_fragments()));
    }
    if (form.has_tiles()) {
      std::vector<uint32_t> tiles;
      for (size_t i = 0; i < 2 * kTileWords; ++i)
        tiles.push_back(
            static_cast<uint32_t>(generator.value(i % kTileWords < kTileWordsOfA ? form.a_kind : form.b_kind, true)));
      CHECK(cuMemcpyHtoD(tiles_, tiles.data(), 4 * tiles.size()));
    }
    CHECK(cuMemcpyHtoD(in_, in.data(), 8 * in.size()));
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module_, ("k" + std::to_string(number)).c_str()));
    uint64_t a = form.a, b = form.b;
    void* arguments[] = {&in_, &out_, &tiles_, &a, &b};
    CHECK(cuLaunchKernel(function, form.grid(), 1, 1, form.block(), 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(cuMemcpyDtoH(out.data(), out_, 8 * out.size()));
    return out;
  }

 private:
  static constexpr size_t kMost = size_t{1} << 22;
  CUmodule module_ = nullptr;
  CUdeviceptr in_ = 0, out_ = 0, tiles_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[2] : "";
  std::ifstream in(argc > 1 ? argv[1] : "");
  if (!in || argc > 3 || (!mode.empty() && mode != "--record" && mode != "--values")) {
    std::fprintf(stderr, "usage: instructions FORMS [--record|--values]\n");
    return 2;
  }
  std::vector<Form> forms;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#')
      forms.push_back(parse(line));
    else if (mode == "--record")
      std::puts(line.c_str());
  }
  Runner runner(forms);
  size_t wrong = 0;
  for (size_t i = 0; i < forms.size(); ++i) {
    const Form& form = forms[i];
    std::array<uint64_t, 3> digests;
    for (const Round round : {kSmall, kOrdinary, kAnything}) {
      const std::vector<uint64_t> results = runner.run(form, i, round);
      digests[round] = digest_of(results.data(), results.size());
      for (size_t r = 0; r < results.size() && mode == "--values"; ++r)
        std::printf("%zu %d %zu %llx\n", i, round, r, static_cast<unsigned long long>(results[r]));
    }
    if (mode == "--record") {
      for (const uint64_t digest : digests) std::printf("%016llx ", static_cast<unsigned long long>(digest));
      std::printf("\t%s\n", form.text.c_str());
    }
    if (!mode.empty() || digests == form.digests) continue;
    ++wrong;
    std::printf("differs: %s\n", form.text.c_str());
  }
  if (mode.empty())
    std::printf("%zu of %zu forms give what the GPU of the record gave\n", forms.size() - wrong, forms.size());
  return wrong == 0 ? 0 : 1;
}
