#include "search/cases.hpp"
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/search.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/needless.hpp"
#include "recipe/recipe.hpp"
#include <chrono>
#include <random>

namespace search_cases {

using namespace trainx;
using plan::Decisions, plan::Evaluation, plan::Evaluator, plan::Space;

namespace {

/// Numbers that are the same with every library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : of_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(of_() % n); }
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(all.size()));
  }
  bool one_of(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 of_;
};

std::string number(std::int64_t n) { return std::to_string(n); }

std::string model_of(Draw& draw, bool small) {
  const std::int64_t layers = small ? draw.of<std::int64_t>({1, 2, 3, 4, 5})
                                    : draw.of<std::int64_t>({6, 12, 16, 24, 32, 48, 80, 120, 200}),
                     hidden = small ? draw.of<std::int64_t>({256, 512})
                                    : draw.of<std::int64_t>({768, 1024, 2048, 4096, 8192});
  const std::string sizes = "num_layers: " + number(layers) + ", hidden_size: " + number(hidden) +
                            ", num_heads: " + number(hidden / 64) + ", max_positions: 4096";
  switch (draw.below(6)) {
    case 0:
      return "{type: bert, options: {" + sizes + ", mask_token: 103, special_tokens: [101, 102]}}";
    case 1: return "{type: llama, options: {" + sizes + ", num_key_value_heads: 4}}";
    case 2: return "{type: qwen3, options: {" + sizes + ", num_key_value_heads: 4}}";
    case 3: return "{type: gemma2, options: {" + sizes + ", num_key_value_heads: 4}}";
    case 4:
      return "{type: gpt2, options: {" + sizes +
             ", num_experts: 8, decoder_sparse_step: " + number(std::min<std::int64_t>(2, layers)) +
             ", capacity_factor: 0}}";
    default: return "{type: gpt2, options: {" + sizes + "}}";
  }
}

/// Whether as much is copied to the host and back, as far as times are not known.
bool is_on_same_places(const Decisions& a, const Decisions& b) {
  return a.activations == b.activations && a.optimizer == b.optimizer && a.weights == b.weights &&
         (a.activations == recipe::ActivationOffload::none || a.levels == b.levels);
}

/// A choice of a space by numbers.
struct Point {
  std::size_t mode = 0, experts = 0, micro = 0, on_host = 0, groups = 0;
  int depth = 0, turns = 0;
  bool casts = true;
};

class Points {
 public:
  explicit Points(const Space& space) : space_(space) {}

  std::optional<Decisions> at(const Point& p, const plan::Draft& plan) const {
    Decisions c = space_.written;
    c.mode = space_.modes[p.mode].mode, c.shard = space_.modes[p.mode].shard;
    c.experts = space_.experts[p.experts];
    c.micro_batch_size = space_.micro_batch_sizes[p.micro];
    if (space_.depth) space_.depth->write(p.depth, c);
    const plan::OnHost& host = space_.on_host[p.on_host];
    if (host.activations) c.activations = recipe::ActivationOffload::cpu;
    if (host.optimizer) c.optimizer = recipe::OptimizerOffload::cpu;
    if (host.weights) c.weights = recipe::ParameterOffload::cpu;
    c.groups_on_device = space_.groups_on_device[p.groups];
    const bool keeps = space_.keeps_weights && c.mode == recipe::ParallelMode::zero3;
    c.turns_kept = keeps ? p.turns : 0;
    c.casts_weights_once = p.casts;
    const int stage = recipe::zero_stage(c.mode);
    const bool optimizer = c.optimizer != recipe::OptimizerOffload::none,
               weights = c.weights != recipe::ParameterOffload::none;
    if (weights && (stage == 1 || stage == 2)) return std::nullopt;
    if (optimizer && stage > 0 && plan.update.unit == program::Unit::tensor) return std::nullopt;
    if (c.experts > 1 && (optimizer || weights)) return std::nullopt;
    return c;
  }

  Point drawn(Draw& draw) const {
    return {
        draw.below(space_.modes.size()),
        draw.below(space_.experts.size()),
        draw.below(space_.micro_batch_sizes.size()),
        draw.below(space_.on_host.size()),
        draw.below(space_.groups_on_device.size()),
        space_.depth
            ? draw.one_of(2)
                  ? static_cast<int>(draw.below(space_.depth->levels.size())) * space_.depth->layers
                  : static_cast<int>(draw.below(static_cast<std::size_t>(space_.depth->most() + 1)))
            : 0,
        draw.of({0, 8, 64, 1 << 20}),
        !space_.casts || draw.one_of(2)};
  }

  template <class Try>
  void all(const Try& attempt) const {
    Point p;
    for (p.mode = 0; p.mode < space_.modes.size(); ++p.mode)
      for (p.experts = 0; p.experts < space_.experts.size(); ++p.experts)
        for (p.micro = 0; p.micro < space_.micro_batch_sizes.size(); ++p.micro)
          for (p.on_host = 0; p.on_host < space_.on_host.size(); ++p.on_host)
            for (p.groups = 0; p.groups < space_.groups_on_device.size(); ++p.groups)
              for (p.depth = 0; p.depth <= (space_.depth ? space_.depth->most() : 0); ++p.depth)
                for (const int turns : {0, 4, 8, 16, 32, 64}) {
                  p.turns = turns;
                  if (turns > 0 && space_.modes[p.mode].mode != recipe::ParallelMode::zero3) break;
                  for (const bool casts : {true, false}) {
                    p.casts = casts;
                    if (casts || space_.casts) attempt(p);
                  }
                }
  }

 private:
  const Space& space_;
};

}  // namespace

Case drawn(std::uint64_t n, bool small) {
  Draw draw(2 * n + (small ? 1 : 0));
  Case c{.number = n, .small = small};
  c.gpu = draw.of<std::string>({"h200", "h100", "a100", "rtx4090", "rtx3090", "l40s"});
  const std::int64_t nodes = small ? 1 : draw.of<std::int64_t>({1, 1, 1, 2, 16, 128}),
                     of_node = small ? draw.of<std::int64_t>({1, 2, 4})
                                     : draw.of<std::int64_t>({1, 1, 2, 4, 8}),
                     world = nodes * of_node;
  c.local_ranks = of_node;
  const std::int64_t length = small ? 128 : draw.of<std::int64_t>({512, 1024, 2048, 4096}),
                     samples = small ? draw.of<std::int64_t>({2, 4, 6, 8})
                                     : draw.of<std::int64_t>({1, 4, 8, 12, 16, 64, 100});
  const std::string model = model_of(draw, small);
  const std::string budget =
      small
          ? number(static_cast<std::int64_t>(
                700 + draw.below(draw.of<std::size_t>({300, 1000, 3000})))) +
                " MiB"
          : draw.of<std::string>({"auto", "auto", "80 GiB", "40 GiB", "24 GiB", "12 GiB", "6 GiB"});
  const std::string mode = draw.of<std::string>({"auto", "auto", "ddp", "zero1", "zero3"});
  c.recipe =
      "model: " + model + "\ndata: {type: stories, sequence_length: " + number(length) +
      "}\nprecision: " + draw.of<std::string>({"bf16", "bf16", "fp32"}) +
      "\noptimizer: {type: " + draw.of<std::string>({"adamw", "adamw", "adamw_8bit", "sgd"}) +
      "}\nbatch: {global_batch_size: " + number(samples * world) + "}\nmemory: {fit: true" +
      (budget == "auto" ? "" : ", budget: " + budget) +
      "}\nparallel: {world_size: " + number(world) + (world > 1 ? ", mode: " + mode : "") + "}\n";
  return c;
}

facts::Facts facts_of(const Case& c) {
  facts::Facts f;
  f.hardware.cpu_cores = 16;
  f.hardware.memory_bytes = std::int64_t{512} << 30;
  f.hardware.local_ranks = c.local_ranks;
  f.data = {true, true, 100'000, 1'000, 0, {}, ""};
  return f;
}

bool Outcome::holds() const {
  if (!fits) return best_seconds == 0;
  return advised.empty() && (best_seconds == 0 || seconds <= best_seconds / (1 - 1.01e-2));
}

Outcome outcome_of(const Case& c, int samples) {
  Outcome out;
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const facts::Facts facts = facts_of(c);
  auto recipe = recipe::parse_recipe(c.recipe, "drawn").recipe;
  std::optional<plan::RunPlan> planned;
  try {
    planned = plan::make_run_plan(recipe, facts, {.gpu = c.gpu});
  } catch (const UserError& e) {
    out.choice = e.what();
    // sizes that no plan is made for: nothing is compared
    if (e.code() == ExitCode::invalid_recipe) return out;
    if (e.code() != ExitCode::out_of_memory) throw;
  }
  out.plan_seconds = since();
  out.fits = planned.has_value();
  // the problem as the search has it: of a machine on which anything fits
  auto roomy = recipe;
  roomy.memory.budget.value = ByteSize{std::int64_t{1} << 50};
  roomy.memory.fit = false;
  plan::RunPlan problem = plan::make_run_plan(roomy, facts, {.gpu = c.gpu});
  problem.recipe.memory = recipe.memory;
  problem.recipe.batch = recipe.batch;
  problem.recipe.parallel = recipe.parallel;
  problem.recipe.parallel.world_size.value = problem.mesh.world;
  problem.mode = recipe.parallel.mode.value.value_or(
      problem.mesh.world > 1 ? recipe::ParallelMode::ddp : recipe::ParallelMode::single);
  problem.mesh.shard = 1;
  problem.mesh.experts = 1;
  problem.turns_kept = 0;
  const std::int64_t budget = recipe.memory.budget.is_auto()
                                  ? hardware::hardware_named(c.gpu).memory_bytes
                                  : recipe.memory.budget.value->bytes,
                     host = plan::host_budget(problem, 0);
  problem.budget_bytes = budget;
  const Space space = plan::space_of(problem, plan::Freedom::to_fit, c.local_ranks);
  Evaluator evaluator(problem, problem.step_rates ? &*problem.step_rates : nullptr);
  plan::Search search(evaluator, {budget, host});
  Decisions chosen;
  if (planned) {
    chosen = plan::decisions_of(*planned);
    out.choice = plan::changes_of(chosen, Decisions{});
    out.seconds = evaluator.of(chosen).seconds;
  }
  std::optional<plan::Way> best;
  std::vector<plan::Way> fitting;
  const auto weigh = [&](const Point& p) {
    const auto choice = Points(space).at(p, problem);
    if (!choice) return;
    ++out.tried;
    // without the rate of copies nothing is said of the time that they take
    if (planned && !search.knows_copies() && !is_on_same_places(*choice, chosen)) return;
    if (!search.fits(*choice, evaluator.memory_of(*choice))) return;
    // what fits on the device is not put on the host, however fast that is said to be
    const plan::OnHost& host_of = space.on_host[p.on_host];
    for (const bool plan::OnHost::*what :
         {&plan::OnHost::activations, &plan::OnHost::optimizer, &plan::OnHost::weights}) {
      if (!(host_of.*what)) continue;
      Decisions without = *choice;
      if (what == &plan::OnHost::activations) without.activations = space.written.activations;
      if (what == &plan::OnHost::optimizer) without.optimizer = space.written.optimizer;
      if (what == &plan::OnHost::weights) without.weights = space.written.weights;
      if (search.fits(without, evaluator.memory_of(without))) return;
    }
    const plan::Way way{*choice, evaluator.of(*choice)};
    if (!best || way.takes.seconds < best->takes.seconds) best = way;
    if (c.small) fitting.push_back(way);
  };
  if (c.small) {
    Points(space).all(weigh);
  } else {
    Draw draw(c.number);
    for (int k = 0; k < samples; ++k) weigh(Points(space).drawn(draw));
  }
  if (best) out.best_seconds = best->takes.seconds;
  if (best) out.best = plan::changes_of(best->choice, chosen);
  // of all that are within 1 % of the fastest, the simplest
  if (c.small && best) {
    std::optional<plan::Way> simplest;
    for (const plan::Way& w : fitting)
      if ((1 - plan::worthwhile) * w.takes.seconds <= best->takes.seconds &&
          (!simplest || plan::is_simpler(w.choice, simplest->choice, space)))
        simplest = w;
    Decisions of_all = simplest->choice, mine = chosen;
    of_all.turns_kept = mine.turns_kept = 0;
    out.same = planned && of_all == mine;
  } else if (c.small) {
    out.same = !planned;
  }
  if (!planned) return out;
  for (const plan::Advice& a : plan::advise(*planned))
    if (!a.changes_training && a.more_bytes <= 0)
      out.advised += a.settings.front().key + " " + number(a.settings.front().better) + " ";
  for (const plan::Needless& n : plan::needless_levers(*planned))
    if (n.gain_s > 0 && (n.key != "parallel.mode" || recipe.parallel.mode.is_auto()))
      out.advised += n.key + " " + n.better + " ";
  return out;
}

}  // namespace search_cases
