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

class Redistribution {
 public:
  Redistribution(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update)
      : p_(p), graph_(graph), update_(update) {}

  void apply() {
    keep_own_parts();
    behind_.resize(p_.steady.size());
    lower_exchanges();
    exchange_values();
    sum_norms();
    sum_scalars();
    insert();
    sum_over_tensors(p_, graph_, update_);
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }

  /// Of weights, gradients and states in parts, those of one's own part.
  void keep_own_parts() {
    for (Buffer& b : p_.buffers) {
      if (!is_of_group(b)) continue;
      const GroupSpec& group = graph_.groups[static_cast<std::size_t>(b.index)];
      if (!group.parts.are_several()) continue;
      if (group.parts.count != p_.mesh.size(group.parts.along))
        throw InternalError("redistribute: " + group.name + " is in other parts than the ranks");
      if (b.unit == Unit::tensor) continue;  // as in zero: each rank moves it on
      b.layout = b.layout.cut(group.parts.along);
      b.elements = b.role == Role::state
                       ? local_entries(update_.states[static_cast<std::size_t>(b.item)], group,
                                       b.layout, p_.mesh)
                       : b.elements / group.parts.count;
      b.name += "/";
    }
  }

  /// Blocks that exchange are collectives.
  void lower_exchanges() {
    for (Instruction& i : p_.steady) {
      if (!is_of_block(i) || block_of(i).exchange == ExchangeKind::nothing) continue;
      const ExchangeKind kind = block_of(i).exchange;
      const Op op = kind == ExchangeKind::parts_to_ranks ? Op::all_to_all
                    : sums_rows(kind, i.op)              ? Op::scatter
                                                         : Op::gather;
      Instruction moved{op, none, i.micro, Lane::communication};
      moved.along = block_of(i).parts.exchange;
      for (Use u : i.uses) {
        u.slot = u.how == How::read ? ShardSlot::from(0) : ShardSlot::to(0);
        if (u.how == How::modify) u.how = How::accumulate;
        moved.uses.push_back(u);
      }
      i = std::move(moved);
    }
  }

  static bool is_value(const Buffer& b) {
    return b.role == Role::value || b.role == Role::value_gradient;
  }
  const BlockSpec& block_of(const Instruction& i) const {
    return graph_.blocks[static_cast<std::size_t>(i.block)];
  }
  ValueState state_of(const Instruction& i, const Use& u) const {
    return block_of(i).slots[static_cast<std::size_t>(u.slot)].state;
  }

  /// Ranks exchange each value that a block reads in another state than its writer left it in,
  /// once it is complete.
  void exchange_values() {
    struct Writer {
      int at = none;  // the last so far
      ValueState state = ValueState::of_tokens;
      AxisSet along = {};  // of its block's parts
    };
    std::vector<Writer> writers(p_.buffers.size());
    std::map<BufferId, BufferId> arrived;
    std::map<int, Instruction> exchanges;  // by position of the writer
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      if (i.op == Op::copy) {  // to the host and back: it has what its source was left in
        const BufferId from = find_use(i, CopySlot::from)->buffer,
                       to = find_use(i, CopySlot::to)->buffer;
        if (is_value(buffer(from)) && is_value(buffer(to))) {
          Writer copied = writers[static_cast<std::size_t>(from)];
          if (copied.at != none) copied.at = static_cast<int>(k);
          writers[static_cast<std::size_t>(to)] = copied;
        }
      }
      if (!is_of_block(i)) continue;
      for (Use& u : i.uses) {
        const BufferId sent = u.buffer;
        if (!is_value(buffer(sent))) continue;
        if (writes(u.how)) {
          Writer& writer = writers[static_cast<std::size_t>(sent)];
          if (writer.at != none && writer.state != state_of(i, u))
            throw InternalError("redistribute: " + buffer(sent).name + " is written in two states");
          writer = {static_cast<int>(k), state_of(i, u), block_of(i).parts.along};
          continue;
        }
        if (u.how != How::read) continue;
        const Writer& writer = writers[static_cast<std::size_t>(sent)];
        if (writer.at == none || writer.state == state_of(i, u)) continue;
        const auto [at, is_new] = arrived.try_emplace(sent, none);
        if (is_new) {
          Buffer other = buffer(sent);
          other.name += "@";
          at->second = add_buffer(p_, std::move(other));
          const auto [exchange, first] = exchanges.try_emplace(
              writer.at, Instruction{Op::all_to_all, none, i.micro, Lane::communication});
          exchange->second.along = writer.state == ValueState::of_part ? writer.along
                                                                       : block_of(i).parts.along;
          const int thing = static_cast<int>(exchange->second.uses.size()) / 2;
          exchange->second.uses.push_back(Use{sent, How::read, ShardSlot::from(thing)});
          exchange->second.uses.push_back(Use{at->second, How::overwrite, ShardSlot::to(thing)});
        }
        u.buffer = at->second;
      }
    }
    for (auto& [position, exchange] : exchanges)
      behind_[static_cast<std::size_t>(position)].push_back(std::move(exchange));
  }

  /// The axes whose ranks hold other parts of the buffer's group; empty: the group has one part.
  AxisSet parts_along(const Use& u) {
    const Buffer& b = buffer(u.buffer);
    if (!is_of_group(b)) return {};
    const AxisSet along = graph_.groups[static_cast<std::size_t>(b.index)].parts.along;
    return b.layout.is_cut_along(along) ? along : AxisSet{};
  }

  /// Each rank adds its parts to the norm, which the ranks then sum. All other gradients are the
  /// same on each rank.
  void sum_norms() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& norm = p_.steady[k];
      if (norm.op != Op::grad_norm) continue;
      const Use all = *std::ranges::find(norm.uses, NormSlot::norm2, &Use::slot);
      std::map<AxisSet, Instruction> of_parts;
      std::erase_if(norm.uses, [&](const Use& u) {
        const AxisSet along = parts_along(u);
        if (along.is_empty()) return false;
        of_parts.try_emplace(along, Instruction{Op::grad_norm}).first->second.uses.push_back(u);
        return true;
      });
      for (auto& [along, own] : of_parts) {
        Buffer part = buffer(all.buffer);
        part.name += "." + program::name_of(along);
        const BufferId of_own = add_buffer(p_, std::move(part));
        own.uses.push_back(Use{of_own, How::overwrite, NormSlot::norm2});
        behind_[k].push_back(std::move(own));
        Instruction sum{Op::reduce, none, none, Lane::communication};
        sum.along = along;
        sum.uses = {Use{of_own, How::modify, ReduceSlot::thing(0)}};
        behind_[k].push_back(std::move(sum));
        behind_[k].push_back({.op = Op::add,
                              .uses = {Use{of_own, How::read, CopySlot::from},
                                       Use{all.buffer, How::accumulate, CopySlot::to}}});
      }
    }
  }

  /// Have the ranks with parts of a layer other numbers, where the block adds to this scalar?
  bool adds_own_numbers(const Instruction& i, const Buffer& scalar) const {
    return is_of_block(i) &&
           (block_of(i).parts.rows().holds(axes::tensor) ||
            graph_.scalars[static_cast<std::size_t>(scalar.index)].name == fp8_counts);
  }

  /// Stages sum what the ranks with parts of their layers have summed.
  static bool is_between_stages(const Instruction& i) {
    return i.along == axes::stage || i.op == Op::add;
  }

  /// Ranks with parts of a layer sum the losses of rows that each has by itself, and what each has
  /// cast to fp8.
  void sum_scalars() {
    if (p_.mesh.tensor == 1) return;
    for (BufferId b = 0; b < static_cast<BufferId>(p_.buffers.size()); ++b) {
      if (!is_scalar(buffer(b).role) || buffer(b).resident) continue;
      std::size_t last = 0;
      bool differs = false;
      for (std::size_t k = 0; k < p_.steady.size(); ++k)
        for (const Use& u : p_.steady[k].uses)
          if (u.buffer == b && writes(u.how) && !is_between_stages(p_.steady[k])) {
            last = k;
            differs |= adds_own_numbers(p_.steady[k], buffer(b));
          }
      if (!differs) continue;
      Instruction sum{Op::reduce, none, none, Lane::communication};
      sum.along = axes::tensor;
      sum.uses = {Use{b, How::modify, ReduceSlot::thing(0)}};
      behind_[last].push_back(std::move(sum));
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
  // by position in steady: what is inserted there
  std::vector<std::vector<Instruction>> behind_;
};

}  // namespace

StepProgram redistribute(StepProgram p, const ModelGraph& graph, const UpdateSpec& update,
                         const Mesh& mesh) {
  enter(p, Pass::redistribute);
  p.mesh = mesh;
  Redistribution(p, graph, update).apply();
  return p;
}

}  // namespace trainx::passes
