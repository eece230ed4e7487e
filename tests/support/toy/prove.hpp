// All that is asked of a program: checked before and after placement, ordered, run in list order
// over poisoned bytes and on lanes with random delays, each time bit-equal to loops. Returns the
// first thing that does not hold.
#pragma once
#include "program/check.hpp"
#include "support/toy/reference.hpp"

namespace toy {

struct Proof {
  int steps = 5;
  bool on_lanes = true;
  unsigned seed = 1;
  std::vector<PlacementOptions> placements = {{.alignment = 8, .overlap = 0},
                                              {.alignment = 256, .overlap = 1}};
};

inline Reference as_reference(const Training& t) {
  return {t.graph,
          t.update,
          t.micro_steps,
          t.update_reads_norm2,
          t.update_in_backward,
          t.rounded_gradients};
}

/// Programs by role, and the role of each rank.
struct Roles {
  std::vector<StepProgram> programs;
  std::vector<std::size_t> of_rank;
};

/// Ranks with memories of their own, residents loaded, everything else NaN.
struct Cluster {
  std::vector<Memory> memories;
  std::vector<RankProgram> ranks;
  Cluster(const Roles& roles, const std::vector<Placement>& at) : memories(roles.of_rank.size()) {
    for (std::size_t r = 0; r < memories.size(); ++r) {
      const std::size_t role = roles.of_rank[r];
      memories[r].assign(arena_words(at[role]), nothing());
      ranks.push_back({&roles.programs[role], &at[role], &memories[r]});
      load_residents(ranks.back(), static_cast<int>(r));
    }
  }
};

inline std::string check(const Roles& roles, const std::vector<Placement>& at, const Training& t) {
  std::vector<program::RankProgram> ranks;
  for (const std::size_t role : roles.of_rank) ranks.push_back({&roles.programs[role], &at[role]});
  const Reference reference = as_reference(t);
  return check_program(ranks, &reference);
}

inline std::string run_in_order(const Roles& roles, const std::vector<Placement>& at,
                                const Training& t, const Trained& want, int steps) {
  Cluster cluster(roles, at);
  Machine machine(*t.graph, cluster.ranks, t.overflow);
  machine.run_in_order(steps);
  return difference(machine, want);
}

inline std::string run_lanes(const Roles& roles, const std::vector<Placement>& at,
                             const std::vector<Order>& orders, const Training& t,
                             const Trained& want, int steps, unsigned seed) {
  Cluster cluster(roles, at);
  Machine machine(*t.graph, cluster.ranks, t.overflow);
  std::vector<const Order*> of_rank;
  for (const std::size_t role : roles.of_rank) of_rank.push_back(&orders[role]);
  run_on_lanes(machine, of_rank, steps, seed);
  return difference(machine, want);
}

inline std::string prove(const Roles& roles, const Training& t, const Proof& proof = {}) {
  std::vector<Placement> at;
  for (const StepProgram& p : roles.programs) at.push_back(unplaced(p));
  if (const auto s = check(roles, at, t); !s.empty()) return "before placement: " + s;
  const Trained want = train(t, proof.steps);
  if (const auto s = run_in_order(roles, at, t, want, proof.steps); !s.empty())
    return "in order, before placement: " + s;
  for (const PlacementOptions& options : proof.placements) {
    std::vector<Order> orders;
    at.clear();
    for (const StepProgram& p : roles.programs) {
      at.push_back(plan_memory(p, options));
      orders.push_back(derive_order(p, at.back()));
      if (!is_ordered(p, at.back(), orders.back())) return "not ordered";
    }
    if (const auto s = check(roles, at, t); !s.empty()) return "placed: " + s;
    if (const auto s = run_in_order(roles, at, t, want, proof.steps); !s.empty())
      return "in order: " + s;
    if (!proof.on_lanes) continue;
    if (const auto s = run_lanes(roles, at, orders, t, want, proof.steps, proof.seed); !s.empty())
      return "on lanes: " + s;
  }
  return "";
}

inline std::string prove(const StepProgram& p, const Training& t, const Proof& proof = {}) {
  return prove(Roles{{p}, std::vector<std::size_t>(static_cast<std::size_t>(t.world), 0)}, t,
               proof);
}

}  // namespace toy
