#include "program/rules.hpp"
#include "program/segments.hpp"

namespace trainx::program {
namespace {

class RuleCheck {
 public:
  RuleCheck(const StepProgram& p, const Placement& at) : p_(p), segments_(p, at) {
    const auto n = static_cast<std::size_t>(segments_.count());
    holds_.assign(n, none);
    unread_.assign(n, false);
    read_in_.assign(n, 0);
    written_in_.assign(n, 0);
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].resident)
        each(segments_.of(static_cast<BufferId>(b)),
             [&](std::size_t s) { holds_[s] = static_cast<BufferId>(b); });
    // The loader hands over a whole record, also what the model ignores.
    ignored_.assign(p.buffers.size(), false);
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      ignored_[b] = p.buffers[b].role == Role::batch;
    for (const auto* list : {&p.once, &p.steady})
      for (const Instruction& i : *list)
        for (const Use& u : i.uses)
          if (reads(u.how)) ignored_[u.buffer] = false;
  }

  std::string run() {
    walk(p_.once);
    for (int round = 0; round < 3; ++round) walk(p_.steady);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].resident)
        each(segments_.of(static_cast<BufferId>(b)), [&](std::size_t s) {
          if (holds_[s] != static_cast<BufferId>(b))
            complain(p_.buffers[b].name + " is lost: its bytes hold " + name_held(s));
        });
    for (std::size_t s = 0; s < holds_.size(); ++s)
      if (unread_[s] && holds_[s] != none && !p_.buffers[holds_[s]].resident)
        complain(name_held(s) + " is written and never read");
    return problem_;
  }

 private:
  template <class Visit>
  static void each(Segments::Run run, Visit visit) {
    for (int s = run.begin; s < run.end; ++s) visit(static_cast<std::size_t>(s));
  }
  const Buffer& buffer(const Use& u) const { return p_.buffers[u.buffer]; }
  std::string name_held(std::size_t s) const {
    return holds_[s] == none ? "nothing" : p_.buffers[holds_[s]].name;
  }
  void complain(std::string sentence) {
    if (problem_.empty()) problem_ = std::move(sentence);
  }

  void walk(const std::vector<Instruction>& list) {
    for (std::size_t k = 0; k < list.size() && problem_.empty(); ++k)
      check(static_cast<int>(k), list[k]);
  }

  void check(int k, const Instruction& i) {
    const auto where = [&] {
      return std::string(name_of(i.op)) + " at position " + std::to_string(k) + ": ";
    };
    const bool may_go_with_collectives = i.op == Op::cast || i.op == Op::add;
    if (is_collective(i.op) ? i.lane != Lane::communication
                            : i.lane == Lane::communication && !may_go_with_collectives)
      return complain(where() + "belongs in the communication lane, and only collectives do");
    ++stamp_;
    for (const Use& u : i.uses) {
      if (!reads(u.how)) continue;
      each(segments_.of(u.buffer), [&](std::size_t s) {
        if (holds_[s] != u.buffer)
          complain(where() + buffer(u).name + " is read where its bytes hold " + name_held(s));
        unread_[s] = false;
        if (u.how == How::read) read_in_[s] = stamp_;
      });
    }
    for (const Use& u : i.uses) {
      if (!writes(u.how)) continue;
      const bool to_be_read = buffer(u).role != Role::scratch && i.op != Op::predict &&
                              !ignored_[u.buffer];
      each(segments_.of(u.buffer), [&](std::size_t s) {
        if (read_in_[s] == stamp_ || written_in_[s] == stamp_)
          complain(where() + buffer(u).name + " shares bytes with another operand");
        written_in_[s] = stamp_;
        if (unread_[s]) complain(where() + name_held(s) + " is overwritten and was never read");
        holds_[s] = u.buffer;
        unread_[s] = to_be_read;
      });
    }
    for (const Use& u : i.uses)
      if (buffer(u).role == Role::scratch)
        each(segments_.of(u.buffer), [&](std::size_t s) { holds_[s] = none; });
  }

  const StepProgram& p_;
  Segments segments_;
  std::vector<BufferId> holds_;            // by segment: whose data lies there
  std::vector<char> unread_;               // ... and that nobody has read it since it was written
  std::vector<int> read_in_, written_in_;  // by segment: the last instruction that did
  std::vector<char> ignored_;              // by buffer
  int stamp_ = 0;
  std::string problem_;
};

}  // namespace

std::string check_rules(const StepProgram& p, const Placement& at) {
  for (const auto* list : {&p.once, &p.steady})
    for (const Instruction& i : *list)
      for (const Use& u : i.uses) {
        if (u.buffer < 0 || static_cast<std::size_t>(u.buffer) >= p.buffers.size())
          return std::string(name_of(i.op)) + " uses a buffer that does not exist";
        if (const Buffer& b = p.buffers[u.buffer]; b.bytes() == 0)
          return std::string(name_of(i.op)) + " uses " + b.name + ", which is empty";
      }
  return RuleCheck(p, at).run();
}

}  // namespace trainx::program
