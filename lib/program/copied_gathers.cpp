#include "program/copied_gathers.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <array>

namespace trainx::program {
namespace {

// All ranks of its group have begun it before it ends on any, and it is no gather.
bool is_meeting(const Instruction& i) {
  return i.op == Op::scatter || (i.op == Op::reduce && i.peer == none);
}

bool is_among(const Instruction& i, const Instruction& gather) {
  return i.lane == gather.lane && i.along.holds(gather.along);
}

bool writes_any(const Instruction& i, const std::vector<Use>& shards) {
  return std::ranges::any_of(i.uses, [&](const Use& u) {
    return writes(u.how) &&
           std::ranges::any_of(shards, [&](const Use& s) { return u.buffer == s.buffer; });
  });
}

bool reads_what_it_made(const Instruction& i, const Instruction& earlier) {
  return std::ranges::any_of(i.uses, [&](const Use& u) {
    return reads(u.how) && std::ranges::any_of(earlier.uses, [&](const Use& made) {
             return writes(made.how) && u.buffer == made.buffer;
           });
  });
}

// The shards that it reads; none where one does not keep its place on the device.
std::vector<Use> lasting_shards(const StepProgram& p, const Instruction& gather) {
  std::vector<Use> shards;
  for (const Use& u : gather.uses) {
    if (u.slot % 2 != ShardSlot::from(0)) continue;
    const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
    if ((!b.resident && !b.read_by_peers) || b.space != Space::device) return {};
    shards.push_back(u);
  }
  return shards;
}

// Of those that it writes.
bool last_for_peers(const StepProgram& p, const std::vector<Use>& shards, const Instruction& i) {
  return std::ranges::all_of(shards, [&](const Use& u) {
    return p.buffers[static_cast<std::size_t>(u.buffer)].read_by_peers || !writes_any(i, {u});
  });
}

/// A launch in its order, with who writes each buffer and what each lane does.
struct Launch {
  const StepProgram& p;
  std::size_t begin, count;
  std::vector<std::vector<std::size_t>> writers;  // by buffer: places in the launch, ascending
  std::array<std::vector<std::size_t>, lane_count> of_lane;

  explicit Launch(const StepProgram& program)
      : p(program),
        begin(launch_begin(program)),
        count(program.steady.size()),
        writers(program.buffers.size()) {
    for (std::size_t k = 0; k < count; ++k) {
      of_lane[static_cast<std::size_t>(at(k).lane)].push_back(k);
      for (const Use& u : at(k).uses) {
        auto& of = writers[static_cast<std::size_t>(u.buffer)];
        if (writes(u.how) && (of.empty() || of.back() != k)) of.push_back(k);
      }
    }
  }

  const Instruction& at(std::size_t k) const { return p.steady[(begin + k) % count]; }

  /// Those that write any of the shards, ascending.
  std::vector<std::size_t> writers_of(const std::vector<Use>& shards) const {
    std::vector<std::size_t> out;
    for (const Use& s : shards)
      for (const std::size_t k : writers[static_cast<std::size_t>(s.buffer)])
        if (writes_any(at(k), {s})) out.push_back(k);
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
  }

  /// Whether k reads what an instruction of the lane has made from `first` on, before k.
  bool reads_made_since(std::size_t k, Lane lane, std::size_t first) const {
    for (const Use& u : at(k).uses) {
      if (!reads(u.how)) continue;
      for (const std::size_t j : writers[static_cast<std::size_t>(u.buffer)])
        if (j >= first && j < k && at(j).lane == lane && reads_what_it_made(at(k), at(j)))
          return true;
    }
    return false;
  }
};

bool is_copied(const Launch& launch, std::size_t k) {
  const Instruction& gather = launch.at(k);
  const std::vector<Use> shards = lasting_shards(launch.p, gather);
  if (shards.empty()) return false;
  const std::vector<std::size_t> writers = launch.writers_of(shards);
  // what makes the shards in this launch: then ranks meet only where one reads what it made
  const Instruction* maker = nullptr;
  std::size_t made = 0;
  for (const std::size_t j : writers) {
    if (j >= k) break;
    if (!last_for_peers(launch.p, shards, launch.at(j))) return false;
    maker = &launch.at(j), made = j;
  }
  const auto& lane = launch.of_lane[static_cast<std::size_t>(gather.lane)];
  const auto here = std::ranges::lower_bound(lane, k);
  const bool met = std::any_of(std::ranges::lower_bound(lane, made), here, [&](std::size_t j) {
    const Instruction& i = launch.at(j);
    return is_among(i, gather) && (is_meeting(i) || i.op == Op::gather) &&
           (!maker || reads_what_it_made(i, *maker));
  });
  if (!met) return false;
  // what its lane does from the next meeting on: who waits for any of that, waits for the meeting
  const auto meeting = std::find_if(here + 1, lane.end(), [&](std::size_t j) {
    return is_meeting(launch.at(j)) && is_among(launch.at(j), gather);
  });
  if (meeting == lane.end()) return false;
  return std::ranges::all_of(writers, [&](std::size_t j) {
    return j <= k || launch.reads_made_since(j, gather.lane, *meeting);
  });
}

}  // namespace

std::vector<bool> copied_gathers(const StepProgram& p) {
  const Launch launch(p);
  std::vector<bool> copied(launch.count);
  for (std::size_t k = 0; k < launch.count; ++k)
    if (launch.at(k).op == Op::gather)
      copied[(launch.begin + k) % launch.count] = is_copied(launch, k);
  return copied;
}

}  // namespace trainx::program
