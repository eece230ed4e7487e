#include "core/units.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/telling.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

using recipe::ParallelMode;

/// As a sentence names it: "zero1 with memory.optimizer_offload cpu".
std::string name_of_mode(const Telling& t, const Decisions& c) {
  Decisions same = t.written;
  same.mode = c.mode, same.shard = c.shard;
  same.micro_batch_size = t.now.micro_batch_size;
  const auto keys = changed_keys(c, same);
  std::string text = recipe::write_value(c.mode);
  for (const std::string& key : keys) text += (&key == &keys.front() ? " with " : ", ") + key;
  return text;
}

const Way* fastest(const Found& found, const auto& counts) {
  const Way* best = nullptr;
  for (const Way& w : found.fitting)
    if (counts(w.choice) && (!best || w.takes.seconds < best->takes.seconds)) best = &w;
  return best;
}

void tell_mode(Telling& t) {
  if (!t.searched.before.recipe.parallel.mode.is_auto() || t.plan.mode == ParallelMode::single)
    return;
  const std::string whole = "parallel.mode ddp: " + std::to_string(t.plan.mesh.world) +
                            " ranks, each holds the whole " +
                            std::string(t.plan.mesh.pipeline > 1 ? "of its stage" : "model") +
                            ", and gradients are summed beside backward; ";
  Decisions ddp = t.written;
  ddp.mode = ParallelMode::ddp, ddp.shard = 1, ddp.turns_kept = 0;
  ddp.micro_batch_size = std::min(t.now.micro_batch_size, t.written.micro_batch_size);
  if (t.searched.space.micro_batch_sizes.size() > 1) ddp.micro_batch_size = t.now.micro_batch_size;
  const Evaluation& of_ddp = t.evaluator.of(ddp);
  const bool fits = t.search.fits(ddp, of_ddp);
  const std::string too_much = "needs " + human_bytes(of_ddp.bytes) + t.of_budget;
  if (t.plan.mode == ParallelMode::ddp) {
    const std::string why = why_no_shards(t.searched.before);
    if (t.searched.found.best() && t.now.levels == t.written.levels && !t.has_more_on_host())
      return t.add(whole + "dp would send weights and batches as well");
    if (!why.empty()) return t.add(whole + "it " + too_much + ", and there are no shards: " + why);
    std::string text = whole + "it " + too_much + ", and fits with what memory.fit chooses, " +
                       human_bytes(t.takes.bytes) + t.cost_over(of_ddp);
    if (const Way* shards = fastest(t.searched.found,
                                    [](const Decisions& c) { return c.mode != ParallelMode::ddp; });
        shards && t.is_timed)
      text += "; " + name_of_mode(t, shards->choice) + " would take " + t.longer(shards->takes) +
              " by the links that are known";
    return t.add(std::move(text));
  }
  std::string text = "parallel.mode " + recipe::write_value(t.plan.mode) + ": ddp, where each " +
                     "rank holds the whole model, " +
                     (fits ? "would take " + t.longer(of_ddp) : too_much) + "; here " +
                     what_is_kept(t.plan.mode) + ", " + human_bytes(t.takes.bytes) +
                     (fits ? "" : t.cost_over(of_ddp));
  if (const Way* other =
          fastest(t.searched.found, [](const Decisions& c) { return c.mode == ParallelMode::ddp; });
      other && !fits && t.search.knows_links())
    text += "; " + name_of_mode(t, other->choice) + " would take " + t.longer(other->takes);
  if (!t.search.knows_links() && t.plan.on_gpu)
    text +=
        "; how fast the links between ranks are is not known (trainx doctor measures those of "
        "one machine): the first that fits";
  t.add(std::move(text));
}

void tell_shards(Telling& t) {
  if (t.plan.zero_stage() == 0 || !t.searched.before.recipe.parallel.shard_ranks.is_auto()) return;
  std::int64_t node = 0;  // ranks of one, if they were tried
  for (const ModeOfShards& m : t.searched.space.modes)
    if (m.shard > 1 && m.shard < t.plan.mesh.row_ranks()) node = m.shard;
  if (node == 0 || !t.searched.found.best()) return;
  if (t.now.shard == node)
    return t.add("parallel.shard_ranks " + std::to_string(node) + ": shards lie among the " +
                 std::to_string(node) +
                 " ranks of one node, so that weights are gathered within it; " +
                 std::to_string(t.plan.mesh.row_ranks() / node) +
                 " nodes hold the same, and sum the gradients of their shards; " +
                 human_bytes(t.takes.bytes));
  Decisions among = t.now;
  among.shard = static_cast<int>(node);
  const Evaluation& of_node = t.evaluator.of(among);
  t.add("parallel.shard_ranks " + std::to_string(t.now.shard) + ", all: shards among the " +
        std::to_string(node) + " ranks of one node would " +
        (t.search.fits(among, of_node) && t.is_timed
             ? "take " + t.longer(of_node)
             : "need " + human_bytes(of_node.bytes) + t.of_budget));
}

void tell_experts(Telling& t) {
  if (t.now.experts == t.written.experts) return;
  Decisions alone = t.now;
  alone.experts = t.written.experts;
  const Evaluation& of_all = t.evaluator.of(alone);
  t.add("parallel.experts " + std::to_string(t.now.experts) + ": " + human_bytes(t.takes.bytes) +
        t.of_budget + "; with all experts on each rank the run would " +
        (t.search.fits(alone, of_all) ? "take " + t.longer(of_all)
                                      : "need " + human_bytes(of_all.bytes)));
}

}  // namespace

void tell_ranks(Telling& t) {
  tell_mode(t);
  tell_shards(t);
  tell_experts(t);
}

}  // namespace trainx::plan
