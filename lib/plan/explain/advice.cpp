#include "plan/explain/advice.hpp"
#include "plan/explain/human_time.hpp"
#include "core/units.hpp"
#include "plan/explain/printed.hpp"
#include "plan/limits.hpp"
#include "plan/choose/evaluator.hpp"
#include "plan/step_cost.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

std::int64_t up(std::int64_t x, std::int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// So that `plan` answers at once: deeper models get no advice.
constexpr std::int64_t most_advised_layers = 128;
constexpr std::size_t most_advised_sizes = 12;  // of micro-batches, the closest

/// Those closest to `now` by ratio, ascending.
std::vector<std::int64_t> closest(std::vector<std::int64_t> sizes, std::int64_t now,
                                  std::size_t most) {
  const auto distance = [now](std::int64_t size) {
    return std::abs(std::log(static_cast<double>(size) / static_cast<double>(now)));
  };
  if (sizes.size() <= most) return sizes;
  std::ranges::stable_sort(sizes, {}, distance);
  sizes.resize(most);
  std::ranges::sort(sizes);
  return sizes;
}

/// A shape that differs from the plan's in some settings.
struct Candidate {
  StepShape shape;
  std::vector<Advice::Setting> settings;
  bool changes_training = false;
  StepCost cost;
  double gain_s = 0;  // per step, for the same number of tokens
};

class Adviser {
 public:
  explicit Adviser(const RunPlan& plan)
      : plan_(plan), now_(shape_of(plan)), cost_(step_cost(plan, now_)) {}

  std::vector<Advice> all() {
    micro_batch();
    if (advice_.empty()) global_batch();
    if (plan_.row_lengths.size() == 1) length();
    if (!plan_.recipe.model.init_from)
      std::visit([&](const auto& dims) { model(dims); }, plan_.dims);
    std::ranges::stable_sort(advice_, std::greater<>(), &Advice::gain_s);
    return std::move(advice_);
  }

 private:
  /// Elsewhere advice goes to multiples of 8 at most.
  bool knows_tiles() const { return plan_.rates->tiles.are_measured; }
  bool matters(double gain_s) const { return gain_s >= least_gain * cost_.seconds; }

  void price(Candidate& c) const {
    c.cost = step_cost(plan_, c.shape);
    // of its own, for as many tokens
    const double steps = static_cast<double>(now_.tokens()) / static_cast<double>(c.shape.tokens());
    c.gain_s = cost_.seconds - c.cost.seconds * steps;
    // Any larger batch amortizes the fixed costs of a step. If training changes, only reduced
    // losses count.
    if (c.changes_training) c.gain_s = std::min(c.gain_s, cost_.lost_s() - c.cost.lost_s() * steps);
  }

  /// Reports the best candidate that matters and fits, with the memory that it adds.
  void tell_best(std::vector<Candidate> candidates) {
    std::erase_if(candidates, [&](const Candidate& c) { return !ranks_can_share(plan_, c.shape); });
    for (Candidate& c : candidates) price(c);
    std::erase_if(candidates, [&](const Candidate& c) { return !matters(c.gain_s); });
    std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::gain_s);
    const std::int64_t now_bytes = plan_.memory.total_bytes(), budget = plan_.memory.budget_bytes;
    bool told = false;
    for (const Candidate& c : candidates) {
      const std::int64_t bytes = bytes_of(plan_, c.shape);
      if ((budget > 0 && bytes > budget) || (told && bytes > now_bytes)) continue;
      advice_.push_back({c.settings, c.gain_s, c.gain_s / cost_.seconds, bytes - now_bytes,
                         reason(c), c.changes_training});
      if (bytes <= now_bytes || c.changes_training) return;
      told = true;  // one more, for those who have no memory to spare
    }
  }

  /// The same global batch with other micro-batches: as the search weighs them.
  void micro_batch() {
    if (layers_of(plan_.dims) > most_searched_layers) return;
    Evaluator evaluator(plan_, &*plan_.step_rates);
    const Decisions now = decisions_of(plan_);
    const Evaluation takes = evaluator.of(now);
    const std::int64_t samples = evaluator.samples();
    std::optional<std::pair<Candidate, Evaluation>> best, smaller;
    for (const std::int64_t micro : closest(plannable_micro_batch_sizes(plan_, samples),
                                            now.micro_batch_size, most_advised_sizes)) {
      if (micro == now.micro_batch_size || (micro % 8 != 0 && !knows_tiles())) continue;
      Decisions other = now;
      other.micro_batch_size = micro;
      const Evaluation& e = evaluator.of(other);
      const bool fits = plan_.budget_bytes <= 0 || e.bytes <= plan_.budget_bytes;
      if (!fits || e.seconds > (1 - least_gain) * takes.seconds) continue;
      Candidate c{now_,
                  {{"batch.micro_batch_size", now.micro_batch_size, micro},
                   {"batch.grad_accum_steps", now_.grad_accum_steps, samples / micro}}};
      c.shape.micro_batch_size = micro, c.shape.grad_accum_steps = samples / micro;
      price(c);
      c.gain_s = takes.seconds - e.seconds;
      if (!best || e.seconds < best->second.seconds) best = {c, e};
      // one more, for those who have no memory to spare
      if (e.bytes <= takes.bytes && (!smaller || e.seconds < smaller->second.seconds))
        smaller = {c, e};
    }
    const auto tell = [&](const auto& told) {
      const auto& [c, e] = *told;
      advice_.push_back({c.settings, c.gain_s, c.gain_s / takes.seconds, e.bytes - takes.bytes,
                         reason(c), false});
    };
    if (best) tell(best);
    if (smaller && best->second.bytes > takes.bytes) tell(smaller);
  }

  /// Global batch sizes nearby, if no cut of the given one is faster.
  void global_batch() {
    if (!knows_tiles()) return;
    std::vector<Candidate> candidates;
    const std::int64_t micro = now_.micro_batch_size, near = std::min<std::int64_t>(micro / 4, 8);
    for (std::int64_t other = std::max<std::int64_t>(1, micro - near); other <= micro + near;
         ++other) {
      if (other == micro) continue;
      Candidate& c = candidates.emplace_back(
          Candidate{now_,
                    {{"batch.micro_batch_size", micro, other},
                     {"batch.global_batch_size", micro * now_.grad_accum_steps,
                      other * now_.grad_accum_steps}},
                    true});
      c.shape.micro_batch_size = other;
    }
    tell_best(std::move(candidates));
  }

  void length() {
    std::vector<Candidate> candidates;
    for (const std::int64_t multiple : {64, 128})
      for (const std::int64_t other :
           {now_.length / multiple * multiple, up(now_.length, multiple)}) {
        if (other == now_.length || other == 0 || other > architectures::max_positions(plan_.dims))
          continue;
        Candidate& c = candidates.emplace_back(
            Candidate{now_, {{"data.sequence_length", now_.length, other}}, true});
        c.shape.length = other;
      }
    tell_best(std::move(candidates));
  }

  /// Model sizes that are at least as large and still faster.
  template <class Dims>
  void model(const Dims& dims) {
    if constexpr (requires { dims.intermediate_size; }) {
      auto changed = [&](Dims other) {
        Candidate c{now_, {}, true};
        auto setting = [&](const char* key, std::int64_t now, std::int64_t better) {
          if (now != better)
            c.settings.push_back({std::string("model.options.") + key, now, better});
        };
        setting("hidden_size", dims.hidden_size, other.hidden_size);
        setting("num_heads", dims.num_heads, other.num_heads);
        setting("intermediate_size", dims.intermediate_size, other.intermediate_size);
        c.shape.dims = other;
        return c;
      };
      std::vector<Candidate> heads, widths, inner;
      // where heads have a size of their own, other heads would be another model's
      constexpr bool free_heads = requires { dims.head_size; };
      for (const std::int64_t head : {64, 128})
        if (!free_heads && dims.hidden_size % head == 0 &&
            dims.hidden_size / head != dims.num_heads) {
          Dims other = dims;
          other.num_heads = dims.hidden_size / head;
          heads.push_back(changed(other));
        }
      for (const std::int64_t multiple : {8, 64, 128})
        if (!free_heads && dims.hidden_size % multiple != 0) {
          Dims other = dims;
          other.hidden_size = up(dims.hidden_size, std::max<std::int64_t>(multiple, 8));
          if (other.hidden_size % dims.num_heads != 0 ||
              other.hidden_size / dims.num_heads % 8 != 0) {
            other.hidden_size = up(other.hidden_size, 64);
            other.num_heads = other.hidden_size / 64;
          }
          if (dims.intermediate_size == 4 * dims.hidden_size)
            other.intermediate_size = 4 * other.hidden_size;
          widths.push_back(changed(other));
        }
      for (const std::int64_t multiple : {8, 64, 128})
        if (dims.intermediate_size % multiple != 0 &&
            dims.intermediate_size != 4 * dims.hidden_size) {
          Dims other = dims;
          other.intermediate_size = up(dims.intermediate_size, multiple);
          inner.push_back(changed(other));
        }
      tell_best(std::move(heads));
      tell_best(std::move(widths));
      tell_best(std::move(inner));
    }
  }

  /// The largest loss that the candidate reduces, as a sentence.
  std::string reason(const Candidate& c) const {
    const double steps = static_cast<double>(now_.tokens()) / static_cast<double>(c.shape.tokens());
    const double heads_s = cost_.heads_lost_s - c.cost.heads_lost_s * steps,
                 unaligned_s = cost_.unaligned_lost_s - c.cost.unaligned_lost_s * steps,
                 tiles_s = cost_.tiles_lost_s - c.cost.tiles_lost_s * steps,
                 rest_s = c.gain_s - heads_s - unaligned_s - tiles_s;
    const double most = std::max({heads_s, unaligned_s, tiles_s, rest_s});
    if (most == heads_s) return heads_reason();
    if (most == unaligned_s)
      return "matrix rows that are not a multiple of 8 elements miss the fast kernels: about " +
             human_time(cost_.unaligned_lost_s) + " of the step (estimated, not measured)";
    if (most == tiles_s) return tiles_reason();
    return c.shape.micro_batch_size > now_.micro_batch_size
               ? "fewer and larger kernels, fewer additions to gradients"
               : "smaller operands and results";
  }

  std::string heads_reason() const {
    const std::int64_t head = architectures::head_size(plan_.dims);
    if (head == 0) return "";
    const std::string size = "heads of " + std::to_string(head) + " elements ",
                      lost = human_time(cost_.heads_lost_s) +
                             " of the step (estimated, not measured)";
    if (!program::has_fused_attention(head))
      return size + "do not fit the fused attention kernels (multiples of 8, at most 128): " + lost;
    return size + "are padded to " + std::to_string(program::fused_attention_head(head)) +
           " by the attention kernels: " + lost;
  }

  std::string tiles_reason() const {
    const program::Gemm& g = cost_.worst.product;
    const auto t = program::tiled_product(g.m, g.n, g.k, 16, plan_.rates->tiles, g.a_transposed);
    const std::string sizes = "m " + std::to_string(g.m) + " n " + std::to_string(g.n) + " k " +
                              std::to_string(g.k),
                      tile = std::to_string(t.tile_m) + " x " + std::to_string(t.tile_n);
    return "matrix products lose " + human_time(cost_.tiles_lost_s) + " to tiles, most at " +
           sizes + ": " + printed("%.2f", t.waves) + " waves of " + tile + " on " +
           std::to_string(plan_.rates->tiles.multiprocessors) +
           " multiprocessors take as long as " + printed("%.0f", std::ceil(t.waves));
  }

  const RunPlan& plan_;
  const StepShape now_;
  const StepCost cost_;
  std::vector<Advice> advice_;
};

std::string signed_bytes(std::int64_t bytes) {
  return human_bytes(std::abs(bytes)) + (bytes < 0 ? " less" : " more");
}

}  // namespace

std::vector<Advice> advise(const RunPlan& plan) {
  if (!plan.rates || !plan.step_rates || !plan.on_gpu ||
      std::holds_alternative<architectures::CustomDims>(plan.dims))
    return {};
  if (layers_of(plan.dims) > most_advised_layers) return {};
  return Adviser(plan).all();
}

std::string describe(const std::vector<Advice>& advice, const RunPlan& plan) {
  if (advice.empty()) return "";
  std::string out = "advice: faster, by the same prediction\n";
  for (const Advice& a : advice) {
    std::string settings;
    for (const auto& s : a.settings)
      settings += (settings.empty() ? "" : ", ") + s.key + " " + std::to_string(s.now) + " -> " +
                  std::to_string(s.better);
    out += "  " + settings + ": " + human_time(a.gain_s) + " of " + human_time(plan.time->step_s) +
           printed(" (%.1f %%)", a.share * 100) + ", " + signed_bytes(a.more_bytes) + " memory; " +
           a.reason;
    if (a.changes_training)
      out += a.settings.front().key.starts_with("model.") ? " (changes the model)"
                                                          : " (changes the training steps)";
    out += "\n";
  }
  return out;
}

nlohmann::json to_json(const std::vector<Advice>& advice) {
  auto all = nlohmann::json::array();
  for (const Advice& a : advice) {
    nlohmann::json now, better;
    for (const auto& s : a.settings) now[s.key] = s.now, better[s.key] = s.better;
    all.push_back({{"now", now},
                   {"better", better},
                   {"gain_ms", a.gain_s * 1e3},
                   {"gain_share", a.share},
                   {"more_bytes", a.more_bytes},
                   {"reason", a.reason},
                   {"changes_training", a.changes_training}});
  }
  return all;
}

}  // namespace trainx::plan
