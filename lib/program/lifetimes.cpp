#include "program/memory.hpp"
#include <algorithm>
#include <numeric>

namespace trainx::program {
namespace {

/// What an instruction does to a buffer.
struct Event {
  int position;
  bool reads;
};

/// The positions of one list within once + steady, and the events there.
struct Part {
  int first, last;
  const Event* begin;
  const Event* end;
};

/// Adds the intervals of a list at whose end the buffer is alive or not; returns whether it is
/// alive where the list begins.
bool walk(const Part& part, bool alive, std::vector<Interval>* out) {
  // last position of the interval being extended downwards, while alive
  int until = part.last;
  for (const Event* e = part.end; e != part.begin;) {
    --e;
    if (!alive) until = e->position;
    if (!e->reads && out) out->push_back({e->position, until});
    alive = e->reads;
  }
  if (alive && out && part.first <= part.last) out->push_back({part.first, until});
  return alive;
}

void merge(std::vector<Interval>& v) {
  std::sort(v.begin(), v.end(),
            [](const Interval& a, const Interval& b) { return a.first < b.first; });
  std::size_t n = 0;
  for (const Interval& i : v) {
    if (n && i.first <= v[n - 1].last + 1)
      v[n - 1].last = std::max(v[n - 1].last, i.last);
    else
      v[n++] = i;
  }
  v.resize(n);
}

/// What instructions do to buffers that do not live throughout, by buffer and position.
class Touches {
 public:
  explicit Touches(const StepProgram& p) : ends_(p.buffers.size()) {
    const auto each = [&p](const auto& visit) {
      int position = 0;
      for (const auto* list : {&p.once, &p.steady})
        for (const Instruction& i : *list) {
          for (const Use& u : i.uses)
            if (!p.buffers[u.buffer].resident) visit(position, u);
          ++position;
        }
    };
    std::size_t all = 0;
    each([&](int, const Use& u) { ++ends_[u.buffer], ++all; });
    std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), std::size_t{0});
    touches_.resize(all);
    each([&](int position, const Use& u) {
      touches_[ends_[u.buffer]++] = {position, reads(u.how)};
    });
  }
  std::span<const Event> operator[](std::size_t b) const {
    const std::size_t begin = b == 0 ? 0 : ends_[b - 1];
    return std::span(touches_).subspan(begin, ends_[b] - begin);
  }

 private:
  std::vector<Event> touches_;
  std::vector<std::size_t> ends_;
};

}  // namespace

Lifetimes lifetimes(const StepProgram& p) {
  const int first_steady = static_cast<int>(p.once.size()),
            end = first_steady + static_cast<int>(p.steady.size());
  const Touches touches(p);
  Lifetimes out;
  std::vector<Event> events;
  std::vector<Interval> of_buffer;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    of_buffer.clear();
    if (p.buffers[b].resident || p.buffers[b].read_by_peers) {  // alive throughout
      if (end > 0) of_buffer.push_back({0, end - 1});
      out.add(of_buffer);
      continue;
    }
    events.clear();
    for (const Event& t : touches[b])
      if (!events.empty() && events.back().position == t.position)
        events.back().reads |= t.reads;
      else
        events.push_back(t);
    const Event* const first = events.data();
    const Event* const stop = first + events.size();
    const Event* const middle = std::lower_bound(
        first, stop, first_steady, [](const Event& e, int at) { return e.position < at; });
    const Part once{0, first_steady - 1, first, middle},
        steady{first_steady, end - 1, middle, stop};
    // The end of steady leads to its beginning.
    const bool after_steady = walk(steady, false, nullptr);
    const bool in_steady = walk(steady, after_steady, &of_buffer);
    walk(once, in_steady, &of_buffer);
    merge(of_buffer);
    out.add(of_buffer);
  }
  return out;
}

Bytes PeakUse::of_scalars() const {
  Bytes sum = 0;
  for (int r = 0; r < role_count; ++r)
    if (is_scalar(static_cast<Role>(r))) sum += by_role[static_cast<std::size_t>(r)];
  return sum;
}

PeakUse peak_use(const StepProgram& p, Space space) {
  const std::size_t n = p.once.size() + p.steady.size();
  std::vector<Bytes> change(n + 1);
  const auto lives = lifetimes(p);
  for (std::size_t b = 0; b < lives.size(); ++b)
    if (p.buffers[b].space == space)
      for (const Interval& i : lives[b]) {
        change[i.first] += p.buffers[b].bytes();
        change[static_cast<std::size_t>(i.last) + 1] -= p.buffers[b].bytes();
      }
  PeakUse peak;
  Bytes sum = 0, largest = -1;
  for (std::size_t k = 0; k < n; ++k)
    if ((sum += change[k]) > largest) {
      largest = sum;
      peak.position = static_cast<int>(k);
    }
  for (std::size_t b = 0; b < lives.size(); ++b)
    if (p.buffers[b].space == space)
      for (const Interval& i : lives[b])
        if (i.first <= peak.position && peak.position <= i.last)
          peak.by_role[static_cast<std::size_t>(p.buffers[b].role)] += p.buffers[b].bytes();
  return peak;
}

}  // namespace trainx::program
