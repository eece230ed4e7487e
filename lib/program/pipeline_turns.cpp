#include "program/pipeline_turns.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <map>
#include <tuple>

namespace trainx::program {
namespace {

/// The turn of that number among the forward turns of a stage, or among its backward turns: as many
/// micro-steps as there are stages go through one chunk after the other.
Turn turn_of(const PipelineShape& shape, int stage, int number, bool is_backward) {
  const int round = shape.all_chunks(), within = number % round, chunk = within / shape.stages;
  return {is_backward, (is_backward ? shape.chunks - 1 - chunk : chunk) * shape.stages + stage,
          number / round * shape.stages + within % shape.stages};
}

/// Forward turns of a stage before its first backward one.
int warm_up(const PipelineShape& shape, int stage) {
  const int behind = shape.stages - 1 - stage;
  return shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.stages;
}

}  // namespace

std::vector<std::vector<Turn>> turns_of_step(const PipelineShape& shape,
                                             PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::one_f_one_b && shape.chunks != 1)
    throw InternalError("1F1B has one chunk of layers a stage");
  if (shape.chunks > 1 && shape.micro_steps % shape.stages != 0)
    throw InternalError("interleaved schedules need micro-steps that the stages divide");
  const int all = shape.chunks * shape.micro_steps;
  std::vector<std::vector<Turn>> stages;
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::vector<Turn>& turns = stages.emplace_back();
    const int ahead = std::min(warm_up(shape, stage), all);
    for (int k = 0; k < ahead; ++k) turns.push_back(turn_of(shape, stage, k, false));
    for (int k = 0; k < all; ++k) {
      if (ahead + k < all) turns.push_back(turn_of(shape, stage, ahead + k, false));
      turns.push_back(turn_of(shape, stage, k, true));
    }
  }
  return stages;
}

std::vector<std::vector<Turn>> turns_of_evaluation(const PipelineShape& shape) {
  std::vector<std::vector<Turn>> stages(static_cast<std::size_t>(shape.stages));
  for (int micro = 0; micro < shape.micro_steps; ++micro)
    for (int chunk = 0; chunk < shape.all_chunks(); ++chunk)
      stages[static_cast<std::size_t>(shape.stage_of(chunk))].push_back({false, chunk, micro});
  return stages;
}

std::vector<std::vector<TimedTurn>> timed(const PipelineShape& shape,
                                          const std::vector<std::vector<Turn>>& turns,
                                          const TurnTimes& times) {
  return timed(shape, turns,
               std::vector<TurnTimes>(static_cast<std::size_t>(shape.all_chunks()), times));
}

std::vector<std::vector<TimedTurn>> timed(const PipelineShape& shape,
                                          const std::vector<std::vector<Turn>>& turns,
                                          const std::vector<TurnTimes>& of_chunks,
                                          double message_s) {
  std::map<std::tuple<bool, int, int>, double> ends;
  std::vector<std::vector<TimedTurn>> out(turns.size());
  const int last = shape.all_chunks() - 1;
  /// When what the turn reads is there; nothing: it is not known yet.
  const auto ready = [&](const Turn& t, double& since) {
    since = 0;
    const bool begins = !t.is_backward && t.chunk == 0;
    if (begins) return true;
    const bool turns_round = t.is_backward && t.chunk == last;
    const int before = turns_round ? t.chunk : t.chunk + (t.is_backward ? 1 : -1);
    const auto end = ends.find({t.is_backward && !turns_round, before, t.micro});
    if (end == ends.end()) return false;
    since = end->second + (turns_round ? 0 : message_s);
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < turns.size(); ++s)
      while (out[s].size() < turns[s].size()) {
        const Turn& t = turns[s][out[s].size()];
        double since = 0;
        if (!ready(t, since)) break;
        const TurnTimes& times = of_chunks.at(static_cast<std::size_t>(t.chunk));
        const double begin = std::max(since, out[s].empty() ? 0.0 : out[s].back().end),
                     end = begin + (t.is_backward ? times.backward : times.forward);
        ends[{t.is_backward, t.chunk, t.micro}] = end;
        out[s].push_back({t, begin, end});
        moved = true;
      }
  }
  for (std::size_t s = 0; s < turns.size(); ++s)
    if (out[s].size() < turns[s].size())
      throw InternalError("stage " + std::to_string(s) + " waits for a turn that waits for it");
  return out;
}

double idle_share(const std::vector<std::vector<TimedTurn>>& turns) {
  double end = 0, busy = 0;
  for (const auto& stage : turns)
    for (const TimedTurn& t : stage) {
      end = std::max(end, t.end);
      busy += t.end - t.begin;
    }
  return end > 0 ? 1 - busy / (end * static_cast<double>(turns.size())) : 0;
}

std::vector<PipelineEvent> events_of(const PipelineShape& shape,
                                     const std::vector<std::vector<TimedTurn>>& turns) {
  std::vector<TimedTurn> all;
  for (const auto& stage : turns) all.insert(all.end(), stage.begin(), stage.end());
  // of turns that end at once none reads what another makes
  std::ranges::stable_sort(all, {}, &TimedTurn::end);
  std::vector<PipelineEvent> events;
  for (std::size_t k = 0; k < all.size();) {
    std::size_t behind = k;
    for (; behind < all.size() && all[behind].end == all[k].end; ++behind)
      events.push_back({.turn = all[behind]});
    for (; k < behind; ++k) {
      const int to = all[k].chunk + (all[k].is_backward ? -1 : 1);
      if (to >= 0 && to < shape.all_chunks())
        events.push_back({.turn = all[k], .is_message = true, .to_chunk = to});
    }
  }
  return events;
}

}  // namespace trainx::program
