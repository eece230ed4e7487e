#include "core/units.hpp"
#include "plan/choose/telling.hpp"
#include "plan/explain/percent.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::plan {

void tell_micro_batch(Telling& t) {
  if (t.searched.space.micro_batch_sizes.size() == 1 &&
      t.now.micro_batch_size == t.written.micro_batch_size)
    return;
  const std::int64_t micro = t.now.micro_batch_size;
  const bool is_written = !t.searched.before.recipe.batch.micro_batch_size.is_auto() ||
                          t.searched.before.recipe.batch.grad_accum_steps;
  std::string text = "batch.micro_batch_size " + std::to_string(micro) +
                     (is_written && micro != t.written.micro_batch_size
                          ? " instead of " + std::to_string(t.written.micro_batch_size)
                          : "") +
                     ": " + human_bytes(t.takes.bytes) + t.of_budget;
  const auto& sizes = t.searched.space.micro_batch_sizes;
  const auto at = std::ranges::find(sizes, micro);
  if (t.is_timed && at != sizes.begin() && at != sizes.end()) {
    Decisions smaller = t.now;
    smaller.micro_batch_size = *(at - 1);
    text += "; " + std::to_string(*(at - 1)) + " would take " + t.longer(t.evaluator.of(smaller));
  } else if (!t.is_timed) {
    text += "; " + std::to_string(micro * t.plan.row_lengths.back()) + " tokens at a time";
  }
  t.add(std::move(text));
}

namespace {

/// Why something lies on the host, as the beginning of a sentence.
std::string why_on_host(Telling& t) {
  Space on_device = t.searched.space;
  on_device.on_host.resize(1);
  const Found found = t.search.find(on_device);
  if (found.best())
    return "without the host the fastest that fits would take " + t.longer(found.best()->takes);
  Decisions most = t.now;
  most.activations = t.written.activations, most.optimizer = t.written.optimizer;
  most.weights = t.written.weights;
  if (t.searched.space.depth) t.searched.space.depth->write(t.searched.space.depth->whole(), most);
  return "the most that recomputation saves needs " +
         human_bytes(t.evaluator.memory_of(most).bytes);
}

}  // namespace

void tell_host(Telling& t) {
  if (!t.has_more_on_host()) return;
  const std::string why = why_on_host(t);
  const auto say = [&](const std::string& key, const std::string& what, const Decisions& without) {
    std::string text = key + " cpu: " + why + "; " + human_bytes(t.takes.bytes) + t.of_budget +
                       " with " + human_bytes(t.takes.host_bytes) + " on the host, of " + what;
    if (t.search.knows_copies())
      text += "; costs " +
              percent(std::max(0.0, t.takes.seconds / t.evaluator.of(without).seconds - 1)) +
              " of a step more";
    else
      text += "; what the copies cost was not measured on this GPU";
    t.add(std::move(text));
  };
  Decisions without = t.now;
  if (t.now.optimizer != t.written.optimizer) {
    without.optimizer = t.written.optimizer;
    say("memory.optimizer_offload",
        "optimizer states, exact weights and gradients, whose norm is summed by parts (what is "
        "clipped may differ in the last bit)",
        without);
  }
  without = t.now;
  if (t.now.activations != t.written.activations) {
    without.activations = t.written.activations;
    say("memory.activation_offload", "what layers keep", without);
  }
  without = t.now;
  if (t.now.weights != t.written.weights) {
    without.weights = t.written.weights;
    say("memory.parameter_offload", "weights, which come in a block ahead of their use", without);
  }
}

namespace {

std::string of_layers(const Telling& t) {
  std::string text = recipe::write_value(t.now.levels.front());
  if (t.now.levels.size() > 1) {
    const auto count = std::ranges::count(t.now.levels, t.now.levels.front());
    text += " in " + std::to_string(count) + " of " +
            std::to_string(t.searched.space.depth->layers) + " layers, " +
            recipe::write_value(t.now.levels.back()) + " in the rest";
  }
  if (t.now.segment > 1) text += ", " + std::to_string(t.now.segment) + " layers together";
  return text;
}

}  // namespace

void tell_recomputation(Telling& t) {
  if (!t.searched.space.depth) return;
  Decisions none = t.now;
  none.levels = {RecomputeLevel::none}, none.segment = 1;
  std::string text = "memory.activation_checkpoint " + of_layers(t);
  if (t.now.levels == none.levels) return t.add(text + ": nothing need be recomputed");
  const Evaluation& of_none = t.evaluator.of(none);
  text += ": " + human_bytes(t.takes.bytes) + t.of_budget + ", where none would need " +
          human_bytes(of_none.bytes);
  if (t.is_timed && t.takes.seconds >= of_none.seconds)
    text += "; costs " + percent(t.takes.seconds / of_none.seconds - 1) + " of a step";
  else if (t.is_timed)
    text += "; a step takes " + percent(1 - t.takes.seconds / of_none.seconds) +
            " less, since less is copied";
  t.add(std::move(text));
}

}  // namespace trainx::plan
