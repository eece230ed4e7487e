#include "program/memory.hpp"
#include "core/error.hpp"
#include "program/round_up.hpp"
#include "program/taken_ranges.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

/// Lifetimes, longer where a lane other than compute touched the bytes; on the host updates count
/// as compute instructions do, since they take turns with the copies there.
Lifetimes occupied(const StepProgram& p, int overlap) {
  std::vector<std::pair<BufferId, Interval>> longer;
  int first = 0;
  for (const auto* list : {&p.once, &p.steady}) {
    const int n = static_cast<int>(list->size());
    for (int k = 0; k < n && overlap > 0; ++k) {
      const Instruction& i = (*list)[k];
      if (i.lane == Lane::compute) continue;
      int until = k, until_on_host = none;
      for (int left = overlap, left_on_host = overlap; left > 0 && until + 1 < n;) {
        const Lane lane = (*list)[++until].lane;
        left -= lane == Lane::compute;
        left_on_host -= lane == Lane::compute || lane == Lane::host;
        if (left_on_host == 0 && until_on_host == none) until_on_host = until;
      }
      if (until_on_host == none) until_on_host = until;
      for (const Use& u : i.uses)
        longer.push_back(
            {u.buffer,
             {first + k,
              first + (p.buffers[u.buffer].space == Space::host ? until_on_host : until)}});
    }
    first += n;
  }
  const Lifetimes lives = lifetimes(p);
  if (longer.empty()) return lives;
  std::ranges::stable_sort(longer, {}, &std::pair<BufferId, Interval>::first);
  Lifetimes out;
  std::vector<Interval> of_buffer;
  auto next = longer.begin();
  for (std::size_t b = 0; b < lives.size(); ++b) {
    of_buffer.assign(lives[b].begin(), lives[b].end());
    for (; next != longer.end() && next->first == static_cast<BufferId>(b); ++next)
      of_buffer.push_back(next->second);
    out.add(of_buffer);
  }
  return out;
}

/// Direct transfers move whole blocks of the disk, to and from memory that begins on one.
constexpr Bytes disk_block = 4096;

/// Of buffers in each space.
std::array<Bytes, space_count> alignments(const StepProgram& p, Bytes alignment) {
  std::array<Bytes, space_count> out{};
  out.fill(alignment);
  if (std::ranges::any_of(p.buffers, [](const Buffer& b) { return b.space == Space::disk; }))
    for (const Space space : {Space::host, Space::disk})
      out[static_cast<std::size_t>(space)] = std::max(alignment, disk_block);
  return out;
}

}  // namespace

Placement unplaced(const StepProgram& p) {
  Placement at;
  for (const Buffer& b : p.buffers) {
    Bytes& peak = at.peak[static_cast<int>(b.space)];
    const Bytes base = round_up(peak, PlacementOptions{}.alignment);
    at.base.push_back(base);
    peak = base + b.bytes();
  }
  return at;
}

Placement plan_memory(const StepProgram& p, const PlacementOptions& options) {
  const std::size_t n = p.buffers.size();
  if (options.fixed.size() > n) throw InternalError("plan_memory: more fixed offsets than buffers");
  Placement at;
  at.base.assign(n, 0);
  std::array<Bytes, space_count> bottom{};  // what lives for the whole run lies below all else
  std::vector<char> placed(n);
  const auto alignment = alignments(p, options.alignment);
  auto place = [&](std::size_t b, Bytes base) {
    const auto space = static_cast<std::size_t>(p.buffers[b].space);
    at.base[b] = base;
    at.peak[space] = std::max(at.peak[space], base + p.buffers[b].bytes());
    placed[b] = true;
  };
  for (std::size_t b = 0; b < options.fixed.size(); ++b) place(b, options.fixed[b]);
  for (std::size_t b = 0; b < n; ++b) {
    if (!p.buffers[b].resident) continue;
    const auto space = static_cast<std::size_t>(p.buffers[b].space);
    Bytes& end = bottom[space];
    const bool in_pages = !options.in_own_pages.empty() && options.in_own_pages.at(b);
    const Bytes step = in_pages ? std::max(alignment[space], page_bytes) : alignment[space];
    if (!placed[b]) place(b, round_up(end, step));
    end = std::max(end, at.base[b] + p.buffers[b].bytes());
    if (in_pages) {
      end = round_up(end, page_bytes);
      at.peak[space] = std::max(at.peak[space], end);
    }
  }
  for (std::size_t s = 0; s < bottom.size(); ++s) bottom[s] = round_up(bottom[s], alignment[s]);

  // The rest largest first, each at the lowest offset where none that is alive with it lies.
  const auto lives = occupied(p, options.overlap);
  std::vector<TakenRanges> taken;
  for (const Bytes of_space : alignment)
    taken.emplace_back(p.once.size() + p.steady.size(), of_space);
  const auto take = [&](std::size_t b) {
    taken[static_cast<std::size_t>(p.buffers[b].space)].take(
        {at.base[b], at.base[b] + p.buffers[b].bytes()}, lives[b]);
  };
  std::vector<std::pair<Bytes, std::size_t>> rest;  // by size
  for (std::size_t b = 0; b < n; ++b) {
    if (!placed[b])
      rest.emplace_back(p.buffers[b].bytes(), b);
    else if (!p.buffers[b].resident)
      take(b);
  }
  std::stable_sort(rest.begin(), rest.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  for (const auto& [size, b] : rest) {
    const auto space = static_cast<std::size_t>(p.buffers[b].space);
    place(b, taken[space].lowest_free(bottom[space], size, lives[b]));
    take(b);
  }
  for (const Space space : {Space::host, Space::disk})  // its last block too
    if (Bytes& peak = at.peak[static_cast<std::size_t>(space)];
        alignment[static_cast<std::size_t>(space)] > options.alignment)
      peak = round_up(peak, alignment[static_cast<std::size_t>(space)]);
  return at;
}

}  // namespace trainx::program
