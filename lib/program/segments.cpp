#include "program/segments.hpp"
#include <algorithm>

namespace trainx::program {

Segments::Segments(const StepProgram& p, const Placement& at) : runs_(p.buffers.size()) {
  std::array<Bytes, space_count> origin{};
  for (std::size_t s = 1; s < origin.size(); ++s) origin[s] = origin[s - 1] + at.peak[s - 1];
  std::vector<char> has_data(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) has_data[b] = p.buffers[b].resident;
  for (const auto* list : {&p.once, &p.steady})
    for (const Instruction& i : *list)
      for (const Use& u : i.uses) has_data[static_cast<std::size_t>(u.buffer)] = true;
  // addresses, those of the spaces one after the other
  const auto addresses_of = [&](std::size_t b) {
    const Bytes begin = origin[static_cast<std::size_t>(p.buffers[b].space)] + at.base[b];
    return Range{begin, begin + p.buffers[b].bytes()};
  };
  std::vector<Bytes> cuts;
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (const Range r = addresses_of(b); has_data[b])
      cuts.push_back(r.begin), cuts.push_back(r.end);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  count_ = static_cast<int>(cuts.size());
  const auto index = [&](Bytes a) {
    return static_cast<int>(std::lower_bound(cuts.begin(), cuts.end(), a) - cuts.begin());
  };
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (const Range r = addresses_of(b); has_data[b]) runs_[b] = {index(r.begin), index(r.end)};
}

}  // namespace trainx::program
