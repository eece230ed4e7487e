// search_cases KIND FIRST COUNT: plans COUNT drawn cases and writes a line of JSON for each.
#include "search/cases.hpp"
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  const auto kind = argc == 4 ? search_cases::kind_named(argv[1]) : std::nullopt;
  if (!kind) {
    std::fprintf(stderr, "search_cases small|large|small_degrees|large_degrees FIRST COUNT\n");
    return 2;
  }
  const std::uint64_t first = std::stoull(argv[2]), count = std::stoull(argv[3]);
  bool all_hold = true;
  for (std::uint64_t n = first; n < first + count; ++n) {
    const search_cases::Case c = search_cases::drawn(n, *kind);
    const search_cases::Outcome o = search_cases::outcome_of(c, 24);
    all_hold = all_hold && o.holds();
    std::cout << nlohmann::json{{"case", n},
                                {"kind", argv[1]},
                                {"gpu", c.gpu},
                                {"recipe", c.recipe},
                                {"fits", o.fits},
                                {"holds", o.holds()},
                                {"same", o.same},
                                {"choice", o.choice},
                                {"seconds", o.seconds},
                                {"best_seconds", o.best_seconds},
                                {"best", o.best},
                                {"simplest", o.simplest},
                                {"crosses", o.crosses},
                                {"advised", o.advised},
                                {"tried", o.tried},
                                {"plan_seconds", o.plan_seconds}}
                     .dump()
              << std::endl;
  }
  return all_hold ? 0 : 1;
}
