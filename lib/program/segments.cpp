#include "program/segments.hpp"
#include <algorithm>

namespace trainx::program {

Segments::Segments(const StepProgram& p, const Placement& at) {
  std::array<Bytes, space_count> origin{};
  for (std::size_t s = 1; s < origin.size(); ++s) origin[s] = origin[s - 1] + at.peak[s - 1];
  auto address = [&](BufferId b, Bytes offset) {
    return origin[static_cast<int>(p.buffers[b].space)] + at.base[b] + offset;
  };
  std::vector<Range> addresses;
  int list_number = 0;
  for (const auto* list : {&p.prologue, &p.steady, &p.drain}) {
    for (const Instruction& i : *list) {
      first_use_[list_number].push_back(static_cast<int>(addresses.size()));
      for (const Use& u : i.uses)
        addresses.push_back({address(u.buffer, u.range.begin), address(u.buffer, u.range.end)});
    }
    ++list_number;
  }
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].resident)
      addresses.push_back({address(static_cast<BufferId>(b), 0),
                           address(static_cast<BufferId>(b), p.buffers[b].bytes())});
  for (const Range& r : addresses) cuts_.push_back(r.begin), cuts_.push_back(r.end);
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  auto index = [&](Bytes a) {
    return static_cast<int>(std::lower_bound(cuts_.begin(), cuts_.end(), a) - cuts_.begin());
  };
  for (const Range& r : addresses) runs_.push_back({index(r.begin), index(r.end)});
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const Bytes end = address(static_cast<BufferId>(b), p.buffers[b].bytes());
    const int first = index(address(static_cast<BufferId>(b), 0));
    int last = static_cast<int>(std::upper_bound(cuts_.begin(), cuts_.end(), end) - cuts_.begin()) -
               1;
    buffers_.push_back({first, std::max(first, last)});
  }
}

}  // namespace trainx::program
