#include "program/copied_gathers.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

// All ranks of its group have begun it before it ends on any, and it is no gather.
bool is_meeting(const Instruction& i) {
  return i.op == Op::scatter || (i.op == Op::reduce && i.peer == none);
}

bool is_among(const Instruction& i, const Instruction& gather) {
  return i.lane == gather.lane && (i.axis == gather.axis || i.axis == Axis::data);
}

bool overlap(const Use& a, const Use& b) {
  return a.buffer == b.buffer && a.range.begin < b.range.end && b.range.begin < a.range.end;
}

bool writes_any(const Instruction& i, const std::vector<Use>& shards) {
  return std::ranges::any_of(i.uses, [&](const Use& u) {
    return writes(u.how) &&
           std::ranges::any_of(shards, [&](const Use& s) { return overlap(u, s); });
  });
}

bool reads_what_it_made(const Instruction& i, const Instruction& earlier) {
  return std::ranges::any_of(i.uses, [&](const Use& u) {
    return reads(u.how) && std::ranges::any_of(earlier.uses, [&](const Use& made) {
             return writes(made.how) && overlap(u, made);
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

}  // namespace

std::vector<bool> copied_gathers(const StepProgram& p) {
  const std::size_t count = p.steady.size(), begin = launch_begin(p);
  const auto at = [&](std::size_t k) -> const Instruction& {
    return p.steady[(begin + k) % count];
  };
  std::vector<bool> copied(count);
  for (std::size_t k = 0; k < count; ++k) {
    const Instruction& gather = at(k);
    if (gather.op != Op::gather) continue;
    const std::vector<Use> shards = lasting_shards(p, gather);
    bool may = !shards.empty(), met = false;
    // what makes the shards in this launch: then ranks meet only where one reads what it made
    const Instruction* maker = nullptr;
    for (std::size_t j = 0; may && j < k; ++j) {
      if (writes_any(at(j), shards)) {
        may = last_for_peers(p, shards, at(j));
        maker = &at(j), met = false;
      }
      met = met || (is_among(at(j), gather) && (is_meeting(at(j)) || at(j).op == Op::gather) &&
                    (!maker || reads_what_it_made(at(j), *maker)));
    }
    // what its lane does from the next meeting on: who waits for any of that, waits for the meeting
    std::vector<const Instruction*> behind;
    for (std::size_t j = k + 1; may && j < count; ++j) {
      may = !writes_any(at(j), shards) ||
            std::ranges::any_of(behind, [&](const Instruction* earlier) {
              return reads_what_it_made(at(j), *earlier);
            });
      if (at(j).lane == gather.lane &&
          (!behind.empty() || (is_meeting(at(j)) && is_among(at(j), gather))))
        behind.push_back(&at(j));
    }
    copied[(begin + k) % count] = may && met && !behind.empty();
  }
  return copied;
}

}  // namespace trainx::program
