// Every instruction and every wait matters: what is deleted, swapped or flipped is refused; what
// may be swapped comes out bit-equal.
#include "support/toy/programs.hpp"
#include "support/catch.hpp"
#include <utility>

namespace mutations_test {

using namespace toy;

namespace {

/// Meaning after a mutation: refused by the check, a different result, or neither.
enum class Outcome { refused, different, equal };

Outcome outcome(const Roles& roles, const Training& t, const Trained& want) {
  std::vector<Placement> at;
  for (const StepProgram& p : roles.programs) at.push_back(unplaced(p));
  const bool refused = !check(roles, at, t).empty();
  if (refused) return Outcome::refused;
  return run_in_order(roles, at, t, want, 5).empty() ? Outcome::equal : Outcome::different;
}

/// Do the two add to the same thing, and share nothing else?
bool commute(const Instruction& a, const Instruction& b) {
  for (const Use& x : a.uses)
    for (const Use& y : b.uses)
      if (x.buffer == y.buffer && (writes(x.how) || writes(y.how)) &&
          !(x.how == How::accumulate && y.how == How::accumulate))
        return false;
  return true;
}

std::string line(const StepProgram& p, const Instruction& i) {
  std::string s(name_of(i.op));
  for (const Use& u : i.uses) s += " " + p.buffers[u.buffer].name;
  return s;
}

template <class Mutate>
void each_instruction(const Example& example, Mutate mutate) {
  const Roles roles = example.roles();
  for (std::size_t role = 0; role < roles.programs.size(); ++role)
    for (std::size_t k = 0; k < roles.programs[role].steady.size(); ++k) {
      INFO("program (" << example.name << ") role " << role << ": "
                       << line(roles.programs[role], roles.programs[role].steady[k]));
      mutate(roles, role, k);
    }
}

}  // namespace

TEST_CASE("a deleted instruction is noticed") {
  for (const Example& example : examples()) {
    const Training t = example.training();
    const Trained want = train(t, 5);
    each_instruction(example, [&](Roles mutant, std::size_t role, std::size_t k) {
      auto& list = mutant.programs[role].steady;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
      CHECK(outcome(mutant, t, want) == Outcome::refused);  // before anything ran
    });
  }
}

TEST_CASE("swapped neighbours that meet are noticed, others change nothing") {
  for (const Example& example : examples()) {
    const Training t = example.training();
    const Trained want = train(t, 5);
    each_instruction(example, [&](Roles mutant, std::size_t role, std::size_t k) {
      auto& list = mutant.programs[role].steady;
      if (k + 1 == list.size()) return;
      // they meet the other role's
      const bool cross_ranks = mutant.programs.size() > 1 && is_collective(list[k].op) &&
                               is_collective(list[k + 1].op);
      const bool must_matter = cross_ranks ||
                               (meet(list[k], list[k + 1]) && !commute(list[k], list[k + 1]));
      std::swap(list[k], list[k + 1]);
      CHECK(outcome(mutant, t, want) == (must_matter ? Outcome::refused : Outcome::equal));
    });
  }
}

TEST_CASE("overwriting where accumulating is meant, and the reverse, is noticed") {
  int flipped = 0;
  for (const Example& example : examples()) {
    const Training t = example.training();
    const Trained want = train(t, 5);
    each_instruction(example, [&](const Roles& roles, std::size_t role, std::size_t k) {
      Roles mutant = roles;
      for (Use& u : mutant.programs[role].steady[k].uses) {
        if (u.how != How::overwrite && u.how != How::accumulate) continue;
        if (mutant.programs[role].buffers[u.buffer].role == Role::scratch) continue;
        const How before =
            std::exchange(u.how, u.how == How::overwrite ? How::accumulate : How::overwrite);
        ++flipped;
        CHECK(outcome(mutant, t, want) == Outcome::refused);  // before anything ran
        u.how = before;
      }
    });
  }
  CHECK(flipped > 100);
}

TEST_CASE("each derived wait is needed, and none is missing") {
  int waits = 0;
  for (const Example& example : examples())
    for (const StepProgram& p : example.roles().programs)
      for (const int overlap : {0, 1}) {
        const Placement at = plan_memory(p, {.alignment = 8, .overlap = overlap});
        const Order order = derive_order(p, at);
        REQUIRE(is_ordered(p, at, order));
        for (std::size_t k = 0; k < order.steady.size(); ++k)
          for (std::size_t w = 0; w < order.steady[k].size(); ++w) {
            Order less = order;
            less.steady[k].erase(less.steady[k].begin() + static_cast<std::ptrdiff_t>(w));
            INFO("program (" << example.name << ")");
            CHECK_FALSE(is_ordered(p, at, less));
            ++waits;
          }
      }
  CHECK(waits > 100);
}

TEST_CASE("a buffer moved to other bytes is refused or harmless") {
  std::minstd_rand random(9);
  int refused = 0;
  for (const Example& example : examples()) {
    const Training t = example.training();
    const Roles roles = example.roles();
    if (roles.programs.size() > 1) continue;
    const StepProgram& p = roles.programs[0];
    const Trained want = train(t, 5);
    for (int k = 0; k < 40; ++k) {
      Placement at = plan_memory(p, {.alignment = 8});
      const std::size_t b = random() % p.buffers.size();
      const Bytes room = at.peak_of(p.buffers[b].space) - p.buffers[b].bytes();
      at.base[b] = static_cast<Bytes>(random() % static_cast<unsigned>(room / 8 + 1)) * 8;
      if (!check(roles, {at}, t).empty())
        ++refused;
      else
        CHECK(run_in_order(roles, {at}, t, want, 5) == "");
    }
  }
  CHECK(refused > 50);
}

}  // namespace mutations_test
