#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <map>

namespace trainx::passes {

using namespace program;

namespace {

class ExpertParallel {
 public:
  ExpertParallel(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update)
      : p_(p),
        graph_(graph),
        update_(update),
        parts_(parts_of_values(graph)),
        made_by_experts_(graph.values.size()) {
    for (const BlockSpec& b : graph.blocks)
      if (const auto forward = b.phases.find(Op::forward); b.parts > 1 && forward != b.phases.end())
        for (const SlotUse& u : forward->second.uses)
          if (const SlotSpec& s = b.slots[static_cast<std::size_t>(u.slot)];
              writes(u.how) && s.role == Role::value)
            made_by_experts_[static_cast<std::size_t>(s.index)] = true;
  }

  void apply() {
    keep_own_experts();
    behind_.resize(p_.steady.size());
    exchange_values();
    sum_norms();
    insert();
    sum_over_tensors(p_, graph_, update_);
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }

  /// Of experts' weights, gradients and states, those of one's own.
  void keep_own_experts() {
    for (Buffer& b : p_.buffers) {
      if (!is_of_group(b)) continue;
      const GroupSpec& group = graph_.groups[static_cast<std::size_t>(b.index)];
      if (group.parts == 1) continue;
      if (group.parts != p_.mesh.experts)
        throw InternalError("expert_parallel: " + group.name + " is in other parts than the ranks");
      if (b.unit == Unit::tensor) continue;  // as in zero: each rank moves it on
      b.layout = b.layout.cut(axes::expert);
      b.elements = b.role == Role::state
                       ? local_entries(update_.states[static_cast<std::size_t>(b.item)], group,
                                       b.layout, p_.mesh)
                       : b.elements / group.parts;
      b.name += "/";
    }
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses)
        if (buffer(u.buffer).is_cut()) u.range = {0, buffer(u.buffer).bytes()};
  }

  /// Is it made on one side of the exchange, of tokens or of experts, and read on the other?
  bool crosses(const Buffer& b, bool reader_is_of_experts) const {
    if (b.role != Role::value && b.role != Role::value_gradient) return false;
    const auto value = static_cast<std::size_t>(b.index);
    if (parts_[value] == 1) return false;
    const bool by_experts = made_by_experts_[value] == (b.role == Role::value);
    return by_experts != reader_is_of_experts;
  }

  /// What the other side reads goes there once it is complete.
  void exchange_values() {
    std::vector<int> writer(p_.buffers.size(), none);  // the last so far
    std::map<BufferId, BufferId> arrived;
    std::map<int, Instruction> exchanges;  // by position of the writer
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      for (Use& u : i.uses) {
        const BufferId sent = u.buffer;
        if (writes(u.how) && static_cast<std::size_t>(sent) < writer.size())
          writer[static_cast<std::size_t>(sent)] = static_cast<int>(k);
        if (!is_of_block(i) || u.how != How::read ||
            !crosses(buffer(sent), graph_.blocks[static_cast<std::size_t>(i.block)].parts > 1))
          continue;
        const auto [at, is_new] = arrived.try_emplace(sent, none);
        if (is_new) {
          Buffer other = buffer(sent);
          other.name += "@";
          at->second = add_buffer(p_, std::move(other));
          const int last = writer[static_cast<std::size_t>(sent)];
          if (last == none)
            throw InternalError("expert_parallel: nothing writes " + buffer(sent).name);
          const auto [exchange, first] = exchanges.try_emplace(
              last, Instruction{Op::all_to_all, none, i.micro, Lane::communication});
          exchange->second.along = axes::expert;
          const int thing = static_cast<int>(exchange->second.uses.size()) / 2;
          exchange->second.uses.push_back(whole(p_, sent, How::read, ShardSlot::from(thing)));
          exchange->second.uses.push_back(
              whole(p_, at->second, How::overwrite, ShardSlot::to(thing)));
        }
        u.buffer = at->second;
      }
    }
    for (auto& [position, exchange] : exchanges)
      behind_[static_cast<std::size_t>(position)].push_back(std::move(exchange));
  }

  bool is_of_experts(const Use& u) { return buffer(u.buffer).layout.is_cut_along(axes::expert); }

  /// Experts of all ranks have a part of the norm; of all other gradients each rank has the same.
  void sum_norms() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& norm = p_.steady[k];
      const auto gradient = [](const Use& u) { return u.slot >= NormSlot::first_gradient; };
      if (norm.op != Op::grad_norm ||
          std::ranges::none_of(norm.uses, [&](const Use& u) { return is_of_experts(u); }))
        continue;
      const Use all = *std::ranges::find(norm.uses, NormSlot::norm2, &Use::slot);
      Buffer part = buffer(all.buffer);
      part.name += ".experts";
      const BufferId of_experts = add_buffer(p_, std::move(part));
      Instruction own{Op::grad_norm};
      for (const Use& u : norm.uses)
        if (gradient(u) && is_of_experts(u)) own.uses.push_back(u);
      std::erase_if(norm.uses, [&](const Use& u) { return gradient(u) && is_of_experts(u); });
      own.uses.push_back(whole(p_, of_experts, How::overwrite, NormSlot::norm2));
      behind_[k].push_back(std::move(own));
      Instruction sum{Op::reduce, none, none, Lane::communication};
      sum.along = axes::expert;
      sum.uses = {whole(p_, of_experts, How::modify, ReduceSlot::thing(0))};
      behind_[k].push_back(std::move(sum));
      behind_[k].push_back({.op = Op::add,
                            .uses = {whole(p_, of_experts, How::read, CopySlot::from),
                                     whole(p_, all.buffer, How::accumulate, CopySlot::to)}});
    }
  }

  void insert() {
    std::vector<Instruction> steady;
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      steady.push_back(std::move(p_.steady[k]));
      std::move(behind_[k].begin(), behind_[k].end(), std::back_inserter(steady));
    }
    p_.steady = std::move(steady);
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  const UpdateSpec& update_;
  std::vector<int> parts_;             // by value
  std::vector<char> made_by_experts_;  // by value
  // by position in steady: what is inserted there
  std::vector<std::vector<Instruction>> behind_;
};

}  // namespace

StepProgram expert_parallel(StepProgram p, const ModelGraph& graph, const UpdateSpec& update,
                            const Mesh& mesh) {
  enter(p, Pass::expert_parallel);
  p.mesh = mesh;
  ExpertParallel(p, graph, update).apply();
  return p;
}

}  // namespace trainx::passes
