#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

class Lowering {
 public:
  Lowering(StepProgram& p, DType gradients) : p_(p), gradients_(gradients) {}

  void apply() {
    for (Instruction& i : std::exchange(p_.steady, {})) {
      before_.clear();
      after_.clear();
      if (i.op == Op::reduce) lower_reduce(i);
      if (i.op == Op::scatter) lower_scatter(i);
      p_.steady.insert(p_.steady.end(), before_.begin(), before_.end());
      p_.steady.push_back(std::move(i));
      p_.steady.insert(p_.steady.end(), after_.begin(), after_.end());
    }
  }

 private:
  const Buffer& buffer(BufferId b) const { return p_.buffers[static_cast<std::size_t>(b)]; }

  /// The type in which the buffer's elements are sent.
  DType sent_type(BufferId b) const {
    return buffer(b).role == Role::gradient ? gradients_ : buffer(b).dtype;
  }

  BufferId add_transit(BufferId like) {
    Buffer b = buffer(like);
    b.name = "sent." + b.name;
    if (is_of_group(b)) b.role = Role::transit;
    b.dtype = sent_type(like);
    return add_buffer(p_, std::move(b));
  }

  Instruction move(Op op, const Instruction& of, BufferId from, BufferId to) const {
    const How how = op == Op::add ? How::accumulate : How::overwrite;
    return {op,
            none,
            of.micro,
            Lane::communication,
            {Use{from, How::read, CopySlot::from}, Use{to, how, CopySlot::to}}};
  }

  void lower_reduce(Instruction& i) {
    for (Use& u : i.uses) {
      const BufferId exact = u.buffer;
      if (sent_type(exact) == buffer(exact).dtype) continue;
      const BufferId sent = add_transit(exact);
      before_.push_back(move(Op::cast, i, exact, sent));
      u = Use{sent, u.how, u.slot};
      if (writes(u.how)) after_.push_back(move(Op::cast, i, sent, exact));
    }
  }

  void lower_scatter(Instruction& i) {
    for (Use& u : i.uses) {
      const BufferId own = u.buffer;
      const bool other_type = sent_type(own) != buffer(own).dtype;
      if (reads(u.how) && u.how != How::accumulate) {
        if (!other_type) continue;
        const BufferId sent = add_transit(own);
        before_.push_back(move(Op::cast, i, own, sent));
        u = Use{sent, u.how, u.slot};
      } else if (const bool adds = u.how == How::accumulate; adds || other_type) {
        const BufferId arrived = add_transit(own);
        after_.push_back(move(adds ? Op::add : Op::cast, i, arrived, own));
        u = Use{arrived, How::overwrite, u.slot};
      }
    }
  }

  StepProgram& p_;
  DType gradients_;
  std::vector<Instruction> before_, after_;  // of the instruction at hand
};

}  // namespace

StepProgram lower_collectives(StepProgram p, DType gradients) {
  enter(p, Pass::lower_collectives);
  Lowering(p, gradients).apply();
  return p;
}

}  // namespace trainx::passes
