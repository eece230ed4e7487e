#include "gpu/gemm.hpp"
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include "gpu/gemm_plan.hpp"
#include "gpu/gemm_tuning.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/own_gemm.hpp"

namespace trainx::gpu {

namespace {

/// What chooses an algorithm, as the name of a choice that is to be replayed.
std::string replay_key(const GemmProblem& p, const Alignments& a, std::int64_t workspace_bytes) {
  return key_of(p) + ", aligned " + std::to_string(a.a) + " " + std::to_string(a.b) + " " +
         std::to_string(a.c) + " " + std::to_string(a.d) + ", workspace " +
         std::to_string(workspace_bytes);
}

std::string machine_name(const CublasLt& lt) {
  int device = 0;
  cudaDeviceProp properties{};
  require(cudaGetDevice(&device), "no GPU for matrix products");
  require(cudaGetDeviceProperties(&properties, device), "no GPU for matrix products");
  return std::string(properties.name) + ", cuBLASLt " + std::to_string(lt.version());
}

}  // namespace

struct Gemm::State {
  struct Planned {
    Alignments alignments;
    std::int64_t workspace_bytes;
    GemmPlan plan;
    GemmChoice choice;
  };

  explicit State(std::string cache)
      : lt(CublasLt::instance()),
        machine(machine_name(lt)),
        cache_file(std::move(cache)),
        tuned(load_choices(cache_file, machine)) {
    cublasLtHandle_t made = nullptr;
    lt.require(lt.create(&made), "matrix products cannot be set up");
    handle.reset(made);
  }

  /// It points at the operands.
  Planned& planned(const GemmProblem& p, const GemmOperands& x, std::int64_t workspace_bytes) {
    const Alignments alignments = alignments_of(p, x);
    for (Planned& known : plans)
      if (known.plan.problem() == p && known.alignments == alignments &&
          known.workspace_bytes == workspace_bytes) {
        known.plan.point_at(x);
        return known;
      }
    GemmPlan plan(p);
    plan.point_at(x);
    GemmChoice choice = choose(plan, alignments, workspace_bytes);
    plans.push_back({alignments, workspace_bytes, std::move(plan), choice});
    return plans.back();
  }

  GemmChoice choose(const GemmPlan& plan, const Alignments& alignments,
                    std::int64_t workspace_bytes) const {
    const GemmProblem& p = plan.problem();
    if (const auto found = replayed.find(replay_key(p, alignments, workspace_bytes));
        found != replayed.end()) {
      if (plan.accepts(handle.get(), found->second, workspace_bytes)) return found->second;
      throw GpuError(
          ExitCode::unavailable,
          "GEMM " + describe(p) +
              ": cuBLASLt refuses the algorithm that an earlier process used; only without "
              "its stored choices can it be computed here");
    }
    const auto found = tuned.find(key_of(p));
    const bool usable = found != tuned.end() && alignments == Alignments() &&
                        plan.accepts(handle.get(), found->second, workspace_bytes);
    if (usable) return found->second;
    return plan.candidates(handle.get(), alignments, workspace_bytes, 1).front();
  }

  const CublasLt& lt;
  std::string machine, cache_file;
  Handle handle;
  std::vector<Planned> plans;
  std::vector<GemmProblem> considered;
  GemmChoices tuned;  // of the cache file and of this process
  GemmChoices fresh;  // of this process alone
  GemmChoices replayed;
};

Gemm::Gemm(std::string cache_file) : state_(std::make_unique<State>(std::move(cache_file))) {}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;

std::string Gemm::default_cache_file() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/trainx/gemm.json";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/trainx/gemm.json";
  return "";
}

const std::string& Gemm::machine() const { return state_->machine; }

void Gemm::run(const GemmProblem& p, const GemmOperands& x, const StreamSpace& space) {
  if (p.m == 0 || p.n == 0) return;
  if (p.own) return run_own_gemm(p, x, space.stream);
  if (p.k == 0) {  // a sum of nothing
    if (p.epilogue != GemmEpilogue::none || (p.accumulate && x.c && x.c != x.d))
      throw InternalError("GEMM " + describe(p) + " of empty operands");
    const auto element = static_cast<std::size_t>(size_of(p.result));
    const auto width = static_cast<std::size_t>(p.n) * element,
               pitch = static_cast<std::size_t>(p.ldd) * element;
    if (p.accumulate) return;
    require(cudaMemset2DAsync(x.d, pitch, 0, width, static_cast<std::size_t>(p.m), space.stream),
            "GEMM " + describe(p) + " cannot be zeroed");
    return;
  }
  State::Planned& planned = state_->planned(p, x, space.workspace_bytes);
  state_->lt.require(planned.plan.launch(state_->handle.get(), x, planned.choice, space),
                     "GEMM " + describe(p) + " failed");
}

void Gemm::consider(const GemmProblem& p) {
  if (std::ranges::find(state_->considered, p) == state_->considered.end())
    state_->considered.push_back(p);
}

std::vector<GemmProblem> Gemm::untuned(std::int64_t within_bytes) const {
  std::vector<GemmProblem> out;
  for (const State::Planned& known : state_->plans) {
    const GemmProblem& p = known.plan.problem();
    if (known.alignments == Alignments() && known.workspace_bytes == within_bytes &&
        !state_->tuned.contains(key_of(p)))
      out.push_back(p);
  }
  for (const GemmProblem& p : state_->considered)
    if (!state_->tuned.contains(key_of(p)) && std::ranges::find(out, p) == out.end())
      out.push_back(p);
  return out;
}

std::int64_t Gemm::tuning_bytes(const GemmProblem& p) { return operand_bytes(p); }

std::optional<GemmTimes> Gemm::tune(const GemmProblem& p, const StreamSpace& space, void* scratch,
                                    std::int64_t scratch_bytes, const GemmTuning& tuning) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return std::nullopt;
  std::optional<GemmPlan> plan;
  if (!p.own) plan.emplace(p);
  const auto known = state_->tuned.find(key_of(p));
  if (known != state_->tuned.end() &&
      (!plan || plan->accepts(state_->handle.get(), known->second, space.workspace_bytes)))
    return std::nullopt;
  if (scratch_bytes < operand_bytes(p))
    throw InternalError("GEMM " + describe(p) + " is tuned in " + std::to_string(operand_bytes(p)) +
                        " bytes, not " + std::to_string(scratch_bytes));
  const GemmChoice choice =
      plan ? fastest_candidate(state_->handle.get(), *plan, space, scratch, tuning)
           : timed_own_gemm(p, space, scratch, tuning);
  state_->tuned[key_of(p)] = choice;
  state_->fresh[key_of(p)] = choice;
  for (State::Planned& planned : state_->plans)
    if (planned.plan.problem() == p && planned.alignments == Alignments() &&
        choice.workspace_bytes <= planned.workspace_bytes)
      planned.choice = choice;
  return GemmTimes{choice.heuristic_ms, choice.chosen_ms, choice.candidates};
}

std::optional<double> Gemm::tuned_ms(const GemmProblem& p) const {
  const auto found = state_->tuned.find(key_of(p));
  if (found == state_->tuned.end()) return std::nullopt;
  return found->second.chosen_ms;
}

void Gemm::save_tuned() const {
  if (!state_->fresh.empty() && !state_->cache_file.empty())
    add_choices(state_->cache_file, state_->machine, state_->fresh);
}

std::string Gemm::choices() const {
  GemmChoices used = state_->replayed;
  for (const State::Planned& planned : state_->plans)
    used[replay_key(planned.plan.problem(), planned.alignments, planned.workspace_bytes)] =
        planned.choice;
  return nlohmann::json{{state_->machine, to_json(used)}}.dump();
}

void Gemm::replay(const std::string& choices) {
  const nlohmann::json json = nlohmann::json::parse(choices, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.size() != 1)
    throw InternalError("stored choices of matrix products cannot be read: " +
                        choices.substr(0, 200));
  if (!json.contains(state_->machine))
    throw GpuError(ExitCode::unavailable, "the run's matrix products were computed on " +
                                              json.begin().key() + ", here is " + state_->machine +
                                              ": the same bits cannot be had; go on on such a "
                                              "machine, or set run.deterministic to false");
  state_->replayed = choices_from(json[state_->machine]);
  state_->plans.clear();
}

}  // namespace trainx::gpu
