// How a simulated program ends. A program that would exit with 0 although a kernel failed exits with 86 instead, so
// that no test passes by accident. This file belongs to the shared library only: it runs in every process that loads
// it.
#include <cstdlib>
#include <iostream>

#include "runtime/process.h"

namespace sim::runtime {
namespace {

bool exit_is_known = false, library_is_finalised = false;
int exit_code = 0;

/// Ending the process needs the exit code that the program passed to exit or returned from main. It must come after the
/// destructors of the program and of every library that uses this one, whose order depends on when this one was loaded.
void conclude() {
  if (!exit_is_known || !library_is_finalised || !Process::exists()) return;
  Process& process = Process::get();
  process.finish(exit_code);
  if (const std::string nothing = process.nothing_checked(); !nothing.empty()) say(nothing);
  const int code = process.exit_code(exit_code);
  if (code == exit_code) return;
  say(process.verdict() + ", so the program's exit code " + std::to_string(exit_code) + " becomes " +
      std::to_string(code) + ".");
  std::cout.flush();
  std::clog.flush();
  stop(code);
}

__attribute__((constructor)) void watch_exit() {
  on_exit(
      [](int code, void*) {
        exit_is_known = true;
        exit_code = code;
        conclude();
      },
      nullptr);
}

__attribute__((destructor)) void finalise() {
  library_is_finalised = true;
  conclude();
}

}  // namespace
}  // namespace sim::runtime
