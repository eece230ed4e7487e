#include "plan/explain/schedule_table.hpp"
#include "plan/stages.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

std::string name_of_turn(const program::Turn& turn, const program::PipelineShape& shape) {
  std::string name;
  if (shape.chunks > 1) name += static_cast<char>('a' + turn.chunk / shape.stages % 26);
  name += std::to_string(turn.micro);
  return turn.is_backward ? "[" + name + "]" : name;
}

}  // namespace

std::string schedule_table(const RunPlan& plan, int columns) {
  if (plan.mesh.pipeline == 1) return "";
  const PipelineSchedule schedule = plan.recipe.parallel.pipeline_schedule;
  const auto [shape, turns] = timed_schedule(plan);
  std::size_t width = 1;
  double end = 0;
  for (const auto& stage : turns)
    for (const program::TimedTurn& turn : stage) {
      width = std::max(width, name_of_turn(turn, shape).size());
      end = std::max(end, turn.end);
    }
  const int all = static_cast<int>(std::lround(end)), shown = std::min(all, columns);
  std::string text = "schedule (" + recipe::write_value(schedule) +
                     "), stages by time: a column is a forward; backwards are in [ ]" +
                     (shape.chunks > 1 ? "; letters are chunks of layers" : "") + "\n";
  for (std::size_t s = 0; s < turns.size(); ++s) {
    std::vector<std::string> cells(static_cast<std::size_t>(shown), ".");
    for (const program::TimedTurn& turn : turns[s])
      for (int column = static_cast<int>(std::lround(turn.begin));
           column < std::min(static_cast<int>(std::lround(turn.end)), shown); ++column)
        cells[static_cast<std::size_t>(column)] = name_of_turn(turn, shape);
    std::string line = "  stage " + std::to_string(s);
    line.resize(std::max<std::size_t>(12, line.size() + 1), ' ');
    for (std::string& cell : cells) {
      cell.resize(width + 1, ' ');
      line += cell;
    }
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  if (shown < all) text += "  and " + std::to_string(all - shown) + " columns more\n";
  return text;
}

nlohmann::json schedule_json(const RunPlan& plan) {
  auto stages = nlohmann::json::array();
  if (plan.mesh.pipeline == 1) return stages;
  const auto [shape, turns] = timed_schedule(plan);
  for (std::size_t s = 0; s < turns.size(); ++s) {
    auto list = nlohmann::json::array();
    for (const program::TimedTurn& turn : turns[s])
      list.push_back({{"backward", turn.is_backward},
                      {"chunk", turn.chunk},
                      {"micro_step", turn.micro},
                      {"begin", turn.begin},
                      {"end", turn.end}});
    stages.push_back({{"stage", s}, {"turns", std::move(list)}});
  }
  return stages;
}

}  // namespace trainx::plan
