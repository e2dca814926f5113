// sim_judge's first mode alone, out of the parser and the rules: small enough to be compiled with sanitizers in every
// run of the tests. `judge`: reads PTX texts, each ended by a NUL, and says of each in a line whether it is right.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "common/tests/sim/judged.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) != "judge") {
    std::fprintf(stderr, "usage: sim_judge judge < texts\n");
    return 2;
  }
  const std::string all{std::istreambuf_iterator<char>(std::cin), {}};
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    std::puts(sim::test::judged(all.substr(begin, end - begin)).c_str());
    begin = end + 1;
  }
}
