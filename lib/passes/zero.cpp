#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "passes/compute_slots.hpp"
#include "program/frozen.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// What lies between two uses of a block's weights for no longer than this many turns is always
/// kept: the layer that is recomputed before its backward, the head between the last layer's
/// forward and backward.
constexpr int least_turns_kept = 2;

class Zero {
 public:
  Zero(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update, const ReduceOptions& how,
       const ZeroOptions& options)
      : p_(p),
        graph_(graph),
        update_(update),
        how_(how),
        stage_(options.stage),
        turns_kept_(std::max(least_turns_kept, options.turns_kept)) {}

  void apply() {
    p_.mesh = how_.mesh;
    if (stage_ > 1) part_micro_steps();
    keep_shards();
    after_.resize(p_.steady.size());
    before_.resize(p_.steady.size());
    gather_weights();  // first: scatters are found by the positions of writers
    share_scales();
    scatter_gradients();
    update_shards();
    widen_sums();
    insert();
    sum_over_tensors(p_, graph_, update_);
    first_writer_overwrites(p_);
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }

  /// Each micro-step has gradients of its own.
  void part_micro_steps() {
    std::map<std::pair<BufferId, int>, BufferId> own;
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses) {
        if (i.micro <= 0 || buffer(u.buffer).role != Role::gradient ||
            !is_sharded(buffer(u.buffer)))
          continue;
        const auto [it, is_new] = own.try_emplace({u.buffer, i.micro}, none);
        if (is_new) {
          Buffer again = buffer(u.buffer);
          again.name += "^" + std::to_string(i.micro);
          it->second = add_buffer(p_, std::move(again));
          first_of_[it->second] = u.buffer;
        }
        u.buffer = it->second;
      }
  }

  /// Ranks that share the shards of what belongs to the buffer's group.
  AxisSet shards_of(const Buffer& b) const {
    return shard_axes(graph_.groups[static_cast<std::size_t>(b.index)]);
  }
  bool is_sharded(const Buffer& b) const {
    return program::is_sharded(graph_.groups[static_cast<std::size_t>(b.index)], p_.mesh);
  }

  /// What a step casts weights to, which are then gathered so.
  bool is_in_fp8(const Buffer& b) const {
    return b.role == Role::parameter && !b.resident && b.dtype == DType::u8 &&
           graph_.groups[static_cast<std::size_t>(b.index)].fp8;
  }
  bool is_kept(const Buffer& b) const {
    return b.resident && (b.role == Role::parameter || is_optimizer_state(b.role));
  }

  /// Stages 1 and 2 have all weights during a step. What no update changes would be gathered to
  /// the same bytes in each.
  bool stays_whole(const Buffer& b) const {
    return stage_ < 3 && is_frozen(graph_, b) &&
           !graph_.groups[static_cast<std::size_t>(b.index)].fp8;
  }

  /// Weights, exact weights and states in shards, where they were whole.
  void keep_shards() {
    for (std::size_t k = 0; k < p_.buffers.size(); ++k) {
      Buffer& b = p_.buffers[k];
      if (!is_kept(b) && !is_in_fp8(b)) continue;
      // a state of tensors is small, and each rank moves it on: no part follows from a part of the
      // gradient
      if (!is_sharded(b) || b.unit == Unit::tensor || stays_whole(b)) continue;
      whole_.emplace(static_cast<BufferId>(k), b);
      const GroupSpec& group = graph_.groups[static_cast<std::size_t>(b.index)];
      const int before = parts_of(p_, b);
      b.layout = b.layout.cut(shards_of(b));
      b.elements = b.role == Role::state
                       ? local_entries(update_.states[static_cast<std::size_t>(b.item)], group,
                                       b.layout, p_.mesh)
                       : b.elements * before / parts_of(p_, b);
      b.name += "/";
      b.read_by_peers = !b.resident;
    }
  }

  /// A buffer for all of a group's weights, or of their average where blocks compute with that,
  /// from before its first use to behind its last, or to where nobody needs it for long. An average
  /// in fp32 may be larger than weights: as in stage 3 it comes a block ahead of its use.
  void gather_weights() {
    struct Window {
      BufferId gathered = none;
      int last_turn = 0;
    };
    std::map<BufferId, Window> open;
    std::size_t cast_behind = 0;  // shards are in fp8 from here on
    const ComputeSlots turns(p_.steady);
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      if (p_.steady[k].op == Op::quantize) cast_behind = k + 1;
      if (computes_with_shards(p_.steady[k].op)) continue;
      for (Use& u : p_.steady[k].uses) {
        const BufferId shard = u.buffer;
        const auto before = whole_.find(shard);
        if (before == whole_.end()) continue;
        const bool for_a_while = stage_ == 3 || buffer(shard).role == Role::state;
        const int turn = turns.of[k];
        auto [it, is_new] = open.try_emplace(shard);
        Window& window = it->second;
        if (is_new || (for_a_while && turn - window.last_turn > turns_kept_)) {
          Buffer all = before->second;
          all.role = Role::parameter;
          all.item = none;
          all.unit = Unit::element;
          all.resident = false;
          if (const int again = gathers_[shard]++; again > 0)
            all.name += again == 1 ? "^" : "^" + std::to_string(again);
          window.gathered = add_buffer(p_, std::move(all));
          auto position = static_cast<std::size_t>(
              for_a_while ? turns.begin[static_cast<std::size_t>(std::max(0, turn - 1))] : 0);
          if (is_in_fp8(before->second)) position = std::max(position, cast_behind);
          gather(shard, window.gathered, position, turn, p_.steady[k].micro);
        }
        window.last_turn = turn;
        u = Use{window.gathered, u.how, u.slot};
      }
    }
  }

  /// What a block reads for the first time goes between ranks at once.
  void gather(BufferId shard, BufferId to, std::size_t position, int turn, int micro) {
    auto& here = before_[position];
    const AxisSet along = named(shards_of(buffer(shard)), p_.mesh);
    const auto [known, is_new] = gather_of_turn_.try_emplace({position, turn, along}, here.size());
    if (is_new) {
      here.push_back({Op::gather, none, micro, Lane::communication});
      here.back().along = along;
    }
    Instruction& i = here[known->second];
    const int thing = static_cast<int>(i.uses.size()) / 2;
    i.uses.push_back(Use{shard, How::read, ShardSlot::from(thing)});
    i.uses.push_back(Use{to, How::overwrite, ShardSlot::to(thing)});
  }

  static bool computes_with_shards(Op op) {
    return op == Op::update || op == Op::measure || op == Op::balance || op == Op::fp8_scale ||
           op == Op::quantize;
  }

  /// Each rank knows the scales of its own parts: the largest of all is the tensor's.
  void share_scales() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k)
      if (p_.steady[k].op == Op::fp8_scale) {
        const BufferId scales = use_of(p_.steady[k], QuantizeSlot::scales).buffer;
        after_[k].push_back(summed(scales, axes::shard));
      }
  }

  BufferId shard_of_gradient(BufferId gradient) {
    const auto first = first_of_.find(gradient);
    const BufferId g = first == first_of_.end() ? gradient : first->second;
    const auto [it, is_new] = gradient_shards_.try_emplace(g, none);
    if (is_new) {
      Buffer shard = buffer(g);
      shard.name += "/";
      shard.elements /= p_.mesh.size(shards_of(shard));
      shard.layout = shard.layout.cut(shards_of(shard));
      it->second = add_buffer(p_, std::move(shard));
    }
    return it->second;
  }

  /// Sums over ranks: of gradients each rank gets its shard's, of scalars everything.
  void scatter_gradients() {
    for (const Bucket& bucket : buckets_of(p_, how_.bucket_bytes)) {
      auto& behind = after_[bucket.last_writer];
      const Buffer& first = buffer(bucket.buffers.front());
      if (is_scalar(first.role) || !is_sharded(first)) {
        behind.push_back(reduce_of(bucket));
        continue;
      }
      const AxisSet shards = shards_of(first), replicas = named(bucket.along - shards, p_.mesh);
      Instruction i{Op::scatter, none, stage_ > 1 ? p_.steady[bucket.last_writer].micro : none,
                    Lane::communication};
      int k = 0;
      for (const BufferId b : bucket.buffers) {
        i.uses.push_back(Use{b, How::read, ShardSlot::from(k)});
        i.uses.push_back(Use{shard_of_gradient(b), How::accumulate, ShardSlot::to(k)});
        ++k;
      }
      i.along = named(shards, p_.mesh);
      behind.push_back(std::move(i));
      if (p_.mesh.size(replicas) > 1 && !is_written_again(bucket))
        behind.push_back(sum_over_replicas(bucket, replicas));
    }
  }

  /// Of a scalar.
  Instruction summed(BufferId scalar, AxisSet shards) const {
    Instruction i{Op::reduce, none, none, Lane::communication};
    i.uses = {Use{scalar, How::modify, ReduceSlot::thing(0)}};
    i.along = named(shards, p_.mesh);
    return i;
  }

  /// Does a later micro-step add to the shards of these gradients?
  bool is_written_again(const Bucket& bucket) const {
    const int micro = p_.steady[bucket.last_writer].micro;
    return stage_ > 1 &&
           std::ranges::any_of(p_.steady, [&](const Instruction& i) { return i.micro > micro; });
  }

  Instruction sum_over_replicas(const Bucket& bucket, AxisSet replicas) {
    Bucket shards{{}, bucket.last_writer};
    for (const BufferId b : bucket.buffers) shards.buffers.push_back(shard_of_gradient(b));
    Instruction i = reduce_of(shards);
    i.along = replicas;
    return i;
  }

  /// Norm and updates see the shards' gradients; the norm is summed over ranks before anybody reads
  /// it.
  void update_shards() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      if (i.op != Op::grad_norm && i.op != Op::update && i.op != Op::measure) continue;
      AxisSet shards;  // the same of all gradients in a norm
      for (Use& u : i.uses)
        if (const auto shard = gradient_shards_.find(u.buffer); shard != gradient_shards_.end()) {
          u = Use{shard->second, u.how, u.slot};
          shards = shards_of(buffer(u.buffer));
        }
      if (i.op != Op::grad_norm || shards.is_empty()) continue;
      for (const Use& u : i.uses)
        if (u.slot == NormSlot::norm2) after_[k].push_back(summed(u.buffer, shards));
    }
  }

  /// Sums over tensors of experts are made already, of the parts of a rank's experts.
  void widen_sums() {
    for (Instruction& i : p_.steady) {
      if (i.op != Op::reduce) continue;
      const Buffer& b = buffer(i.uses.front().buffer);
      if (b.role == Role::tensor_sums && is_sharded(b)) i.along = i.along | shards_of(b);
    }
  }

  void insert() {
    std::vector<Instruction> steady;
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      std::move(before_[k].begin(), before_[k].end(), std::back_inserter(steady));
      steady.push_back(std::move(p_.steady[k]));
      std::move(after_[k].begin(), after_[k].end(), std::back_inserter(steady));
    }
    p_.steady = std::move(steady);
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  const UpdateSpec& update_;
  ReduceOptions how_;
  int stage_, turns_kept_;
  std::map<BufferId, Buffer> whole_;       // by buffer that became a shard: what it was
  std::map<BufferId, BufferId> first_of_;  // of a later micro-step's gradient: that of the first
  std::map<BufferId, BufferId> gradient_shards_;  // by gradient of the first micro-step
  std::map<BufferId, int> gathers_;               // by shard of weights, so far
  // by where it stands, whose it is and among whom: which of before_ there
  std::map<std::tuple<std::size_t, int, AxisSet>, std::size_t> gather_of_turn_;
  // by position in steady: what is inserted there
  std::vector<std::vector<Instruction>> before_, after_;
};

}  // namespace

StepProgram zero(StepProgram p, const ModelGraph& graph, const UpdateSpec& update,
                 const ReduceOptions& how, const ZeroOptions& options) {
  enter(p, Pass::zero);
  Zero(p, graph, update, how, options).apply();
  return p;
}

}  // namespace trainx::passes
