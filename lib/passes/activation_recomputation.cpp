#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/recomputation.hpp"
#include <algorithm>

namespace trainx::passes {

using namespace program;

namespace {

/// Blocks that are recomputed together, in one micro-step.
struct Segment {
  // positions in steady, none where there is no such instruction
  struct Member {
    int block;
    int forward;
    int backward;
  };
  std::vector<Member> members;  // in the order of the forward
  int first_backward = none;
  bool everything = false;  // else what is cheap
};

Use* find_use(Instruction& i, Slot slot) {
  for (Use& u : i.uses)
    if (u.slot == slot) return &u;
  return nullptr;
}

/// Where recomputation of a segment of some shape restarts: the number of a written value, or none.
using Restarts = std::map<std::vector<std::int64_t>, int>;

/// Plans one segment against the unchanged program, then edits its forward and backward and makes
/// its recompute instructions.
class Recomputer {
 public:
  /// `known` is filled: layers are alike, and micro-steps too.
  Recomputer(StepProgram& p, const ModelGraph& graph, const Segment& segment, Restarts& known)
      : p_(p), graph_(graph), segment_(segment), known_(known), everything_(segment.everything) {}

  std::vector<Instruction> apply() {
    const BufferId restart = everything_ ? cheapest_restart() : none;
    const auto plan = plan_from(restart);
    std::vector<Instruction> out;
    // rebuilt values: as forward wrote them, as recomputed
    std::vector<std::pair<BufferId, BufferId>> fresh;
    auto renewed = [&](BufferId b) {
      for (const auto& [old, now] : fresh)
        if (old == b) return now;
      return b;
    };
    for (std::size_t m = 0; m < segment_.members.size(); ++m) {
      Instruction& forward = at(segment_.members[m].forward);
      const BlockSpec& block = spec(m);
      if (!plan[m].empty()) {
        Instruction r{Op::recompute, segment_.members[m].block, forward.micro};
        for (const Slot s : plan[m].reads) {
          const Use u = *find_use(forward, s);
          r.uses.push_back(Use{renewed(u.buffer), How::read, s});
        }
        for (const Use& u : std::vector<Use>(forward.uses)) {
          if (contains(plan[m].rebuilt, u.slot)) {
            BufferId to = u.buffer;
            if (buffer(to).role == Role::value) {
              Buffer again = buffer(to);
              again.name += "^";
              to = add_buffer(p_, std::move(again));
              fresh.emplace_back(u.buffer, to);
            }
            r.uses.push_back(Use{to, How::overwrite, u.slot});
          }
          if (contains(plan[m].passing, u.slot))
            r.uses.push_back(Use{scratch_like(u.buffer), How::overwrite, u.slot});
        }
        out.push_back(std::move(r));
      }
      // the rebuilt operand takes over the buffer of the dropped one
      for (Use& u : forward.uses)
        if (is_dropped(block, u)) u.buffer = scratch_like(u.buffer);
    }
    for (const auto& member : segment_.members)
      if (member.backward != none)
        for (Use& u : at(member.backward).uses)
          if (u.how == How::read) u.buffer = renewed(u.buffer);
    return out;
  }

 private:
  static bool contains(const std::vector<Slot>& v, Slot s) {
    return std::find(v.begin(), v.end(), s) != v.end();
  }
  Instruction& at(int position) { return p_.steady[position]; }
  const Buffer& buffer(BufferId b) const { return p_.buffers[b]; }
  const BlockSpec& spec(std::size_t m) const { return graph_.blocks[segment_.members[m].block]; }

  bool is_dropped(const BlockSpec& block, const Use& u) const {
    return buffer(u.buffer).role == Role::saved && (everything_ || block.slots[u.slot].cheap);
  }

  BufferId scratch_like(BufferId b) {
    Buffer s = buffer(b);
    s.role = Role::scratch;
    return add_buffer(p_, std::move(s));
  }

  /// Values that the segment's forward writes. Recomputed under `everything`, all but the one where
  /// recomputation restarts.
  std::vector<BufferId> written_values() {
    std::vector<BufferId> out;
    for (const auto& member : segment_.members)
      for (const Use& u : at(member.forward).uses)
        if (writes(u.how) && buffer(u.buffer).role == Role::value) out.push_back(u.buffer);
    return out;
  }

  /// Later blocks are planned first: what they need of earlier ones is wanted there.
  std::vector<Recomputation> plan_from(BufferId restart) {
    const auto passed = written_values();
    std::vector<BufferId> wanted_values;
    for (const auto& member : segment_.members)
      if (member.backward != none && everything_)
        for (const Use& u : at(member.backward).uses)
          if (u.how == How::read && u.buffer != restart &&
              std::find(passed.begin(), passed.end(), u.buffer) != passed.end())
            wanted_values.push_back(u.buffer);
    std::vector<Recomputation> plan(segment_.members.size());
    for (std::size_t m = segment_.members.size(); m-- > 0;) {
      const BlockSpec& block = spec(m);
      std::vector<char> wanted(block.slots.size()), kept(block.slots.size());
      Instruction& forward = at(segment_.members[m].forward);
      for (const Use& u : forward.uses) {
        if (!writes(u.how)) continue;
        const auto s = static_cast<std::size_t>(u.slot);
        if (is_dropped(block, u))
          wanted[s] = is_read_by_backward(m, u.buffer);
        else if (buffer(u.buffer).role == Role::value && everything_)
          wanted[s] = std::find(wanted_values.begin(), wanted_values.end(), u.buffer) !=
                      wanted_values.end();
        kept[s] =
            !is_dropped(block, u) && buffer(u.buffer).role != Role::scratch &&
            (!everything_ || u.buffer == restart || buffer(u.buffer).role == Role::cast_weight);
      }
      plan[m] = plan_recomputation(block, wanted, kept);
      for (const Slot s : plan[m].reads) {
        const BufferId b = find_use(forward, s)->buffer;
        if (everything_ && b != restart &&
            std::find(passed.begin(), passed.end(), b) != passed.end())
          wanted_values.push_back(b);
      }
    }
    return plan;
  }

  bool is_read_by_backward(std::size_t m, BufferId b) {
    if (segment_.members[m].backward == none) return false;
    for (const Use& u : at(segment_.members[m].backward).uses)
      if (u.buffer == b && u.how == How::read) return true;
    return false;
  }

  /// Bytes of values that stay until the recomputation when it restarts there.
  Bytes kept_bytes(BufferId restart) {
    const auto passed = written_values();
    std::vector<BufferId> kept;
    const auto plan = plan_from(restart);
    auto keep = [&](BufferId b) {
      const bool rebuilt = b != restart &&
                           std::find(passed.begin(), passed.end(), b) != passed.end();
      if (buffer(b).role == Role::value && !rebuilt &&
          std::find(kept.begin(), kept.end(), b) == kept.end())
        kept.push_back(b);
    };
    for (std::size_t m = 0; m < plan.size(); ++m) {
      for (const Slot s : plan[m].reads) keep(find_use(at(segment_.members[m].forward), s)->buffer);
      if (segment_.members[m].backward == none) continue;
      for (const Use& u : at(segment_.members[m].backward).uses)
        if (u.how == How::read) keep(u.buffer);
    }
    Bytes sum = 0;
    for (const BufferId b : kept) sum += buffer(b).bytes();
    return sum;
  }

  /// One written value to keep, or none: recomputation then restarts from what the segment reads.
  /// The earliest of the cheapest.
  BufferId cheapest_restart() {
    const std::vector<BufferId> values = written_values();
    const auto [at, is_new] = known_.emplace(shape(), none);
    if (is_new) {
      Bytes least = kept_bytes(none);
      for (std::size_t v = 0; v < values.size(); ++v)
        if (const Bytes bytes = kept_bytes(values[v]); bytes < least)
          at->second = static_cast<int>(v), least = bytes;
    }
    return at->second == none ? none : values[static_cast<std::size_t>(at->second)];
  }

  /// All that decides where recomputation restarts. Buffers are numbered as they come.
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> out;
    std::vector<BufferId> seen;
    const auto number = [&](BufferId b) {
      const auto index = std::find(seen.begin(), seen.end(), b) - seen.begin();
      if (index == std::ssize(seen)) seen.push_back(b);
      return index;
    };
    for (std::size_t m = 0; m < segment_.members.size(); ++m) {
      for (const SlotSpec& s : spec(m).slots) {
        out.insert(out.end(), {static_cast<std::int64_t>(s.role), s.cheap, std::ssize(s.from)});
        out.insert(out.end(), s.from.begin(), s.from.end());
      }
      for (const int position : {segment_.members[m].forward, segment_.members[m].backward}) {
        out.push_back(none);  // between lists of any length
        if (position == none) continue;
        for (const Use& u : at(position).uses)
          out.insert(out.end(),
                     {u.slot, static_cast<std::int64_t>(u.how), number(u.buffer),
                      static_cast<std::int64_t>(buffer(u.buffer).role), buffer(u.buffer).bytes()});
      }
    }
    return out;
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  const Segment& segment_;
  Restarts& known_;
  bool everything_;
};

/// Which blocks are recomputed together.
struct SegmentOfBlock {
  int segment = none;
  bool everything = false;
};
std::vector<SegmentOfBlock> segments_of_blocks(const ModelGraph& graph,
                                               const RecomputeLevels& levels) {
  std::vector<SegmentOfBlock> out(graph.blocks.size());
  int count = 0, first_layer = none;  // of the segment of whole layers that goes on
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const BlockSpec& block = graph.blocks[b];
    const RecomputeLevel level = block.layer == none ? RecomputeLevel::none
                                                     : levels.of(block.layer);
    if (level == RecomputeLevel::full && first_layer != none &&
        block.layer - first_layer < levels.segment) {
      out[b] = out[b - 1];
      continue;
    }
    first_layer = level == RecomputeLevel::full ? block.layer : none;
    if (level == RecomputeLevel::none) continue;
    const bool attends = block.phases.at(Op::forward).attention_flops > 0;
    out[b] = {count++, level == RecomputeLevel::full || (level == RecomputeLevel::mlp && !attends)};
  }
  return out;
}

/// By micro-step, each with the positions of its instructions.
std::vector<Segment> segments_of(const StepProgram& p, const ModelGraph& graph,
                                 const RecomputeLevels& levels) {
  const std::vector<SegmentOfBlock> of_block = segments_of_blocks(graph, levels);
  std::map<std::pair<int, int>, Segment> segments;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    const Instruction& i = p.steady[k];
    if (i.op != Op::forward && i.op != Op::backward) continue;
    const SegmentOfBlock of = of_block[static_cast<std::size_t>(i.block)];
    if (of.segment == none) continue;
    Segment& s = segments[{i.micro, of.segment}];
    s.everything = of.everything;
    if (i.op == Op::forward) {
      s.members.push_back({i.block, static_cast<int>(k), none});
      continue;
    }
    if (s.first_backward == none) s.first_backward = static_cast<int>(k);
    for (auto& m : s.members)
      if (m.block == i.block) m.backward = static_cast<int>(k);
  }
  std::vector<Segment> out;
  for (auto& [key, s] : segments)
    if (s.first_backward != none) out.push_back(std::move(s));
  return out;
}

}  // namespace

StepProgram activation_recomputation(StepProgram p, const ModelGraph& graph,
                                     const RecomputeLevels& levels) {
  enter(p, Pass::activation_recomputation);
  std::map<int, std::vector<Instruction>> before;  // by position in steady: what is inserted there
  Restarts known;
  for (const Segment& s : segments_of(p, graph, levels)) {
    auto made = Recomputer(p, graph, s, known).apply();
    auto& at = before[s.first_backward];
    std::move(made.begin(), made.end(), std::back_inserter(at));
  }
  std::vector<Instruction> steady;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (const auto it = before.find(static_cast<int>(k)); it != before.end())
      std::move(it->second.begin(), it->second.end(), std::back_inserter(steady));
    steady.push_back(std::move(p.steady[k]));
  }
  p.steady = std::move(steady);
  return p;
}

}  // namespace trainx::passes
