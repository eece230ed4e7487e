// Ranks that run placed programs over doubles: in list order, all ranks in lockstep, with dead
// bytes poisoned; or on lane threads with random delays.
#pragma once
#include "program/lanes.hpp"
#include "program/memory.hpp"
#include "support/toy/arithmetic.hpp"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace toy {

/// Every two bytes of an arena hold one double, that of an element which begins there: the smallest
/// have two.
using Memory = std::vector<double>;

/// A program on one rank's memory. Several programs may share a memory.
struct RankProgram {
  const StepProgram* program;
  const Placement* at;
  Memory* memory;
};

struct View {
  double* data = nullptr;
  std::size_t size = 0, stride = 1;
  double& operator[](std::size_t e) const { return data[e * stride]; }
  Numbers numbers() const {
    Numbers n(size);
    for (std::size_t e = 0; e < size; ++e) n[e] = (*this)[e];
    return n;
  }
};

inline std::size_t arena_words(const Placement& at) {
  return static_cast<std::size_t>((at.peak[0] + at.peak[1] + at.peak[2]) / 2 + 128);
}

inline View view(const RankProgram& r, const Use& u) {
  const Buffer& b = r.program->buffers[u.buffer];
  const Bytes origin = b.space == Space::device ? 0
                       : b.space == Space::host ? r.at->peak[0]
                                                : r.at->peak[0] + r.at->peak[1];
  const auto stride = static_cast<std::size_t>(size_of(b.dtype)) / 2;
  const Bytes first = (origin + 3) / 4 * 4 + r.at->base[u.buffer];
  return {r.memory->data() + first / 2, static_cast<std::size_t>(b.bytes()) / 2 / stride, stride};
}

inline void load_residents(const RankProgram& r, int rank) {
  for (std::size_t b = 0; b < r.program->buffers.size(); ++b) {
    const Buffer& buffer = r.program->buffers[b];
    if (!buffer.resident) continue;
    const View v = view(r, Use{static_cast<BufferId>(b), How::read});
    for (std::size_t e = 0; e < v.size; ++e)
      v[e] =
          initial(buffer.role, buffer.index,
                  e + static_cast<std::size_t>(buffer.layout.part(r.program->mesh, rank)) * v.size);
  }
}

using Report = std::map<Slot, double>;

class Machine {
 public:
  Machine(const ModelGraph& graph, std::vector<RankProgram> ranks, Overflow overflow = {})
      : reports(ranks.size()),
        graph_(&graph),
        ranks_(std::move(ranks)),
        overflow_(overflow),
        posts_(ranks_.size()) {}

  std::vector<std::vector<Report>> reports;  // by rank and step

  /// All ranks in lockstep; what is dead after an instruction becomes NaN.
  void run_in_order(int steps) {
    struct Cursor {
      std::vector<std::pair<const Instruction*, int>> todo;
      std::size_t next = 0;
      Lifetimes lives;
    };
    std::vector<Cursor> cursors;
    for (const RankProgram& r : ranks_) {
      Cursor c;
      int position = 0;
      auto add = [&](const std::vector<Instruction>& list) {
        for (std::size_t k = 0; k < list.size(); ++k)
          c.todo.emplace_back(&list[k], position + static_cast<int>(k));
      };
      add(r.program->once);
      position += static_cast<int>(r.program->once.size());
      for (int s = 0; s < steps; ++s) add(r.program->steady);
      c.lives = lifetimes(*r.program);
      cursors.push_back(std::move(c));
    }
    auto advance = [&](std::size_t r) {
      poison(ranks_[r], cursors[r].lives, *cursors[r].todo[cursors[r].next].first,
             cursors[r].todo[cursors[r].next].second);
      ++cursors[r].next;
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        for (; cursors[r].next < cursors[r].todo.size(); advance(r), moved = true) {
          const Instruction& i = *cursors[r].todo[cursors[r].next].first;
          if (is_collective(i.op)) break;
          execute(i, static_cast<int>(r));
        }
      std::vector<const Instruction*> waiting;
      for (const Cursor& c : cursors)
        waiting.push_back(c.next < c.todo.size() ? c.todo[c.next].first : nullptr);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!waiting[r] || waiting[r]->op != Op::send) continue;
        const auto peer = static_cast<std::size_t>(waiting[r]->peer);
        if (!waiting[peer] || waiting[peer]->op != Op::recv ||
            waiting[peer]->peer != static_cast<int>(r))
          continue;
        transfer(*waiting[r], static_cast<int>(r), *waiting[peer], static_cast<int>(peer));
        advance(r), advance(peer);
        waiting[r] = waiting[peer] = nullptr;
        moved = true;
      }
      if (!moved && std::all_of(waiting.begin(), waiting.end(), [](const Instruction* i) {
            return i && i->op != Op::send && i->op != Op::recv;
          })) {
        collective(waiting);
        for (std::size_t r = 0; r < ranks_.size(); ++r) advance(r);
        moved = true;
      }
    }
  }

  /// What LaneRunner calls. Collectives wait for the other ranks.
  void execute_on_lane(const Instruction& i, int rank) {
    if (!is_collective(i.op)) return execute(i, rank);
    std::unique_lock lock(mutex_);
    const auto r = static_cast<std::size_t>(rank);
    if (i.op == Op::send || i.op == Op::recv) {
      const auto peer = static_cast<std::size_t>(i.peer);
      if (posts_[peer] && posts_[peer]->peer == rank && is_pair(i, *posts_[peer])) {
        i.op == Op::send ? transfer(i, rank, *posts_[peer], i.peer)
                         : transfer(*posts_[peer], i.peer, i, rank);
        posts_[peer] = nullptr;
        return all_.notify_all();
      }
      posts_[r] = &i;
      all_.wait(lock, [&] { return !posts_[r]; });
      return;
    }
    posts_[r] = &i;
    if (std::all_of(posts_.begin(), posts_.end(),
                    [](const Instruction* x) { return x != nullptr; })) {
      collective(posts_);
      std::fill(posts_.begin(), posts_.end(), nullptr);
      return all_.notify_all();
    }
    all_.wait(lock, [&] { return !posts_[r]; });
  }

  void execute(const Instruction& i, int rank) {
    const RankProgram& r = ranks_[rank];
    auto at = [&](Slot s) -> std::optional<View> {
      for (const Use& u : i.uses)
        if (u.slot == s) return view(r, u);
      return std::nullopt;
    };
    auto scalar = [&](Slot s) -> const double* {
      const auto v = at(s);
      return v ? v->data : nullptr;
    };
    switch (i.op) {
      case Op::fetch_batch: {
        const double* step = scalar(FetchSlot::step);
        for (const Use& u : i.uses)
          if (writes(u.how)) {
            const View v = view(r, u);
            for (std::size_t e = 0; e < v.size; ++e)
              v[e] = sample(overflow_, step ? *step : nothing(), i.micro,
                            i.peer == none ? r.program->mesh.batch_of(rank) : i.peer,
                            u.slot - FetchSlot::first_batch, e);
          }
        return;
      }
      case Op::copy:
        move(*at(CopySlot::from), *at(CopySlot::to), i.uses[1].how == How::accumulate);
        return;
      case Op::cast: {
        const View from = *at(CopySlot::from), to = *at(CopySlot::to);
        // what ranks exchange counts as exact, as in the check
        const bool rounds = r.program->buffers[i.uses[0].buffer].role != Role::transit &&
                            r.program->buffers[i.uses[1].buffer].role != Role::transit;
        for (std::size_t e = 0; e < to.size; ++e) to[e] = rounds ? rounded(from[e]) : from[e];
        return;
      }
      case Op::add: move(*at(CopySlot::from), *at(CopySlot::to), true); return;
      case Op::grad_norm: {
        double sum = 0;
        for (const Use& u : i.uses)
          if (u.slot >= NormSlot::first_gradient)
            for (const double x : view(r, u).numbers()) sum += norm_term(x);
        for (const Use& u : i.uses)
          if (u.slot == NormSlot::norm2)
            view(r, u)[0] = sum + (u.how == How::accumulate ? view(r, u)[0] : 0);
        return;
      }
      case Op::update: return update(i, at);
      case Op::advance_step:
      case Op::advance_applied:
        for (const Use& u : i.uses)
          if (u.slot != AdvanceSlot::norm2)
            view(r, u)[0] = advanced(r.program->buffers[u.buffer].role, view(r, u)[0],
                                     scalar(AdvanceSlot::norm2));
        return;
      case Op::report: {
        Report report;
        for (const Use& u : i.uses) report[u.slot] = view(r, u)[0];
        reports[rank].push_back(report);
        return;
      }
      default: return run_block(i, r);
    }
  }

  const std::vector<RankProgram>& ranks() const { return ranks_; }

 private:
  static bool is_pair(const Instruction& a, const Instruction& b) {
    return (a.op == Op::send && b.op == Op::recv) || (a.op == Op::recv && b.op == Op::send);
  }
  static void move(const View& from, const View& to, bool adds) {
    for (std::size_t e = 0; e < to.size; ++e) to[e] = adds ? to[e] + from[e] : from[e];
  }

  void run_block(const Instruction& i, const RankProgram& r) const {
    const std::size_t n = graph_->blocks[i.block].slots.size();
    std::vector<Numbers> slots(n);
    std::vector<std::size_t> sizes(n);
    std::vector<SlotUse> uses;
    for (const Use& u : i.uses) {
      const auto s = static_cast<std::size_t>(u.slot);
      const View v = view(r, u);
      uses.push_back({u.slot, u.how});
      sizes[s] = v.size;
      if (u.how == How::read || u.how == How::modify) slots[s] = v.numbers();
    }
    compute_block(*graph_, i.block, i.op, uses, sizes, slots);
    for (const Use& u : i.uses) {
      if (!writes(u.how)) continue;
      const View v = view(r, u);
      const Numbers& made = slots[u.slot];
      for (std::size_t e = 0; e < v.size; ++e)
        v[e] = u.how == How::accumulate ? v[e] + made[e] : made[e];
    }
  }

  template <class At>
  static void update(const Instruction& i, At at) {
    const auto parameter = at(UpdateSlot::parameter), gradient = at(UpdateSlot::gradient),
               master = at(UpdateSlot::master), applied = at(UpdateSlot::applied),
               table = at(UpdateSlot::lr_table);
    const auto norm2 = at(UpdateSlot::norm2), target_count = at(UpdateSlot::target_count),
               loss_scale = at(UpdateSlot::loss_scale);
    if (!parameter) return;
    std::vector<View> states;
    for (const Use& u : i.uses)
      if (u.slot >= UpdateSlot::first_state) states.push_back(*at(u.slot));
    const double steps = applied ? (*applied)[0] : nothing();
    const double lr = table && steps >= 0 ? learning_rate(table->numbers(), steps) : nothing();
    for (std::size_t e = 0; e < parameter->size; ++e) {
      Element x{gradient ? (*gradient)[e] : nothing(),
                norm2 ? norm2->data : nullptr,
                target_count ? target_count->data : nullptr,
                loss_scale ? loss_scale->data : nullptr,
                steps,
                lr,
                &(*parameter)[e],
                master ? &(*master)[e] : nullptr,
                {}};
      for (const View& s : states) x.states.push_back(&s[e]);
      update_element(x);
    }
  }

  static View operand(const Instruction& i, const RankProgram& rank, Slot s) {
    for (const Use& u : i.uses)
      if (u.slot == s) return view(rank, u);
    return {};
  }

  void transfer(const Instruction& send, int from, const Instruction& recv, int to) const {
    move(operand(send, ranks_[static_cast<std::size_t>(from)], CopySlot::from),
         operand(recv, ranks_[static_cast<std::size_t>(to)], CopySlot::to),
         recv.uses[0].how == How::accumulate);
  }

  /// Each group of ranks by itself.
  void collective(const std::vector<const Instruction*>& of_rank) const {
    if (of_rank[0]->along == axes::all) return collective_of(of_rank, ranks_);
    for (std::size_t r = 0; r < of_rank.size(); ++r) {
      const std::vector<int> members =
          ranks_[0].program->mesh.peers(of_rank[0]->along, static_cast<int>(r));
      if (members.front() != static_cast<int>(r)) continue;
      std::vector<const Instruction*> instructions;
      std::vector<RankProgram> ranks;
      for (const int m : members)
        instructions.push_back(of_rank[static_cast<std::size_t>(m)]),
            ranks.push_back(ranks_[static_cast<std::size_t>(m)]);
      collective_of(instructions, ranks);
    }
  }

  static void collective_of(const std::vector<const Instruction*>& of_rank,
                            const std::vector<RankProgram>& ranks) {
    const std::size_t world = of_rank.size();
    if (of_rank[0]->op == Op::reduce) {
      for (std::size_t k = 0; k < of_rank[0]->uses.size(); ++k) {
        std::vector<View> views;
        for (std::size_t r = 0; r < world; ++r)
          views.push_back(view(ranks[r], of_rank[r]->uses[k]));
        for (std::size_t e = 0; e < views[0].size; ++e) {
          double sum = 0;
          for (const View& v : views) sum += v[e];
          for (std::size_t r = 0; r < world; ++r)
            if (of_rank[r]->peer == none || of_rank[r]->peer == static_cast<int>(r))
              views[r][e] = sum;
        }
      }
      return;
    }
    if (of_rank[0]->op == Op::broadcast) {
      const auto root = static_cast<std::size_t>(of_rank[0]->peer);
      for (std::size_t k = 0; k < of_rank[0]->uses.size(); ++k)
        for (std::size_t r = 0; r < world; ++r)
          if (r != root)
            move(view(ranks[root], of_rank[root]->uses[k]), view(ranks[r], of_rank[r]->uses[k]),
                 false);
      return;
    }
    for (int k = 0; operand(*of_rank[0], ranks[0], ShardSlot::from(k)).data; ++k)
      shard_move(of_rank, ranks, k);
  }

  static void shard_move(const std::vector<const Instruction*>& of_rank,
                         const std::vector<RankProgram>& ranks, int thing) {
    std::vector<Numbers> from;
    for (std::size_t r = 0; r < of_rank.size(); ++r)
      from.push_back(operand(*of_rank[r], ranks[r], ShardSlot::from(thing)).numbers());
    for (std::size_t r = 0; r < of_rank.size(); ++r) {
      const View to = operand(*of_rank[r], ranks[r], ShardSlot::to(thing));
      const bool adds = std::ranges::any_of(of_rank[r]->uses, [&](const Use& u) {
        return u.slot == ShardSlot::to(thing) && u.how == How::accumulate;
      });
      for (std::size_t e = 0; e < to.size; ++e) {
        double made = 0;
        if (of_rank[r]->op == Op::gather)
          made = from[e / from[0].size()][e % from[0].size()];
        else
          for (const Numbers& n : from) made += n[r * to.size + e];
        to[e] = adds ? to[e] + made : made;
      }
    }
  }

  static void poison(const RankProgram& r, const Lifetimes& lives, const Instruction& i,
                     int position) {
    const int steady = static_cast<int>(r.program->once.size()),
              end = steady + static_cast<int>(r.program->steady.size());
    auto alive_at = [&](BufferId b, int at) {
      return std::any_of(lives[b].begin(), lives[b].end(),
                         [&](const Interval& x) { return x.first <= at && at <= x.last; });
    };
    for (const Use& u : i.uses) {
      if (alive_at(u.buffer, position + 1) || (position + 1 == end && alive_at(u.buffer, steady)))
        continue;
      const View v = view(r, Use{u.buffer, How::read});
      if (!r.program->buffers[u.buffer].resident)
        for (std::size_t e = 0; e < v.size; ++e) v[e] = nothing();
    }
  }

  const ModelGraph* graph_;
  std::vector<RankProgram> ranks_;
  Overflow overflow_;
  std::mutex mutex_;
  std::condition_variable all_;
  std::vector<const Instruction*> posts_;  // by rank: the collective where it waits
};

/// Sleeps now and then; by lane, so that each thread has its own.
class RandomDelays {
 public:
  explicit RandomDelays(unsigned seed) {
    for (unsigned l = 0; l < lane_count; ++l) random_.emplace_back(seed * 131 + l + 1);
  }
  void operator()(Lane lane) {
    auto& random = random_[static_cast<int>(lane)];
    if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 40));
  }

 private:
  std::vector<std::minstd_rand> random_;
};

/// The machine's ranks, each with a LaneRunner. Rounds are submitted ahead. seed 0: no delays.
inline void run_on_lanes(Machine& machine, const std::vector<const Order*>& orders, int steps,
                         unsigned seed) {
  std::vector<std::unique_ptr<LaneRunner>> runners;
  std::vector<std::shared_ptr<RandomDelays>> delays;
  for (std::size_t r = 0; r < machine.ranks().size(); ++r) {
    auto delay =
        delays.emplace_back(std::make_shared<RandomDelays>(seed + 7 * static_cast<unsigned>(r)));
    runners.push_back(std::make_unique<LaneRunner>(
        *machine.ranks()[r].program, *orders[r],
        [&machine, r](const Instruction& i, int) {
          machine.execute_on_lane(i, static_cast<int>(r));
        },
        seed == 0 ? std::function<void(Lane)>() : [delay](Lane lane) { (*delay)(lane); }));
  }
  std::vector<std::thread> hosts;  // each rank has a host of its own
  for (std::size_t r = 0; r < runners.size(); ++r)
    hosts.emplace_back([&, r] {
      runners[r]->run_once();
      for (int s = 0; s < steps; ++s) runners[r]->submit_round();
      runners[r]->wait_for_round(steps / 2);
      runners[r]->wait_idle();
    });
  for (std::thread& t : hosts) t.join();
}

}  // namespace toy
