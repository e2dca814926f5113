// The engine's interface for replay.js: one function, which turns a recording into JSON.
#include <emscripten.h>

#include <charconv>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include "common/base/json.h"
#include "replay/host_memory.h"
#include "replay/replay.h"
#include "runtime/options.h"

// Calls the page's function, if the page has set one in the module.
EM_JS(void, tell_launch, (unsigned launch, unsigned launches, const char* kernel), {
  if (Module["onLaunch"]) Module["onLaunch"](launch, launches, UTF8ToString(kernel));
});

namespace {

using namespace sim;
using recording::Refused;

/// "NAME=VALUE" on each line: the variables of runtime/options.h.
std::map<std::string, std::string> read_variables(std::string_view lines) {
  std::map<std::string, std::string> variables;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::size_t equals = line.find('=');
    if (equals != line.npos) variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return variables;
}

/// "UNIT LINE TEXT" on each line.
std::vector<recording::Edit> read_edits(std::string_view lines) {
  std::vector<recording::Edit> edits;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    recording::Edit edit;
    const char* at = std::from_chars(line.data(), line.data() + line.size(), edit.unit).ptr;
    if (at < line.data() + line.size()) ++at;
    at = std::from_chars(at, line.data() + line.size(), edit.line).ptr;
    if (at < line.data() + line.size()) ++at;
    edit.text = std::string(at, line.data() + line.size());
    edits.push_back(std::move(edit));
  }
  return edits;
}

std::string error(const char* code, const std::string& sentence) {
  std::string text;
  base::JsonWriter json(text);
  json.object([&] {
    json.member("code", code);
    json.member("sentence", sentence);
  });
  return text;
}

const char* code_of(Refused::Why why) {
  switch (why) {
    case Refused::Why::Ptx: return "ptx";
    case Refused::Why::Memory: return "memory";
    case Refused::Why::Request: break;
  }
  return "request";
}

std::string answer(std::string_view file, const char* variables, const char* edits, const char* ptx) {
  try {
    const std::map<std::string, std::string> known = read_variables(variables);
    runtime::Settings settings;
    const auto lookup = [&](const char* name) {
      const auto found = known.find(name);
      return found == known.end() ? nullptr : found->second.c_str();
    };
    if (const std::string problem = read_settings(lookup, &settings); !problem.empty())
      return error("request", problem);
    recording::Request request{.options = settings.device,
                               .edits = read_edits(edits),
                               .ptx = {},
                               .progress = [](uint32_t launch, uint32_t launches, const std::string& kernel) {
                                 tell_launch(launch, launches, kernel.c_str());
                               }};
    if (ptx != nullptr) request.ptx = ptx;
    const auto take = [&](const char* name, std::optional<uint32_t>& number) {
      if (const char* const text = lookup(name)) number = static_cast<uint32_t>(std::atoi(text));
    };
    take("TILE", request.tile), take("THREADS", request.threads), take("DYNAMIC_SMEM", request.dynamic_smem);
    std::string said;
    const recording::Replayed replayed =
        recording::replay(recording::from_file(file), request, [&](const std::string& text) { said += text + "\n"; });
    std::string json = to_json(replayed);
    std::string text;
    base::JsonWriter(text).value(said);
    json.back() = ',';
    return json + "\"text\": " + text + "}";
  } catch (const recording::Damaged& damaged) {
    return error("damaged", std::string("The recording cannot be used: ") + damaged.what() + ".");
  } catch (const recording::OtherVersion& other) {
    return error("version", std::string("The recording cannot be used: ") + other.what() + ".");
  } catch (const Refused& refused) {
    return error(code_of(refused.why), refused.what());
  } catch (const std::bad_alloc&) {
    return error("memory", "There is not enough memory for this run.");
  } catch (const std::exception& other) { return error("internal", other.what()); }
}

}  // namespace

namespace sim::recording {
void* host_memory(uint64_t, uint64_t) { return nullptr; }
}  // namespace sim::recording

extern "C" {

EMSCRIPTEN_KEEPALIVE unsigned sim_recording_version() { return recording::kVersion; }

/// `variables`, `edits`: lines, as above. `ptx`: null for the recording's own. The result is valid until the next call.
EMSCRIPTEN_KEEPALIVE const char* sim_replay(const char* file, unsigned bytes, const char* variables, const char* edits,
                                            const char* ptx) {
  static std::string text;
  text = answer({file, bytes}, variables, edits, ptx);
  return text.c_str();
}

}  // extern "C"
