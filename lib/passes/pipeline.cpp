#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace trainx::passes {

using namespace program;

namespace {

/// Makes the program of one stage of what one rank would run.
class Stage {
 public:
  Stage(StepProgram& p, const ModelGraph& graph, const PipelineCut& cut, int stage)
      : p_(p),
        graph_(graph),
        cut_(cut),
        stage_(stage),
        stages_of_groups_(stages_of_groups(graph, cut)),
        original_(p.buffers.size()) {}

  void apply() {
    part_into_turns();
    hand_on_values();
    std::erase_if(p_.once, [&](const Instruction& i) { return !is_here(chunk_of(i)); });
    p_.steady.clear();
    append_ends(before_);
    append_turns();
    sum_shared_gradients();
    sum_scalars();
    append_ends(behind_);
    first_writer_overwrites(p_);
    for (const BufferId partial : partial_) buffer(partial).role = Role::transit;
    drop_unused();
  }

 private:
  /// A turn, or what it tells another chunk.
  using Key = std::tuple<bool, int, int>;  // is_backward, chunk, micro
  static Key key_of(const Turn& t) { return {t.is_backward, t.chunk, t.micro}; }

  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }
  bool is_here(int chunk) const { return cut_.shape.stage_of(chunk) == stage_; }
  int chunk_of(const Instruction& i) const {
    return cut_.chunk_of_block[static_cast<std::size_t>(i.block)];
  }
  const std::vector<int>& stages_of(int group) const {
    return stages_of_groups_[static_cast<std::size_t>(group)];
  }
  bool keeps(int group) const { return std::ranges::count(stages_of(group), stage_) > 0; }
  static bool is_backward(Op op) { return op == Op::backward || op == Op::recompute; }

  /// What each chunk computes of each micro-step, and what comes before and behind all of that.
  void part_into_turns() {
    std::vector<Instruction> for_next;  // casts of weights that the next block reads
    int last_micro = none;
    for (Instruction& i : p_.steady) {
      if (i.micro == none) {
        (last_micro == none ? before_ : behind_).push_back(std::move(i));
        continue;
      }
      if (!behind_.empty())
        throw InternalError("pipeline: the instructions of micro-steps do not stand together");
      last_micro = std::max(last_micro, i.micro);
      if (i.op == Op::fetch_batch) {
        // each stage reads the batch ahead of its first chunk
        turns_[{false, stage_, i.micro}].push_back(std::move(i));
      } else if (!is_of_block(i)) {
        if (i.op != Op::cast) throw InternalError("pipeline: an instruction of no block");
        cast_of_[i.uses.back().buffer] = i;
        for_next.push_back(std::move(i));
      } else {
        has_backward_ |= is_backward(i.op);
        recomputes_ |= i.op == Op::recompute;
        const Key turn{is_backward(i.op), chunk_of(i), i.micro};
        append_casts(turn, i, for_next);
        for_next.clear();
        turns_[turn].push_back(std::move(i));
      }
    }
    cut_.shape.micro_steps = last_micro + 1;
  }

  /// A cast that the block before made, in another chunk, is made again.
  void append_casts(const Key& turn, const Instruction& i, const std::vector<Instruction>& given) {
    auto& list = turns_[turn];
    auto& made = casts_in_[turn];
    for (const Instruction& cast : given) {
      made.insert(cast.uses.back().buffer);
      list.push_back(cast);
    }
    for (const Use& u : i.uses)
      if (const auto cast = cast_of_.find(u.buffer); cast != cast_of_.end())
        if (made.insert(u.buffer).second) list.push_back(cast->second);
  }

  bool is_value(BufferId b) {
    return buffer(b).role == Role::value || buffer(b).role == Role::value_gradient;
  }

  /// Blocks that exchange add to the gradients that they modify.
  bool reads_gradient(const Instruction& i, const Use& u) const {
    const bool exchanges = is_of_block(i) &&
                           graph_.blocks[static_cast<std::size_t>(i.block)].exchange !=
                               ExchangeKind::nothing;
    return u.how == How::read || (u.how == How::modify && !exchanges);
  }

  /// A value that later chunks read goes from chunk to chunk up to the last of them, its gradient
  /// back from there: each chunk adds what it has of it. Each has a buffer of its own.
  void hand_on_values() {
    struct Span {
      int first = none, last = none;  // chunks that use it
      int micro = none;
    };
    std::map<BufferId, Span> spans;
    for (const auto& [turn, list] : turns_)
      for (const Instruction& i : list)
        for (const Use& u : i.uses) {
          if (!is_value(u.buffer)) continue;
          const int chunk = std::get<1>(turn);
          const bool is_gradient = buffer(u.buffer).role == Role::value_gradient;
          const auto [span, is_new] = spans.try_emplace(u.buffer, Span{chunk, chunk, i.micro});
          span->second.first = std::min(span->second.first, chunk);
          span->second.last = std::max(span->second.last, chunk);
          // a value begins in the first chunk that uses it, and its gradient ends there; what a
          // later chunk reads of a gradient is what that and those behind it have added
          if (is_gradient ? reads_gradient(i, u) : writes(u.how)) {
            const auto [of, is_first] = ends_in_.try_emplace(u.buffer, chunk);
            if (is_gradient) of->second = std::min(of->second, chunk);
            if (of->second != chunk && !is_gradient)
              throw InternalError("pipeline: " + buffer(u.buffer).name +
                                  " is made by two chunks of layers");
          }
        }
    for (const auto& [value, span] : spans) {
      if (span.first == span.last) continue;
      const auto end = ends_in_.find(value);
      if (end == ends_in_.end() || end->second != span.first)
        throw InternalError("pipeline: " + buffer(value).name +
                            " is made behind a chunk of layers that uses it");
      const bool is_gradient = buffer(value).role == Role::value_gradient;
      for (int chunk = span.first + 1; chunk <= span.last; ++chunk) {
        messages_[{is_gradient, is_gradient ? chunk : chunk - 1, span.micro}].push_back(value);
        if (!is_here(chunk)) continue;
        Buffer own = buffer(value);
        own.name += "@" + std::to_string(chunk);
        in_chunk_[{value, chunk}] = add_buffer(p_, std::move(own));
      }
    }
    for (auto& [turn, list] : turns_)
      if (const int chunk = std::get<1>(turn); is_here(chunk))
        for (Instruction& i : list)
          for (Use& u : i.uses) u.buffer = as_in(u.buffer, chunk);
  }

  /// What holds the value in that chunk.
  BufferId as_in(BufferId value, int chunk) const {
    const auto own = in_chunk_.find({value, chunk});
    return own == in_chunk_.end() ? value : own->second;
  }

  void append_turns() {
    const PipelineShape& shape = cut_.shape;
    const auto turns = has_backward_ ? turns_of_step(shape, cut_.schedule)
                                     : turns_of_evaluation(shape);
    // a backward takes about two forwards, and one more where it computes that again
    const TurnTimes times{.forward = 1, .backward = recomputes_ ? 3.0 : 2.0};
    for (const PipelineEvent& event : events_of(shape, timed(shape, turns, times)))
      if (event.is_message)
        append_messages(event);
      else if (is_here(event.turn.chunk))
        for (const Instruction& i : turns_[key_of(event.turn)]) p_.steady.push_back(i);
  }

  void append_messages(const PipelineEvent& event) {
    const int from = event.turn.chunk, to = event.to_chunk;
    const auto messages = messages_.find(key_of(event.turn));
    if (messages == messages_.end()) return;
    for (const BufferId value : messages->second) {
      if (is_here(from)) send(as_in(value, from), cut_.shape.stage_of(to), event.turn.micro);
      if (is_here(to)) receive(as_in(value, to), cut_.shape.stage_of(from), event.turn.micro);
    }
  }

  void append_between_stages(Op op, Use use, int peer, int micro) {
    Instruction i{op, none, micro, Lane::communication, {use}};
    i.along = axes::stage;
    i.peer = peer;
    p_.steady.push_back(std::move(i));
  }
  void send(BufferId b, int to, int micro) {
    append_between_stages(Op::send, Use{b, How::read, CopySlot::from}, to, micro);
  }
  void receive(BufferId b, int from, int micro) {
    append_between_stages(Op::recv, Use{b, How::overwrite, CopySlot::to}, from, micro);
  }
  void add(BufferId from, BufferId to) {
    p_.steady.push_back(
        {Op::add,
         none,
         none,
         Lane::communication,
         {Use{from, How::read, CopySlot::from}, Use{to, How::accumulate, CopySlot::to}}});
  }
  /// A buffer of the same elements, beside it.
  BufferId beside(BufferId like, const std::string& more, Role role) {
    Buffer b = buffer(like);
    b.name += more;
    b.role = role;
    return add_buffer(p_, std::move(b));
  }

  /// The stages whose blocks write the buffer, ascending.
  std::vector<int> writers_of(BufferId b) const {
    std::set<int> stages;
    for (const auto& [turn, list] : turns_)
      for (const Instruction& i : list)
        for (const Use& u : i.uses)
          if (u.buffer == b && writes(u.how)) stages.insert(cut_.shape.stage_of(std::get<1>(turn)));
    return {stages.begin(), stages.end()};
  }

  /// Gradients of groups that several stages keep: the first one of those adds up what all have of
  /// them, and tells the others the sum, by which each updates its own.
  void sum_shared_gradients() {
    for (BufferId g = 0; g < static_cast<BufferId>(original_); ++g) {
      if (buffer(g).role != Role::gradient) continue;
      const std::vector<int> keepers = stages_of(buffer(g).index), writers = writers_of(g);
      if (keepers.size() < 2 || writers.empty()) continue;
      const int first = keepers.front();
      bool has_any = std::ranges::count(writers, first) > 0;
      for (const int writer : writers) {
        if (writer == first) continue;
        if (stage_ == writer) send(g, first, none);
        if (stage_ == first) {
          const BufferId to = has_any ? beside(g, "@" + std::to_string(writer), Role::transit) : g;
          receive(to, writer, none);
          if (has_any) add(to, g);
          has_any = true;
        }
      }
      for (const int keeper : keepers) {
        if (keeper == first) continue;
        if (stage_ == first) send(g, keeper, none);
        if (stage_ != keeper) continue;
        const bool has_own = std::ranges::count(writers, keeper) > 0;
        if (has_own) partial_.push_back(g);
        sum_of_[g] = has_own ? beside(g, "+", Role::gradient) : g;
        receive(sum_of_[g], first, none);
      }
    }
  }

  /// The last of the stages that add to a number has the sum, and tells all others.
  void sum_scalars() {
    for (BufferId b = 0; b < static_cast<BufferId>(original_); ++b) {
      const Role role = buffer(b).role;
      if (!is_scalar(role) || buffer(b).resident || role == Role::fp8_scales) continue;
      std::vector<int> writers = writers_of(b);
      add_quantizing_stages(b, writers);
      if (writers.empty()) continue;
      const int last = writers.back();
      writers.pop_back();
      for (const int writer : writers) {
        if (stage_ == writer) send(b, last, none);
        if (stage_ != last) continue;
        const BufferId got = beside(b, "@" + std::to_string(writer), role);
        receive(got, writer, none);
        add(got, b);
      }
      Instruction tell{Op::broadcast, none, none, Lane::communication};
      tell.along = axes::stage;
      tell.peer = last;
      tell.uses = {Use{b, stage_ == last ? How::read : How::overwrite, ReduceSlot::thing(0)}};
      p_.steady.push_back(std::move(tell));
    }
  }

  /// Stages that count casts of their own weights to fp8.
  void add_quantizing_stages(BufferId counts, std::vector<int>& writers) const {
    std::set<int> all(writers.begin(), writers.end());
    for (const Instruction& i : before_) {
      if (i.op != Op::quantize || !find_use(i, QuantizeSlot::counts) ||
          find_use(i, QuantizeSlot::counts)->buffer != counts)
        continue;
      for (const Use& u : i.uses)
        if (QuantizeSlot::is_from(u.slot)) {
          const std::vector<int>& stages = stages_of(QuantizeSlot::group_of(u.slot));
          all.insert(stages.begin(), stages.end());
        }
    }
    writers.assign(all.begin(), all.end());
  }

  /// What a stage does of the instructions around its turns.
  void append_ends(const std::vector<Instruction>& list) {
    for (Instruction i : list) {
      if (is_of_parameters(i) && !keeps(i.group)) continue;
      if (i.op == Op::fp8_scale || i.op == Op::quantize) {
        const auto is_elsewhere = [&](const Use& u) {
          return u.slot >= QuantizeSlot::first_group && !keeps(QuantizeSlot::group_of(u.slot));
        };
        std::erase_if(i.uses, is_elsewhere);
        if (std::ranges::none_of(i.uses,
                                 [](const Use& u) { return QuantizeSlot::is_from(u.slot); }))
          continue;
      }
      if (i.op == Op::grad_norm)
        // of a group that several stages keep the first one counts the gradient
        std::erase_if(i.uses, [&](const Use& u) {
          return u.slot >= NormSlot::first_gradient &&
                 stages_of(u.slot - NormSlot::first_gradient).front() != stage_;
        });
      for (Use& u : i.uses)
        if (const auto sum = sum_of_.find(u.buffer); sum != sum_of_.end()) u.buffer = sum->second;
      const BufferId norm = i.op == Op::grad_norm ? use_of(i, NormSlot::norm2).buffer : none;
      p_.steady.push_back(std::move(i));
      if (norm == none) continue;
      Instruction sum{Op::reduce, none, none, Lane::communication};
      sum.along = axes::stage;
      sum.uses = {Use{norm, How::modify, ReduceSlot::thing(0)}};
      p_.steady.push_back(std::move(sum));
    }
  }

  /// Without what other stages alone keep or use.
  void drop_unused() {
    std::vector<char> used(p_.buffers.size());
    for (auto* list : {&p_.once, &p_.steady})
      for (const Instruction& i : *list)
        for (const Use& u : i.uses) used[static_cast<std::size_t>(u.buffer)] = true;
    std::vector<BufferId> number(p_.buffers.size(), none);
    std::vector<Buffer> buffers;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const Buffer& old = p_.buffers[b];
      const bool kept = is_of_group(old)                ? keeps(old.index)
                        : old.role == Role::cast_weight ? cut_.stage_of_block(old.index) == stage_
                                                        : true;
      if (!(old.resident ? kept : used[b])) continue;
      number[b] = static_cast<BufferId>(buffers.size());
      buffers.push_back(old);
    }
    for (auto* list : {&p_.once, &p_.steady})
      for (Instruction& i : *list)
        for (Use& u : i.uses) u.buffer = number[static_cast<std::size_t>(u.buffer)];
    p_.buffers = std::move(buffers);
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  PipelineCut cut_;
  int stage_;
  std::vector<std::vector<int>> stages_of_groups_;
  std::size_t original_;  // buffers of the program as it was given
  bool has_backward_ = false, recomputes_ = false;
  std::vector<Instruction> before_, behind_;  // of no micro-step
  std::map<Key, std::vector<Instruction>> turns_;
  std::map<Key, std::set<BufferId>> casts_in_;
  std::map<BufferId, Instruction> cast_of_;  // by what it makes
  std::map<BufferId, int> ends_in_;          // by value: the chunk that makes it, or its gradient's
  std::map<Key, std::vector<BufferId>> messages_;  // by the turn behind which they are sent
  std::map<std::pair<BufferId, int>, BufferId> in_chunk_;
  std::map<BufferId, BufferId> sum_of_;  // by a stage's own gradient of a group of several stages
  std::vector<BufferId> partial_;
};

}  // namespace

StepProgram pipeline(StepProgram p, const ModelGraph& graph, const Mesh& mesh,
                     const PipelineCut& cut, int stage) {
  enter(p, Pass::pipeline);
  p.mesh = mesh;
  Stage(p, graph, cut, stage).apply();
  return p;
}

}  // namespace trainx::passes
