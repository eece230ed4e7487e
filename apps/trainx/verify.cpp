#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/float_elements.hpp"
#include "checkpoint/weights_folder.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "inputs.hpp"
#include "launch/run_workers.hpp"
#include "table.hpp"
#include <nlohmann/json.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

struct VerifyArguments {
  RecipeArguments recipe;
  std::vector<std::int64_t> worlds{1, 2};
  std::int64_t steps = 20;
};

/// The run cut in one way, or stopped and resumed.
struct Cut {
  std::string name;
  // ranks, and the step until which they train
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
};

struct Losses {
  std::vector<double> loss, grad_norm;
};

/// How far a cut is from the first: relative, the largest of all steps; of the weights, the norm of
/// the difference.
struct Difference {
  std::string name;
  double loss = 0, grad_norm = 0, weights = 0;
  double first_loss = 0, first_grad_norm = 0;  // of the first step alone
  std::vector<std::string> fallback = {};      // products that no longer compute in fp8, by weights
};

std::vector<std::string> fallback_in(const std::string& checkpoint) {
  const auto j = nlohmann::json::parse(read_file(checkpoint + "/trainer_state.json"));
  return j.value("fp8_fallback", std::vector<std::string>());
}

Losses losses_in(const std::string& folder) {
  Losses out;
  std::istringstream lines(read_file(folder + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("loss")) continue;
    out.loss.push_back(j["loss"].is_number() ? j["loss"].get<double>() : NAN);
    out.grad_norm.push_back(j["grad_norm"].is_number() ? j["grad_norm"].get<double>() : NAN);
  }
  return out;
}

// NaN where a number is missing or not finite, which is no agreement.
double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return NAN;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), 1e-30);
    if (!(d <= largest)) largest = d;
    if (std::isnan(d)) return d;
  }
  return largest;
}

/// Of what a run trains: an adapter, where it trains one.
checkpoint::WeightsFolder weights_of(const std::string& checkpoint) {
  const bool is_adapter = fs::exists(checkpoint + "/" + checkpoint::adapter_weights_name);
  return checkpoint::WeightsFolder(checkpoint, is_adapter ? "adapter_model" : "model");
}

double weights_difference(const std::string& a, const std::string& b) {
  const checkpoint::WeightsFolder first = weights_of(a), second = weights_of(b);
  double difference = 0, size = 0;
  for (const auto& [name, tensor] : second.tensors()) {
    const auto found = first.tensors().find(name);
    if (found == first.tensors().end()) return NAN;
    const auto x = checkpoint::to_floats(*found->second.entry, name),
               y = checkpoint::to_floats(*tensor.entry, name);
    if (x.size() != y.size()) return NAN;
    for (std::size_t i = 0; i < x.size(); ++i)
      difference += (double{x[i]} - y[i]) * (double{x[i]} - y[i]), size += double{y[i]} * y[i];
  }
  return std::sqrt(difference / std::max(size, 1e-300));
}

/// The largest micro-batch up to the recipe's with which each of these numbers of ranks has the
/// same global batch.
std::int64_t micro_batch_for(const plan::BatchPlan& batch,
                             const std::vector<std::int64_t>& worlds) {
  for (const std::int64_t ranks : worlds) {
    if (batch.global_batch_size % ranks == 0) continue;
    const std::int64_t below = batch.global_batch_size / ranks * ranks;
    throw UserError(
        ExitCode::invalid_recipe,
        "verify: batch.global_batch_size (" + std::to_string(batch.global_batch_size) +
            ") is not a multiple of " + std::to_string(ranks) + " ranks; the nearest that are: " +
            (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + ranks));
  }
  std::int64_t micro = batch.micro_batch_size;
  const auto fits = [&](std::int64_t ranks) {
    return batch.global_batch_size / ranks % micro == 0;
  };
  while (!std::ranges::all_of(worlds, fits)) --micro;
  return micro;
}

bool multiplies_fp8(const recipe::Recipe& r) {
  return r.precision.products == recipe::Products::fp8;
}

/// Rounding of what the ranks compute in, over some steps of an optimizer that magnifies it.
struct Tolerance {
  double loss, weights;
  // of the first step, whose operands are made of equal weights
  double first_loss = loss, first_grad_norm = weights;
};
Tolerance tolerance_of(const recipe::Recipe& r) {
  const bool low = r.precision.compute == recipe::Compute::bf16 ||
                   r.precision.compute == recipe::Compute::fp16 ||
                   r.precision.reduce == recipe::Reduce::bf16;
  const Tolerance of_compute = low ? Tolerance{1e-2, 1e-2}
                               : r.precision.compute == recipe::Compute::tf32
                                   ? Tolerance{1e-3, 1e-3}
                                   : Tolerance{1e-5, 1e-4};
  if (!multiplies_fp8(r)) return of_compute;
  // sums in another order move an operand to the next number of e4m3, 6e-2 from it, now and then
  return {1e-2, 5e-2, of_compute.loss, of_compute.weights};
}

class Verification {
 public:
  Verification(const VerifyArguments& a, const Context& context)
      : a_(a), context_(context), base_(prepare(on_one(load(a.recipe, "verify")))) {
    folder_ = run_folder_of(base_.plan.recipe) + ".verify";
    fs::remove_all(folder_);  // of a verification that failed
  }

  std::vector<Difference> run() {
    std::vector<Cut> cuts;
    for (const std::int64_t ranks : a_.worlds)
      cuts.push_back(
          {std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"), {{ranks, a_.steps}}});
    const std::int64_t half = a_.steps / 2;
    cuts.push_back({cuts.front().name + ", stopped and resumed",
                    {{a_.worlds.front(), half}, {a_.worlds.front(), a_.steps}}});
    if (a_.worlds.size() > 1)
      cuts.push_back({cuts[a_.worlds.size() - 1].name + ", resumed with " + cuts.front().name,
                      {{a_.worlds.back(), half}, {a_.worlds.front(), a_.steps}}});
    std::vector<Difference> out;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      const std::string name = "cut-" + std::to_string(k), folder = folder_ + "/" + name;
      say(context_, "verify: " + cuts[k].name);
      for (const auto& [ranks, until] : cuts[k].parts) train(name, ranks, until, cuts[k].name);
      const Losses mine = losses_in(folder), first = losses_in(folder_ + "/cut-0");
      if (static_cast<std::int64_t>(mine.loss.size()) != a_.steps)
        throw UserError(ExitCode::not_as_asked, "verify: " + cuts[k].name + " logged " +
                                                    std::to_string(mine.loss.size()) +
                                                    " steps of " + std::to_string(a_.steps) + "; " +
                                                    folder + " holds what it did");
      out.push_back({cuts[k].name, largest_relative(mine.loss, first.loss),
                     largest_relative(mine.grad_norm, first.grad_norm),
                     weights_difference(folder + "/latest", folder_ + "/cut-0/latest"),
                     largest_relative({mine.loss.front()}, {first.loss.front()}),
                     largest_relative({mine.grad_norm.front()}, {first.grad_norm.front()}),
                     fallback_in(folder + "/latest")});
    }
    return out;
  }

  const std::string& folder() const { return folder_; }
  const recipe::Recipe& recipe() const { return base_.plan.recipe; }

 private:
  /// The batch as one rank cuts it.
  static recipe::LoadedRecipe on_one(recipe::LoadedRecipe loaded) {
    on_one_rank(loaded.recipe);
    return loaded;
  }

  /// The recipe as it is, but for its length, its cut, and what only a whole run needs.
  Prepared prepared(const std::string& name, std::int64_t ranks, std::int64_t until) const {
    auto loaded = load(a_.recipe, "verify");
    recipe::Recipe& r = loaded.recipe;
    const Duration once{static_cast<double>(a_.steps), Duration::Unit::steps};
    r.run.name = name;
    r.run.output_dir = folder_;
    r.run.duration = {static_cast<double>(until), Duration::Unit::steps};
    r.schedule = {};
    r.schedule.course = options::ConstantSchedule{};
    r.checkpoint = {};
    r.checkpoint.every.value = once;
    if (base_.plan.eval_samples > 0) r.eval.every = once, r.eval.batches.value = 1;
    r.generate = {};
    r.metrics.every = {1, Duration::Unit::steps};
    r.parallel.world_size.value = ranks;
    if (ranks == 1)
      r.parallel.mode = {}, r.parallel.shard_ranks = {}, r.precision.reduce = recipe::Reduce::fp32;
    if (ranks % r.parallel.pipeline != 0) {
      r.parallel.pipeline = r.parallel.pipeline_chunks = 1;
      r.parallel.pipeline_schedule = PipelineSchedule::one_f_one_b;
    }
    choose_degrees(loaded);
    std::int64_t &tensor = *r.parallel.tensor.value, &context = *r.parallel.context.value;
    const std::int64_t stage_ranks = ranks / r.parallel.pipeline;
    if (stage_ranks % tensor != 0) tensor = 1;
    const std::int64_t row_ranks = stage_ranks / tensor;
    if (row_ranks % context != 0) context = 1;
    const std::int64_t batches = row_ranks / context;
    if (row_ranks == 1 && ranks > 1)  // there is nobody to share shards with
      r.parallel.mode = {}, r.parallel.shard_ranks = {};
    if (stage_ranks % r.parallel.experts != 0) {
      r.parallel.experts = 1, r.parallel.experts_capacity = 0;
      r.parallel.experts_overflow = recipe::ExpertsOverflow::error;
    }
    const plan::BatchPlan& batch = base_.plan.batch;
    r.batch = {};
    r.batch.global_batch_size = batch.global_batch_size;
    // scales of fp8 follow the micro-batch: then all worlds have the same
    r.batch.micro_batch_size.value =
        micro_batch_for(batch, multiplies_fp8(r) ? a_.worlds : std::vector{batches});
    return prepare(std::move(loaded));
  }

  /// In place of auto what a plan for these ranks chooses.
  static void choose_degrees(recipe::LoadedRecipe& loaded) {
    if (loaded.recipe.parallel.batch_ranks()) return;
    const Prepared p = prepare(loaded);
    loaded.recipe.parallel.tensor = p.plan.recipe.parallel.tensor;
    loaded.recipe.parallel.context = p.plan.recipe.parallel.context;
  }

  void train(const std::string& name, std::int64_t ranks, std::int64_t until,
             const std::string& what) const {
    const Prepared p = prepared(name, ranks, until);
    if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
    launch::Job job = make_job("train", p, context_);
    job.output.quiet = true;
    job.output.json = false;
    launch::LaunchRequest wish;
    wish.world_size = static_cast<int>(ranks);
    wish.run_name = name;
    const auto nothing_set = [](const char*) { return std::string(); };
    const int code = launch::run_workers(job, launch::decide_membership(nothing_set, {}, wish),
                                         [](const std::string&) {});
    if (code != 0)
      throw UserError(static_cast<ExitCode>(code),
                      "verify: " + what + " ended with " + std::to_string(code) + " before step " +
                          std::to_string(until) + "; " + folder_ + " holds what it did");
  }

  const VerifyArguments& a_;
  const Context& context_;
  Prepared base_;
  std::string folder_;
};

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x == 0 ? "equal" : "%.1e", x);
  return text;
}

std::string fallback_words(const Difference& d) {
  const std::size_t products = d.fallback.size();
  return products == 0 ? "" : ", " + std::to_string(products) + " products fell back from fp8";
}

int run_verify(const VerifyArguments& a, const Context& context) {
  if (a.worlds.empty())
    throw UserError(ExitCode::usage,
                    "verify: --worlds takes numbers of ranks, e.g. --worlds 1,2,4");
  Verification verification(a, context);
  const Tolerance allowed = tolerance_of(verification.recipe());
  const auto differences = verification.run();
  // false for NaN
  const auto agrees = [&](const Difference& d) {
    return d.loss <= allowed.loss && d.weights <= allowed.weights &&
           d.first_loss <= allowed.first_loss && d.first_grad_norm <= allowed.first_grad_norm &&
           d.fallback == differences.front().fallback;
  };
  const bool all = std::ranges::all_of(differences, agrees);
  if (context.output.json) {
    nlohmann::json j{{"steps", a.steps},
                     {"agree", all},
                     {"allowed",
                      {{"loss", allowed.loss},
                       {"weights", allowed.weights},
                       {"first_loss", allowed.first_loss},
                       {"first_grad_norm", allowed.first_grad_norm}}}};
    for (const Difference& d : differences)
      j["cuts"].push_back({{"cut", d.name},
                           {"loss", d.loss},
                           {"grad_norm", d.grad_norm},
                           {"weights", d.weights},
                           {"first_loss", d.first_loss},
                           {"first_grad_norm", d.first_grad_norm},
                           {"fp8_fallback", d.fallback}});
    print(j.dump());
  } else {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Difference& d : differences)
      rows.emplace_back(d.name, &d == &differences.front()
                                    ? "what the others are held against" + fallback_words(d)
                                    : "loss " + scientific(d.loss) + ", gradient norm " +
                                          scientific(d.grad_norm) + ", weights " +
                                          scientific(d.weights) + ", first step's loss " +
                                          scientific(d.first_loss) + " and gradient norm " +
                                          scientific(d.first_grad_norm) + fallback_words(d) +
                                          (agrees(d) ? "" : "   more than allowed"));
    print("largest relative differences over " + std::to_string(a.steps) +
          " steps (allowed: loss " + scientific(allowed.loss) + ", weights " +
          scientific(allowed.weights) + ", first step's loss " + scientific(allowed.first_loss) +
          " and gradient norm " + scientific(allowed.first_grad_norm) + ")\n" +
          two_columns(rows, false));
  }
  if (!all)
    throw UserError(ExitCode::not_as_asked, "verify: the run's numbers depend on how it is cut; " +
                                                verification.folder() + " holds the runs");
  fs::remove_all(verification.folder());
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "verify", "Check that micro-batches, ranks and a resume do not change the result.");
  context.usage[command] = "CONFIG [key=value ...] [--worlds 1,2,4] [--steps N]";
  const auto a = std::make_shared<VerifyArguments>();
  add_recipe_arguments(*command, a->recipe);
  command
      ->add_option("--worlds", a->worlds,
                   "Numbers of ranks; the others are compared with the first (1,2).")
      ->delimiter(',')
      ->type_name("N,N,...")
      ->check(CLI::Range(1, 1 << 10));
  command->add_option("--steps", a->steps, "Steps of each (20).")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  command->footer(
      "The learning rate is constant. Nothing is left behind if all agree; exit code 79 if they "
      "differ.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_verify(*a, context); }; });
}

}  // namespace trainx::app
