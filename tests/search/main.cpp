// search_cases large|small FIRST COUNT: plans COUNT drawn cases and writes a line of JSON for each.
#include "search/cases.hpp"
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  const bool small = argc == 4 && std::strcmp(argv[1], "small") == 0;
  if (argc != 4 || (!small && std::strcmp(argv[1], "large") != 0)) {
    std::fprintf(stderr, "search_cases large|small FIRST COUNT\n");
    return 2;
  }
  const std::uint64_t first = std::stoull(argv[2]), count = std::stoull(argv[3]);
  bool all_hold = true;
  for (std::uint64_t n = first; n < first + count; ++n) {
    const search_cases::Case c = search_cases::drawn(n, small);
    const search_cases::Outcome o = search_cases::outcome_of(c, 24);
    all_hold = all_hold && o.holds();
    std::cout << nlohmann::json{{"case", n},
                                {"small", small},
                                {"gpu", c.gpu},
                                {"recipe", c.recipe},
                                {"fits", o.fits},
                                {"holds", o.holds()},
                                {"same", o.same},
                                {"choice", o.choice},
                                {"seconds", o.seconds},
                                {"best_seconds", o.best_seconds},
                                {"best", o.best},
                                {"advised", o.advised},
                                {"tried", o.tried},
                                {"plan_seconds", o.plan_seconds}}
                     .dump()
              << std::endl;
  }
  return all_hold ? 0 : 1;
}
