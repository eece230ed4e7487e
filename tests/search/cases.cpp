#include "search/cases.hpp"
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "plan/choose/degrees.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/search.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/needless.hpp"
#include "recipe/recipe.hpp"
#include "recipe/rules.hpp"
#include <chrono>
#include <memory>
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

std::string model_of(Draw& draw, Kind kind) {
  const bool small = kind.small;
  const std::int64_t layers = small ? draw.of<std::int64_t>({1, 2, 3, 4, 5})
                                    : draw.of<std::int64_t>({6, 12, 16, 24, 32, 48, 80, 120, 200}),
                     hidden = small ? draw.of<std::int64_t>({256, 512})
                                    : draw.of<std::int64_t>({768, 1024, 2048, 4096, 8192});
  const std::string sizes = "num_layers: " + number(layers) + ", hidden_size: " + number(hidden) +
                            ", num_heads: " + number(hidden / 64) +
                            ", max_positions: " + number(kind.degrees ? 32768 : 4096);
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
    const bool in_parts = stage > 0 || c.experts > 1 || c.tensor > 1;
    if (optimizer && in_parts && plan.update.unit == program::Unit::tensor) return std::nullopt;
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

std::optional<Kind> kind_named(const std::string& name) {
  for (const bool small : {false, true})
    for (const bool degrees : {false, true})
      if (name == std::string(small ? "small" : "large") + (degrees ? "_degrees" : ""))
        return Kind{small, degrees};
  return std::nullopt;
}

Case drawn(std::uint64_t n, Kind kind) {
  const bool small = kind.small;
  Draw draw((kind.degrees ? std::uint64_t{1} << 40 : 0) + 2 * n + (small ? 1 : 0));
  Case c{.number = n, .kind = kind};
  c.gpu = draw.of<std::string>({"h200", "h100", "a100", "rtx4090", "rtx3090", "l40s"});
  const std::int64_t nodes = !small         ? draw.of<std::int64_t>({1, 1, 1, 2, 16, 128})
                             : kind.degrees ? draw.of<std::int64_t>({1, 1, 2})
                                            : 1,
                     of_node = kind.degrees ? draw.of<std::int64_t>({2, 3, 4, small ? 4 : 8})
                               : small      ? draw.of<std::int64_t>({1, 2, 4})
                                            : draw.of<std::int64_t>({1, 1, 2, 4, 8}),
                     world = nodes * of_node;
  c.local_ranks = of_node;
  const std::int64_t length = kind.degrees
                                  ? draw.of<std::int64_t>({128, 1024, small ? 2048 : 32768})
                              : small ? 128
                                      : draw.of<std::int64_t>({512, 1024, 2048, 4096}),
                     samples = small ? draw.of<std::int64_t>({2, 4, 6, 8})
                                     : draw.of<std::int64_t>({1, 4, 8, 12, 16, 64, 100});
  const std::string model = model_of(draw, kind);
  const std::string budget =
      small
          ? number(static_cast<std::int64_t>((kind.degrees ? 1500 : 700) +
                                             draw.below(draw.of<std::size_t>({300, 1000, 3000})))) +
                " MiB"
          : draw.of<std::string>({"auto", "auto", "80 GiB", "40 GiB", "24 GiB", "12 GiB", "6 GiB"});
  const std::string mode = draw.of<std::string>({"auto", "auto", "ddp", "zero1", "zero3"}),
                    degrees = !kind.degrees
                                  ? ""
                                  : draw.of<std::string>({", tensor: auto", ", context: auto",
                                                          ", tensor: auto, context: auto"});
  // fewer samples than ranks, too
  const std::int64_t global = kind.degrees && draw.one_of(3) ? samples : samples * world;
  c.recipe =
      "model: " + model + "\ndata: {type: stories, sequence_length: " + number(length) +
      "}\nprecision: " + draw.of<std::string>({"bf16", "bf16", "fp32"}) +
      "\noptimizer: {type: " + draw.of<std::string>({"adamw", "adamw", "adamw_8bit", "sgd"}) +
      "}\nbatch: {global_batch_size: " + number(global) + "}\nmemory: {fit: true" +
      (budget == "auto" ? "" : ", budget: " + budget) +
      "}\nparallel: {world_size: " + number(world) + (world > 1 ? ", mode: " + mode : "") +
      degrees + "}\n";
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
  return advised.empty() && !crosses &&
         (best_seconds == 0 || seconds <= best_seconds / (1 - 1.01e-2));
}

namespace {

/// The choices of a run with some degrees, as the search has them.
class Problem {
 public:
  Problem(plan::Drafted drafted, const Case& c)
      : draft(std::move(drafted.plan)),
        space(plan::space_of(draft, plan::Freedom::to_fit, c.local_ranks)),
        evaluator(draft, drafted.rates()),
        search(evaluator, plan::budget_of(draft)) {}
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  plan::Degrees degrees() const {
    return {draft.mesh.tensor, draft.mesh.context, draft.mesh.pipeline};
  }
  /// Ranks that have parts of layers.
  bool crosses_hosts() const {
    return draft.mesh.world > draft.local_ranks && draft.local_ranks % draft.mesh.tensor != 0;
  }

  const plan::Draft draft;
  const Space space;
  Evaluator evaluator;
  plan::Search search;
};

/// Of all degrees that the run can have.
std::vector<std::unique_ptr<Problem>> problems_of(const recipe::Recipe& recipe, const Case& c) {
  std::vector<std::unique_ptr<Problem>> out;
  for (const plan::Degrees& degrees : plan::degrees_of(recipe)) {
    const recipe::Recipe with = plan::with_degrees(recipe, degrees);
    if (!recipe::parallel_problems(with).empty()) continue;
    try {
      out.push_back(
          std::make_unique<Problem>(plan::draft_run(with, facts_of(c), {.gpu = c.gpu}), c));
    } catch (const UserError& refused) {
      if (refused.code() != ExitCode::invalid_recipe) throw;
    }
  }
  return out;
}

/// Whether the way is possible and fits, and with less on the host nothing does: what fits on the
/// device is not put on the host, however fast that is said to be.
bool counts(Problem& of, const Decisions& choice, const plan::OnHost& host) {
  const auto fits = [&](const Decisions& c) {
    try {
      return of.search.fits(c, of.evaluator.memory_of(c));
    } catch (const UserError& refused) {
      if (refused.code() != ExitCode::invalid_recipe) throw;
      return false;
    }
  };
  if (!fits(choice)) return false;
  const Decisions& written = of.space.written;
  Decisions without = choice;
  if (host.activations && (without.activations = written.activations, fits(without))) return false;
  without = choice;
  if (host.optimizer && (without.optimizer = written.optimizer, fits(without))) return false;
  without = choice;
  return !(host.weights && (without.weights = written.weights, fits(without)));
}

struct Weighed {
  Problem* of = nullptr;
  plan::Way way;
};

/// Of all that are within 1 % of the fastest, the simplest: the fewest ranks that share a batch
/// first.
Decisions simplest_of(const std::vector<Weighed>& fitting, double best_s) {
  const Weighed* simplest = nullptr;
  for (const Weighed& w : fitting)
    if ((1 - plan::worthwhile) * w.way.takes.seconds <= best_s &&
        (!simplest || (w.of == simplest->of &&
                       plan::is_simpler(w.way.choice, simplest->way.choice, w.of->space))))
      simplest = &w;
  return simplest->way.choice;
}

}  // namespace

Outcome outcome_of(const Case& c, int samples) {
  Outcome out;
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto recipe = recipe::parse_recipe(c.recipe, "drawn").recipe;
  std::optional<plan::RunPlan> planned;
  try {
    planned = plan::make_run_plan(recipe, facts_of(c), {.gpu = c.gpu});
  } catch (const UserError& e) {
    out.choice = e.what();
    if (e.code() != ExitCode::invalid_recipe && e.code() != ExitCode::out_of_memory) throw;
    // sizes that no plan is made for: nothing is compared
    if (e.code() == ExitCode::invalid_recipe && !c.kind.degrees) return out;
  }
  out.plan_seconds = since();
  out.fits = planned.has_value();
  const auto problems = problems_of(recipe, c);
  Decisions chosen;
  bool chosen_crosses = false;
  for (const auto& of : problems) {
    if (!planned || of->degrees() != plan::Degrees{planned->mesh.tensor, planned->mesh.context,
                                                   planned->mesh.pipeline})
      continue;
    chosen = plan::decisions_of(*planned);
    chosen_crosses = of->crosses_hosts();
    out.choice = plan::changes_of(chosen, Decisions{});
    out.seconds = of->evaluator.of(chosen).seconds;
  }
  std::optional<Weighed> best;
  std::vector<Weighed> fitting;
  const auto weigh = [&](Problem& of, const Point& p) {
    const auto choice = Points(of.space).at(p, of.draft);
    if (!choice) return;
    ++out.tried;
    // without the rate of copies nothing is said of the time that they take
    if (planned && !of.search.knows_copies() && !is_on_same_places(*choice, chosen)) return;
    if (planned && of.crosses_hosts() && !chosen_crosses) return;
    if (!counts(of, *choice, of.space.on_host[p.on_host])) return;
    out.crosses = out.crosses || (chosen_crosses && !of.crosses_hosts());
    const Weighed way{&of, {*choice, of.evaluator.of(*choice)}};
    if (!best || way.way.takes.seconds < best->way.takes.seconds) best = way;
    if (c.kind.small) fitting.push_back(way);
  };
  if (c.kind.small) {
    for (const auto& of : problems) Points(of->space).all([&](const Point& p) { weigh(*of, p); });
  } else {
    Draw draw(c.number);
    for (int k = 0; k < samples; ++k) {
      Problem& of = *problems[problems.size() > 1 ? draw.below(problems.size()) : 0];
      weigh(of, Points(of.space).drawn(draw));
    }
  }
  if (best) {
    out.best_seconds = best->way.takes.seconds;
    out.best = plan::changes_of(best->way.choice, chosen);
  }
  if (c.kind.small && best) {
    Decisions of_all = simplest_of(fitting, out.best_seconds), mine = chosen;
    of_all.turns_kept = mine.turns_kept = 0;
    out.same = planned && of_all == mine;
    if (!out.same) out.simplest = plan::changes_of(of_all, chosen);
  } else if (c.kind.small) {
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
