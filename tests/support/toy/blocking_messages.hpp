// What becomes of stages whose messages block: a sender waits until its receiver is there.
#pragma once
#include "program/pipeline_turns.hpp"
#include <algorithm>
#include <cstddef>
#include <vector>

namespace toy {

/// One end of a message, or of a collective of all stages (peer: none).
struct MessageEnd {
  static constexpr int all = -1;
  bool is_send = false;
  int peer = all;
  int content = 0;  // both ends of a message have the same
};

enum class Outcome { ends, stands_still, gets_another };

/// `stages`: what each sends and receives, in its order. Ends of two stages meet whatever they
/// carry, as those of a communicator do.
inline Outcome run_blocking(const std::vector<std::vector<MessageEnd>>& stages) {
  std::vector<std::size_t> next(stages.size());
  const auto at = [&](std::size_t stage) -> const MessageEnd* {
    return next[stage] < stages[stage].size() ? &stages[stage][next[stage]] : nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const MessageEnd* send = at(s);
      if (!send || !send->is_send) continue;
      const MessageEnd* recv = at(static_cast<std::size_t>(send->peer));
      if (!recv || recv->is_send || recv->peer != static_cast<int>(s)) continue;
      if (recv->content != send->content) return Outcome::gets_another;
      ++next[s], ++next[static_cast<std::size_t>(send->peer)];
      moved = true;
    }
    const MessageEnd* first = at(0);
    if (moved || !first || first->peer != MessageEnd::all) continue;
    bool all_there = true;
    for (std::size_t s = 0; s < stages.size(); ++s)
      all_there &= at(s) && at(s)->peer == MessageEnd::all;
    if (!all_there) continue;
    for (std::size_t s = 0; s < stages.size(); ++s)
      if (at(s)->content != first->content) return Outcome::gets_another;
    for (std::size_t& place : next) ++place;
    moved = true;
  }
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (at(s)) return Outcome::stands_still;
  return Outcome::ends;
}

/// The messages of each stage, as it comes to them.
inline std::vector<std::vector<MessageEnd>> messages_by_stage(
    const trainx::program::PipelineShape& shape,
    const std::vector<trainx::program::PipelineEvent>& events) {
  std::vector<std::vector<MessageEnd>> stages(static_cast<std::size_t>(shape.stages));
  int number = 0;
  for (const auto& event : events) {
    if (!event.is_message) continue;
    const int from = shape.stage_of(event.turn.chunk), to = shape.stage_of(event.to_chunk);
    stages[static_cast<std::size_t>(from)].push_back({true, to, number});
    stages[static_cast<std::size_t>(to)].push_back({false, from, number});
    ++number;
  }
  return stages;
}

}  // namespace toy
