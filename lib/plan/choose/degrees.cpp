#include "plan/choose/degrees.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "plan/batch.hpp"
#include "plan/explain/percent.hpp"
#include "recipe/rules.hpp"
#include <algorithm>
#include <array>

namespace trainx::plan {
namespace {

using Axis = int Degrees::*;
constexpr std::array<std::pair<const char*, Axis>, 3> axes{
    {{"parallel.tensor", &Degrees::tensor},
     {"parallel.context", &Degrees::context},
     {"parallel.pipeline", &Degrees::pipeline}}};

/// Are all of them multiples of the other's?
bool are_multiples(const Degrees& some, const Degrees& of) {
  return std::ranges::all_of(axes,
                             [&](const auto& a) { return some.*a.second % of.*a.second == 0; });
}

/// In how many they differ.
std::ptrdiff_t differing(const Degrees& a, const Degrees& b) {
  return std::ranges::count_if(axes,
                               [&](const auto& axis) { return a.*axis.second != b.*axis.second; });
}

// So that refusals and alternatives come at once.
constexpr int most_drafted = 8;

std::int64_t ranks_of(const recipe::Recipe& recipe) {
  return recipe.parallel.world_size.value.value_or(1);
}

std::vector<int> choices_of(const options::Auto<std::int64_t>& degree, std::int64_t world) {
  if (!degree.is_auto()) return {static_cast<int>(*degree.value)};
  std::vector<int> out;
  for (std::int64_t d = 1; d <= std::min(world, recipe::most_ranks_of_a_batch); ++d)
    if (world % d == 0) out.push_back(static_cast<int>(d));
  return out;
}

/// Why the samples of a step are no batches for so many ranks; "" if they are.
std::string why_no_batches(const recipe::Recipe& recipe, std::int64_t batches) {
  try {
    plan_batch(recipe.batch, batches, "ranks with a batch of their own");
  } catch (const UserError& refused) {
    if (refused.code() != ExitCode::invalid_recipe) throw;
    return refused.what();
  }
  return "";
}

/// A refusal without its key and without what would mend it.
std::string bare_reason(std::string why) {
  for (const auto& [name, axis] : axes) {
    const std::string key = name;
    if (!why.starts_with(key)) continue;
    const std::size_t is = why.find(", and "), colon = why.find(": ");
    if (why.starts_with(key + " is ") && is != std::string::npos)
      why.erase(0, is + 6);
    else if (colon == key.size())
      why.erase(0, colon + 2);
  }
  return why.substr(0, why.find("; "));
}

}  // namespace

std::vector<Degrees> degrees_of(const recipe::Recipe& recipe) {
  const std::int64_t world = ranks_of(recipe);
  std::vector<Degrees> out;
  for (const int tensor : choices_of(recipe.parallel.tensor, world))
    for (const int context : choices_of(recipe.parallel.context, world))
      for (const int pipeline : choices_of(recipe.parallel.pipeline, world))
        if (const Degrees degrees{tensor, context, pipeline}; world % degrees.ranks() == 0)
          out.push_back(degrees);
  std::ranges::stable_sort(out, {}, &Degrees::ranks);
  return out;
}

recipe::Recipe with_degrees(recipe::Recipe recipe, const Degrees& degrees) {
  recipe.parallel.tensor = {degrees.tensor};
  recipe.parallel.context = {degrees.context};
  recipe.parallel.pipeline = {degrees.pipeline};
  return recipe;
}

void draft_other_degrees(const recipe::Recipe& recipe, const DraftOf& draft_of, const Degrees& but,
                         const std::function<bool(const Degrees&, Drafted&)>& f) {
  int drafts = 0;
  for (const Degrees& degrees : degrees_of(recipe)) {
    if (degrees == but) continue;
    const recipe::Recipe other = with_degrees(recipe, degrees);
    if (!recipe::parallel_problems(other).empty()) continue;
    try {
      Drafted drafted = draft_of(other);
      if (!f(degrees, drafted) || ++drafts == most_drafted) return;
    } catch (const UserError& refused) {
      if (refused.code() != ExitCode::invalid_recipe) throw;
    }
  }
}

void DegreeSearch::or_refused(Candidate& candidate, const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& refused) {
    if (refused.code() != ExitCode::invalid_recipe) throw;
    candidate.refused = refused.what();
    candidate.fits = false;
  }
}

DegreeSearch::DegreeSearch(const recipe::Recipe& recipe, DraftOf draft_of, std::int64_t local_ranks)
    : recipe_(recipe), draft_of_(std::move(draft_of)), local_ranks_(local_ranks) {
  const std::int64_t world = ranks_of(recipe);
  const auto number = [](const auto& degree) { return static_cast<int>(degree.value.value_or(1)); };
  least_ = {number(recipe.parallel.tensor), number(recipe.parallel.context),
            number(recipe.parallel.pipeline)};
  const bool several_hosts = local_ranks < world && world % local_ranks == 0;
  for (const Degrees& degrees : degrees_of(recipe)) {
    Candidate& candidate = candidates_.emplace_back();
    candidate.degrees = degrees;
    candidate.crosses_hosts = several_hosts && local_ranks % degrees.tensor != 0;
  }
  if (candidates_.empty()) candidates_.emplace_back().degrees = least_;  // drafting says why
  look_at_all();
  const auto is_possible = [](const Candidate& c) { return c.choosing && c.refused.empty(); };
  if (std::ranges::none_of(candidates_, is_possible))
    throw UserError(ExitCode::invalid_recipe, candidates_.front().refused);
}

bool DegreeSearch::has_times() const {
  return std::ranges::any_of(candidates_, [](const Candidate& c) { return c.drafted.rates(); });
}

void DegreeSearch::look_at_all() {
  for (const bool crosses_hosts : {false, true})
    for (Candidate& candidate : candidates_)
      if (candidate.crosses_hosts == crosses_hosts && !(crosses_hosts && chosen()))
        look_at(candidate);
}

/// The same ranks, or fewer that divide them, cannot share layers or rows alone.
bool DegreeSearch::is_ruled_out(const Degrees& degrees) const {
  return std::ranges::any_of(candidates_, [&](const Candidate& c) {
    const bool is_of_one = differing(c.degrees, least_) <= 1;
    return are_multiples(degrees, c.degrees) && is_of_one && c.degrees != degrees &&
           c.degrees != least_ && !c.refused.empty() &&
           why_no_batches(recipe_, ranks_of(recipe_) / c.degrees.ranks()).empty();
  });
}

/// Even without memory's limits it takes nearly as long as the chosen, and so is not taken.
bool DegreeSearch::is_slower(Candidate& candidate) {
  const Candidate* const best = chosen();
  if (!best || !candidate.choosing || !has_times()) return false;
  if (candidate.least_s == 0 && candidate.refused.empty())
    or_refused(candidate, [&] { candidate.least_s = candidate.choosing->least_seconds(); });
  return candidate.refused.empty() && candidate.least_s >= (1 - worthwhile) * best->fastest_s;
}

/// More ranks exchange more, and each multiplies smaller matrices.
bool DegreeSearch::grows_from_slower(const Degrees& degrees) {
  return std::ranges::any_of(candidates_, [&](Candidate& c) {
    return c.degrees != degrees && c.degrees != least_ && are_multiples(degrees, c.degrees) &&
           is_slower(c);
  });
}

/// The least that are possible for one key alone: a plan names their price.
bool DegreeSearch::is_told(const Degrees& degrees) const {
  const auto is_first = [&](const auto& a) {
    const Axis axis = a.second;
    Degrees alone = least_;
    alone.*axis = degrees.*axis;
    return degrees.*axis > 1 && degrees == alone &&
           std::ranges::none_of(candidates_, [&](const Candidate& c) {
             alone.*axis = c.degrees.*axis;
             return c.choosing && c.degrees.*axis > 1 && c.degrees.*axis < degrees.*axis &&
                    c.degrees == alone;
           });
  };
  return std::ranges::any_of(axes, is_first);
}

void DegreeSearch::look_at(Candidate& candidate) {
  if (candidate.is_searched || !candidate.refused.empty()) return;
  const Candidate* const best = chosen();
  const bool is_wanted = !best || is_told(candidate.degrees);
  if (is_ruled_out(candidate.degrees)) return;
  if (!is_wanted && (!has_times() || grows_from_slower(candidate.degrees))) return;
  if (!candidate.choosing) draft(candidate);
  if (candidate.refused.empty() && !is_wanted && is_slower(candidate)) return;
  if (!candidate.refused.empty()) return;
  if (is_wanted) return search(candidate, std::numeric_limits<double>::infinity());
  const double chosen_s = best->fastest_s;
  search(candidate, (1 - worthwhile) * chosen_s);
  // it is taken: of its ways the simplest may take nearly as long as what was chosen before
  if (candidate.fits && !candidate.is_searched) search(candidate, chosen_s);
}

void DegreeSearch::draft(Candidate& candidate) {
  const recipe::Recipe recipe = with_degrees(recipe_, candidate.degrees);
  if (candidate.degrees != least_)
    if (const auto problems = recipe::parallel_problems(recipe); !problems.empty()) {
      candidate.refused = problems.front().message;
      return;
    }
  or_refused(candidate, [&] {
    candidate.drafted = draft_of_(recipe);
    candidate.choosing =
        std::make_unique<Choosing>(candidate.drafted.plan, candidate.drafted.rates(), local_ranks_);
  });
  if (times_.lr_table.empty()) times_ = candidate.drafted.times;
  candidate.drafted.times = {};
}

void DegreeSearch::search(Candidate& candidate, double limit_s) {
  or_refused(candidate, [&] {
    candidate.choosing->search(limit_s);
    candidate.is_searched = !candidate.choosing->passed_over();
    candidate.fits = candidate.choosing->fits();
    candidate.fastest_s = candidate.choosing->fastest_s();
    candidate.way = candidate.choosing->way();
  });
}

double DegreeSearch::fastest_s() const {
  double least_s = std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates_)
    if (c.fits) least_s = std::min(least_s, c.fastest_s);
  return least_s;
}

/// Null: none that fits.
DegreeSearch::Candidate* DegreeSearch::chosen() {
  const auto is_nearly_as_fast = [&, least_s = fastest_s()](const Candidate& c) {
    return c.fits && (1 - worthwhile) * c.fastest_s <= least_s;
  };
  const auto smallest = std::ranges::find_if(candidates_, is_nearly_as_fast);
  return smallest == candidates_.end() ? nullptr : &*smallest;
}

DegreeSearch::Candidate& DegreeSearch::best() {
  Candidate* best = chosen();
  if (best) {
    best->choosing->settle(fastest_s());
    best->way = best->choosing->way();
  } else {
    for (Candidate& c : candidates_)
      if (c.choosing && c.refused.empty() && (!best || c.way.takes.bytes < best->way.takes.bytes))
        best = &c;
  }
  best->drafted.times = times_;
  return *best;
}

bool DegreeSearch::leave_out(Candidate& candidate, const std::string& why) {
  candidate.refused = why;
  candidate.fits = false;
  look_at_all();
  return std::ranges::any_of(candidates_, &Candidate::fits);
}

DegreeSearch::Candidate* DegreeSearch::with(const Degrees& degrees) {
  const auto found = std::ranges::find(candidates_, degrees, &Candidate::degrees);
  return found == candidates_.end() ? nullptr : &*found;
}

/// What `number` in place of the chosen one would take.
std::string DegreeSearch::price(const Candidate& best, Candidate& other, int number) {
  const std::string would = std::to_string(number) + " would ";
  if (other.refused.empty() && !other.is_searched && !other.fits) {
    if (!other.choosing) draft(other);
    if (other.refused.empty()) search(other, std::numeric_limits<double>::infinity());
  }
  if (!other.refused.empty()) return would + "be refused: " + bare_reason(other.refused);
  const std::int64_t budget = best.drafted.plan.budget_bytes, bytes = other.way.takes.bytes,
                     saved = best.way.takes.bytes - bytes;
  if (!other.fits)
    return would + (budget > 0 && bytes > budget
                        ? "need " + human_bytes(bytes) + " of " + human_bytes(budget)
                        : "not fit");
  Decisions same = best.way.choice;
  same.tensor = other.degrees.tensor, same.context = other.degrees.context;
  same.pipeline = other.degrees.pipeline;
  same.shard = other.way.choice.shard;
  if (same.micro_batch_size * other.degrees.ranks() ==
      other.way.choice.micro_batch_size * best.degrees.ranks())
    same.micro_batch_size = other.way.choice.micro_batch_size;  // as many tokens for each rank
  const std::string changes = changes_of(other.way.choice, same, ", ");
  std::string text = std::to_string(number) + (changes.empty() ? "" : " with " + changes);
  const double cost =
      best.way.takes.seconds > 0 ? other.way.takes.seconds / best.way.takes.seconds - 1 : 0;
  const std::string memory = saved >= 0 ? "save " + human_bytes(saved) + ", which you do not need"
                                        : "take " + human_bytes(-saved) + " more";
  if (best.way.takes.seconds <= 0) return text + " would " + memory + "; its time is not known";
  return text + " would " +
         (cost >= 0 ? "cost " + percent(cost) + " of a step"
                    : "take " + percent(-cost) +
                          " of a step less, which is below what predictions are good for") +
         (cost >= 0 ? " and " : "; it would ") + memory;
}

std::string DegreeSearch::reason(const Candidate& best, int Degrees::*axis,
                                 const std::string& key) {
  Degrees other = best.degrees;
  if (best.degrees.*axis > 1) {
    other.*axis = 1;
    Candidate* const without = with(other);
    return without ? price(best, *without, 1) : "";
  }
  // one that was looked at, else the least that is refused, else the least
  const auto rank_of = [](const Candidate& c) {
    return !c.refused.empty() ? 1 : c.choosing ? 0 : 2;
  };
  Candidate* told = nullptr;
  for (Candidate& c : candidates_) {
    other.*axis = c.degrees.*axis;
    if (c.degrees.*axis > 1 && c.degrees == other && (!told || rank_of(c) < rank_of(*told)))
      told = &c;
  }
  return key + " 1: " +
         (told ? price(best, *told, told->degrees.*axis)
               : "no other ranks are left to share a batch");
}

DegreeReasons DegreeSearch::reasons(const Candidate& best) {
  DegreeReasons out;
  if (ranks_of(recipe_) == 1) return out;
  if (recipe_.parallel.tensor.is_auto())
    out.tensor = reason(best, &Degrees::tensor, "parallel.tensor");
  if (recipe_.parallel.context.is_auto())
    out.context = reason(best, &Degrees::context, "parallel.context");
  if (recipe_.parallel.pipeline.is_auto())
    out.pipeline = reason(best, &Degrees::pipeline, "parallel.pipeline");
  return out;
}

}  // namespace trainx::plan
