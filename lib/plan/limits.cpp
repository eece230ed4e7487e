#include "plan/limits.hpp"
#include "core/error.hpp"
#include "plan/programs.hpp"
#include "plan/stages.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <iterator>

namespace trainx::plan {
namespace {

// Bytes of one micro-step on one rank: beyond a pebibyte sums of sizes would leave 64 bits.
constexpr double most_rank_bytes = 1125899906842624.0;
// Bytes that a whole step touches on one rank.
constexpr double most_step_bytes = 4611686018427387904.0;

[[noreturn]] void refuse_size(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, sentence);
}

template <class Dims>
std::int64_t all_layers(const Dims& d) {
  if constexpr (requires { d.num_decoder_layers; })
    return d.num_layers + d.num_decoder_layers;
  else
    return d.num_layers;
}

/// An upper bound of what weights, states, activations, logits and attention's scores take.
double bytes_of_rank(const architectures::ModelDims& dims, double samples, double length) {
  return std::visit(
      [&](const auto& d) -> double {
        if constexpr (requires { d.num_layers; }) {
          const double h = static_cast<double>(d.hidden_size),
                       i = static_cast<double>(d.intermediate_size);
          const double layers = static_cast<double>(all_layers(d)),
                       rows = static_cast<double>(d.vocab_size) + 128;
          const double positions = static_cast<double>(d.max_positions), tokens = samples * length;
          double mlps = 1;
          if constexpr (requires { d.num_experts; })
            mlps = std::max(mlps, static_cast<double>(d.num_experts));
          const double parameters = layers * (4 * h * h + mlps * 2 * h * i + mlps * 16 * (h + i)) +
                                    (rows + positions) * h;
          const double activations = tokens * (layers * (16 * h + 6 * i) + rows) + samples * rows;
          const double scores = samples * static_cast<double>(d.num_heads) * length * length;
          return 32 * parameters + 8 * activations + 8 * scores;
        } else {
          return 0;  // a worker measured them
        }
      },
      dims);
}

}  // namespace

std::int64_t layers_of(const architectures::ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (requires { d.num_layers; })
          return all_layers(d);
        else
          return d.shapes.empty() ? 1 : std::ssize(d.shapes.front().modules);
      },
      dims);
}

std::string with_commas(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (auto at = std::ssize(text) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::int64_t checked_product(std::int64_t a, std::int64_t b, const std::string& what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    refuse_size(what + " (" + with_commas(a) + " * " + with_commas(b) + ") is too large a number");
  return product;
}

std::int64_t most_micro_steps_of(const Draft& plan) {
  const std::int64_t blocks = 2 * layers_of(plan.dims) + 2;
  return std::min(most_micro_steps,
                  std::max<std::int64_t>(1, most_block_operations / (2 * blocks)));
}

bool ranks_can_share(const Draft& plan) {
  if (plan.mesh.tensor * plan.mesh.context == 1) return true;
  try {
    for (const std::int64_t length : plan.row_lengths) graph_of(plan, length, plan.compute);
  } catch (const UserError& refused) {
    if (refused.code() != ExitCode::invalid_recipe) throw;
    return false;
  }
  return true;
}

namespace {

/// Without those that ranks cannot share; if they can share none, all: planning says why.
void leave_out_unshared(Draft plan, std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> shared;
  std::ranges::copy_if(sizes, std::back_inserter(shared), [&](std::int64_t micro) {
    plan.batch.micro_batch_size = micro;
    return ranks_can_share(plan);
  });
  if (!shared.empty()) sizes = std::move(shared);
}

}  // namespace

std::vector<std::int64_t> plannable_micro_batch_sizes(const Draft& plan, std::int64_t samples) {
  std::vector<std::int64_t> out;
  const std::int64_t most = most_micro_steps_of(plan);
  const auto length = static_cast<double>(plan.row_lengths.back());
  const auto add = [&](std::int64_t micro) {
    if (samples / micro <= most && may_take_turns(plan, samples / micro) &&
        bytes_of_rank(plan.dims, static_cast<double>(micro), length) <= most_rank_bytes)
      out.push_back(micro);
  };
  for (std::int64_t d = 1; d * d <= samples; ++d)
    if (samples % d == 0) {
      add(d);
      if (d * d != samples) add(samples / d);
    }
  std::ranges::sort(out);
  leave_out_unshared(plan, out);
  return out;
}

std::int64_t smallest_micro_batch(const Draft& plan) {
  if (plan.mesh.tensor * plan.mesh.context == 1) return 1;
  const std::vector<std::int64_t> sizes =
      plannable_micro_batch_sizes(plan, plan.batch.micro_batch_size * plan.batch.grad_accum_steps);
  return sizes.empty() ? 1 : sizes.front();
}

void require_plannable_micro_steps(const Draft& plan, std::int64_t micro_steps) {
  const std::int64_t most = most_micro_steps_of(plan);
  if (micro_steps > most)
    refuse_size("batch.grad_accum_steps would be " + with_commas(micro_steps) +
                "; a step of this model can have at most " + with_commas(most) +
                " micro-steps: raise batch.micro_batch_size or lower batch.global_batch_size");
}

void require_plannable_table(std::int64_t steps, const std::string& key) {
  if (steps > most_table_steps)
    refuse_size(key + " would be " + with_commas(steps) + " steps; a schedule can have at most " +
                with_commas(most_table_steps) +
                ": shorten it, or write schedule.type: constant without warm-up");
}

void require_plannable(const Draft& plan) {
  const std::int64_t layers = layers_of(plan.dims), lengths = std::ssize(plan.row_lengths);
  if (layers > most_layers)
    refuse_size("model.options.num_layers is " + with_commas(layers) +
                "; trainx plans models of at most " + with_commas(most_layers) + " layers");
  if (plan.mode == recipe::ParallelMode::dp && plan.mesh.world > most_dp_ranks)
    refuse_size("parallel.mode is dp, in which rank 0 serves all others, with " +
                with_commas(plan.mesh.world) + " ranks; dp can have at most " +
                with_commas(most_dp_ranks) + ": write ddp");
  const auto& mode = plan.recipe.parallel.mode;
  const bool may_shard = plan.mesh.world > 1 &&
                         (mode.is_auto() || recipe::zero_stage(*mode.value) > 0);
  const auto states =
      std::visit([](const auto& o) { return options::states(o); }, plan.recipe.optimizer.options);
  const bool by_rank =
      std::ranges::any_of(states, [](const auto& s) { return static_cast<bool>(s.dims); });
  const std::int64_t shards =
                         plan.recipe.parallel.shard_ranks.value.value_or(plan.mesh.row_ranks()),
                     most_shards = most_laid_out_shards / (2 * layers + 3);
  if (may_shard && by_rank && shards > most_shards)
    refuse_size(
        "parallel.shard_ranks would be " + with_commas(shards) + "; with optimizer.type " +
        recipe::alternative_name(plan.recipe.optimizer.options) + " at most " +
        with_commas(most_shards) +
        " ranks can share this model: write a smaller parallel.shard_ranks, or parallel.mode: ddp");
  const std::int64_t segment = plan.recipe.memory.recompute_segment;
  if (std::min(segment, layers) > most_segment)
    refuse_size(
        "memory.recompute_segment is " + with_commas(segment) + " with " + with_commas(layers) +
        " layers; at most " + with_commas(most_segment) +
        " layers are recomputed together: the square root of the number of layers saves most");
  const std::int64_t most_lengths =
      std::clamp<std::int64_t>(4096 / (2 * layers + 2), 2, most_row_lengths);
  if (lengths > most_lengths && !plan.recipe.data.pad_to.is_auto())
    refuse_size("data.pad_to lists " + with_commas(lengths) +
                " lengths, and each gets a program; a model of " + with_commas(layers) +
                " layers can have at most " + with_commas(most_lengths) + ": list fewer");
  checked_product(plan.batch.global_batch_size, plan.recipe.data.sequence_length,
                  "batch.global_batch_size * data.sequence_length");
  const bool chosen =
      !(plan.recipe.batch.micro_batch_size.is_auto() && !plan.recipe.batch.grad_accum_steps);
  if (chosen) require_plannable_micro_steps(plan, plan.batch.grad_accum_steps);
  const double bytes = bytes_of_rank(plan.dims, static_cast<double>(plan.batch.micro_batch_size),
                                     static_cast<double>(plan.row_lengths.back()));
  const double steps =
      static_cast<double>(std::min(plan.batch.grad_accum_steps, most_micro_steps_of(plan)));
  if (bytes > most_rank_bytes || bytes * steps > most_step_bytes)
    refuse_size(
        "the model and one micro-batch would take more than 1 PiB on each rank; lower "
        "batch.micro_batch_size, data.sequence_length or model.options");
}

}  // namespace trainx::plan
