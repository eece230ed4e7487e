// parallel.tensor, parallel.context and parallel.pipeline: auto: how many ranks share a batch.
#pragma once
#include "plan/choose/decide.hpp"
#include "plan/drafted.hpp"
#include <compare>
#include <memory>
#include <string>
#include <vector>

namespace trainx::plan {

struct Degrees {
  int tensor = 1, context = 1, pipeline = 1;
  int ranks() const { return tensor * context * pipeline; }  // that share a batch
  auto operator<=>(const Degrees&) const = default;
};

/// All degrees that divide the ranks, fewest ranks that share a batch first; numbers of the recipe
/// stay. Needs parallel.world_size; nothing: one rank.
std::vector<Degrees> degrees_of(const recipe::Recipe& recipe);

/// The recipe with numbers.
recipe::Recipe with_degrees(recipe::Recipe recipe, const Degrees& degrees);

/// Drafts the recipe with each of its degrees but `but` that the run can have, a few at most, until
/// `f` returns false. What `f` refuses as invalid is passed over.
void draft_other_degrees(const recipe::Recipe& recipe, const DraftOf& draft_of, const Degrees& but,
                         const std::function<bool(const Degrees&, Drafted&)>& f);

/// Why the degrees are what they are, as parts of sentences; "" where a recipe says them.
struct DegreeReasons {
  std::string tensor, context, pipeline;
};

/// Searches the choices of a run for each of its degrees, and takes the smallest with which a way
/// fits that is nearly the fastest of all. Without rates the
/// smallest that fits. Degrees that the run cannot have are left out, with the reason. Ranks that
/// have parts of layers are on one host unless nothing fits so.
class DegreeSearch {
 public:
  struct Candidate {
    Degrees degrees;
    bool crosses_hosts = false;  // ranks that have parts of layers
    std::string refused;         // why the run cannot have these degrees
    Drafted drafted;
    std::unique_ptr<Choosing> choosing;  // null: refused, or not looked at
    bool is_searched = false;            // for all ways, not for those alone that are faster
    double least_s = 0;                  // Choosing::least_seconds; 0: not known
    bool fits = false;
    double fastest_s = 0;  // of all ways that fit
    Way way;               // Choosing::way
  };

  /// Throws UserError 78 if the run can have no degrees.
  DegreeSearch(const recipe::Recipe& recipe, DraftOf draft_of, std::int64_t local_ranks);

  /// If nothing fits, the one that takes least.
  Candidate& best();
  DegreeReasons reasons(const Candidate& best);
  /// The whole plan of a candidate was refused. False: there is no other.
  bool leave_out(Candidate& candidate, const std::string& why);

 private:
  /// Notes what the run cannot have of the candidate's degrees.
  static void or_refused(Candidate& candidate, const std::function<void()>& f);
  bool has_times() const;
  void look_at_all();
  void look_at(Candidate& candidate);
  void draft(Candidate& candidate);
  void search(Candidate& candidate, double limit_s);
  bool is_ruled_out(const Degrees& degrees) const;
  bool is_told(const Degrees& degrees) const;
  bool is_slower(Candidate& candidate);
  bool grows_from_slower(const Degrees& degrees);
  double fastest_s() const;
  Candidate* chosen();
  Candidate* with(const Degrees& degrees);
  std::string price(const Candidate& best, Candidate& other, int number);
  std::string reason(const Candidate& best, int Degrees::*axis, const std::string& key);

  const recipe::Recipe recipe_;
  const DraftOf draft_of_;
  const std::int64_t local_ranks_;
  std::vector<Candidate> candidates_;
  Degrees least_;    // numbers of the recipe, else 1
  Timetable times_;  // of all candidates
};

}  // namespace trainx::plan
