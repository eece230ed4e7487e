#include "tests/net/print_checks.hpp"
#include "plan/choose/offload.hpp"
#include "program/check.hpp"
#include "tests/net/written.hpp"
#include <algorithm>
#include <array>
#include <random>

namespace net {
namespace {

using namespace trainx;
using plan::PlacedProgram;
using program::Instruction;
using program::StepProgram;

constexpr std::size_t most_instructions = 260, most_ranks = 4;
constexpr int rounds = 2;  // of all kinds of damage

program::Reference reference_of(const plan::RunPlan& plan, const PlacedProgram& train) {
  program::Reference reference{&train.graph, plan.update, train.micro_steps};
  reference.update_in_backward = plan.recipe.optimizer.update_in_backward;
  if (plan::offloads_optimizer(plan) && plan::rounds_gradients(plan))
    for (const passes::OptimizerLocation l : plan::optimizer_locations(plan, train.graph.groups))
      reference.rounded_gradients.push_back(l != passes::OptimizerLocation::device);
  return reference;
}

class Damages {
 public:
  Damages(const plan::RunPlan& plan, int rank)
      : set_(plan.program_set),
        role_(set_.role_of(rank)),
        train_(set_.of(rank).train.front()),
        reference_(reference_of(plan, train_)),
        random_(train_.program.steady.size()) {}

  std::string text() {
    std::string out = "as it is: " + verdict(train_.program, train_.placement) + "\n";
    for (int round = 0; round < rounds; ++round)
      for (const auto& [name, damage] : kinds) {
        StepProgram p = train_.program;
        program::Placement at = train_.placement;
        const std::size_t i = drawn(p.steady.size());
        (this->*damage)(p, at, i);
        out += std::string(name) + " " + std::to_string(i) + ": " + verdict(p, at) + "\n";
      }
    return out + orders();
  }

 private:
  using Damage = void (Damages::*)(StepProgram&, program::Placement&, std::size_t);

  std::size_t drawn(std::size_t count) { return random_() % count; }

  std::string verdict(const StepProgram& p, const program::Placement& at) const {
    const auto ranks = static_cast<std::size_t>(std::max(1, p.mesh.world));
    std::vector<program::RankProgram> all;
    for (std::size_t r = 0; r < std::min(ranks, most_ranks); ++r) {
      const int role = set_.role_of(static_cast<int>(r));
      const PlacedProgram& other = set_.roles[static_cast<std::size_t>(role)].train.front();
      all.push_back(role == role_ ? program::RankProgram{&p, &at}
                                  : program::RankProgram{&other.program, &other.placement});
    }
    try {
      return program::check_program(all, ranks > most_ranks ? nullptr : &reference_);
    } catch (const std::exception& error) { return std::string("refused: ") + error.what(); }
  }

  void leave_out(StepProgram& p, program::Placement&, std::size_t i) {
    p.steady.erase(p.steady.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void repeat(StepProgram& p, program::Placement&, std::size_t i) {
    const Instruction again = p.steady[i];
    p.steady.insert(p.steady.begin() + static_cast<std::ptrdiff_t>(i), again);
  }
  void swap_with_next(StepProgram& p, program::Placement&, std::size_t i) {
    if (i + 1 < p.steady.size()) std::swap(p.steady[i], p.steady[i + 1]);
  }
  void use_otherwise(StepProgram& p, program::Placement&, std::size_t i) {
    if (p.steady[i].uses.empty()) return;
    program::How& how = p.steady[i].uses[drawn(p.steady[i].uses.size())].how;
    how = how == program::How::overwrite ? program::How::accumulate : program::How::overwrite;
  }
  /// Another one of the same size and type.
  void use_another(StepProgram& p, program::Placement&, std::size_t i) {
    if (p.steady[i].uses.empty()) return;
    program::Use& use = p.steady[i].uses[drawn(p.steady[i].uses.size())];
    const program::Buffer& mine = p.buffers[static_cast<std::size_t>(use.buffer)];
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].elements == mine.elements && p.buffers[b].dtype == mine.dtype &&
          static_cast<program::BufferId>(b) != use.buffer) {
        use.buffer = static_cast<program::BufferId>(b);
        return;
      }
  }
  void move(StepProgram& p, program::Placement& at, std::size_t i) {
    if (p.steady[i].uses.empty()) return;
    const program::Use& use = p.steady[i].uses[drawn(p.steady[i].uses.size())];
    program::Bytes& base = at.base[static_cast<std::size_t>(use.buffer)];
    base = base >= 256 ? base - 256 : base + 256;
  }

  static constexpr std::array<std::pair<std::string_view, Damage>, 6> kinds{{
      {"left out", &Damages::leave_out},
      {"repeated", &Damages::repeat},
      {"swapped with the next", &Damages::swap_with_next},
      {"used otherwise", &Damages::use_otherwise},
      {"another buffer", &Damages::use_another},
      {"moved", &Damages::move},
  }};

  /// Waits are the fewest: without one of them the program is in no order.
  std::string orders() {
    std::string out;
    const auto& waits = train_.order.steady;
    for (int round = 0; round < 4 && !waits.empty(); ++round) {
      const std::size_t i = drawn(waits.size());
      program::Order fewer = train_.order;
      if (fewer.steady[i].empty()) continue;
      fewer.steady[i].pop_back();
      out += "without a wait of " + std::to_string(i) + ": " +
             written(program::is_ordered(train_.program, train_.placement, fewer)) + "\n";
    }
    return out + "with all: " +
           written(program::is_ordered(train_.program, train_.placement, train_.order)) + "\n";
  }

  const plan::ProgramSet& set_;
  int role_;
  const PlacedProgram& train_;
  program::Reference reference_;
  std::mt19937 random_;
};

/// Whether two plans that differ in one thing have two fingerprints.
std::string fingerprints_text(const plan::RunPlan& plan) {
  const std::string as_it_is = plan::fingerprint(plan);
  const auto tells = [&](const std::string& name, const auto& change) {
    plan::RunPlan other = plan;
    change(other);
    return " " + name + "=" + written(plan::fingerprint(other) != as_it_is);
  };
  return "fingerprint tells" + tells("nothing", [](plan::RunPlan&) {}) +
         tells("seed", [](plan::RunPlan& p) { ++p.recipe.run.seed; }) +
         tells("budget", [](plan::RunPlan& p) { p.recipe.memory.budget = {}; }) +
         tells("rates", [](plan::RunPlan& p) { p.lr_table.back() += 1; }) +
         tells("program",
               [](plan::RunPlan& p) {
                 p.program_set.roles.front().train.back().program.steady.pop_back();
               }) +
         tells("place",
               [](plan::RunPlan& p) {
                 p.program_set.roles.front().train.back().placement.base.back() += 256;
               }) +
         "\n";
}

}  // namespace

std::string checks_text(const plan::RunPlan& plan, int rank) {
  if (plan.role(rank).train.front().program.steady.size() > most_instructions) return {};
  return Damages(plan, rank).text() + fingerprints_text(plan);
}

}  // namespace net
