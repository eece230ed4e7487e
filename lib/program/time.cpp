#include "program/time.hpp"
#include "core/hopper_kernels.hpp"
#include "program/collective_spans.hpp"
#include "program/copied_gathers.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include "program/ring.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::program {
namespace {

double seconds(double amount, double per_s) { return per_s > 0 ? amount / per_s : 0; }

/// Bytes that go over memory: what is modified goes twice.
double bytes_of(const StepProgram& p, const Instruction& i) {
  double bytes = 0;
  for (const Use& u : i.uses)
    bytes += static_cast<double>(bytes_of(p, u)) *
             (u.how == How::accumulate || u.how == How::modify ? 2 : 1);
  return bytes;
}

/// The largest operand: what a copy or a collective moves.
double moved_bytes(const StepProgram& p, const Instruction& i) {
  Bytes bytes = 0;
  for (const Use& u : i.uses) bytes = std::max(bytes, bytes_of(p, u));
  return static_cast<double>(bytes);
}

struct Cost {
  double gemm_s = 0, attention_s = 0, memory_s = 0, kernels = 0;
  double measured_s = 0;  // with its launches, instead of the others
  // a kernel's time holds its launch
  double total(const Rates& rates) const {
    if (measured_s > 0) return measured_s;
    return gemm_s + attention_s + memory_s + std::max(kernels * rates.kernel_s, rates.launch_s);
  }
};

bool makes(const Instruction& i, Slot slot) {
  return std::any_of(i.uses.begin(), i.uses.end(),
                     [&](const Use& u) { return u.slot == slot && writes(u.how); });
}

/// Of an operation of a block. A recomputation does the part of the forward whose outputs it
/// writes.
Cost block_cost(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
                ProductTimes& products) {
  const Rates& rates = products.rates();
  Cost c{0, 0, seconds(bytes_of(p, i), rates.memory_bytes_per_s), 0};
  const auto& phases = graph.blocks[i.block].phases;
  const auto found = phases.find(i.op == Op::recompute ? Op::forward : i.op);
  if (found == phases.end()) return c;
  const Phase& phase = found->second;
  if (phase.measured_s > 0) return {.measured_s = phase.measured_s};
  auto takes_part = [&](Slot output) {
    return i.op != Op::recompute || output == none || makes(i, output);
  };
  c.kernels = static_cast<double>(phase.other_kernels);
  for (const Gemm& g : phase.gemms)
    if (takes_part(g.output)) {
      c.gemm_s += products.of(g, graph.compute).seconds * static_cast<double>(g.count);
      c.kernels += static_cast<double>(g.count);
    }
  for (const ParameterCast& cast : phase.parameter_casts)
    if (!makes(i, cast.copy)) {
      c.kernels -= static_cast<double>(cast.kernels);
      // the parameter's bytes are among those of the group that the instruction reads
      if (find_use(i, cast.parameter))
        c.memory_s -= seconds(cast.parameter_bytes, rates.memory_bytes_per_s);
    }
  if (phase.attention_flops > 0 && takes_part(phase.attention_output)) {
    c.attention_s = attention_s(phase, rates);
    c.kernels += i.op == Op::backward ? 3 : 1;  // backward: sums before it, its rounding after it
  }
  return c;
}

/// Of an update, of sums for one, or of the norm, on the device.
Cost update_cost(const Instruction& i, const StepProgram& p, const Rates& rates) {
  const UpdateRates& u = rates.update;
  double bytes = bytes_of(p, i), elements = 0;
  for (const Use& use : i.uses) {
    const auto size = static_cast<double>(bytes_of(p, use));
    if (u.reads_twice && i.op == Op::update && use.how == How::modify) bytes += size;
    if (i.op != Op::grad_norm && use.slot == UpdateSlot::gradient)
      elements += size / static_cast<double>(
                             size_of(p.buffers[static_cast<std::size_t>(use.buffer)].dtype));
  }
  return {0, 0, std::max(seconds(bytes, rates.memory_bytes_per_s), elements * u.element_s),
          static_cast<double>(i.op == Op::grad_norm ? 2 : u.kernels)};
}

Cost cost_of(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
             ProductTimes& products) {
  const Rates& rates = products.rates();
  switch (i.op) {
    case Op::forward:
    case Op::loss:
    case Op::recompute:
    case Op::backward:
    case Op::evaluate:
    case Op::predict: return block_cost(i, p, graph, products);
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
    case Op::all_to_all:
      return {
          0, 0,
          ring_of(i, p, rates.ranks_per_host).seconds(static_cast<double>(sent_bytes(p, i)), rates),
          0};
    case Op::send:
    case Op::recv: {
      // neighbouring stages lie as many ranks apart as one has
      const bool is_here = rates.ranks_per_host == 0 ||
                           (i.along == axes::stage ? p.mesh.stage_ranks() : i.peer) <
                               rates.ranks_per_host;
      return {
          0, 0,
          seconds(moved_bytes(p, i), is_here ? rates.link_bytes_per_s : rates.network_bytes_per_s),
          0};
    }
    case Op::fetch_batch: return {0, 0, seconds(bytes_of(p, i), rates.host_bytes_per_s), 0};
    default: break;
  }
  if (i.lane == Lane::compute &&
      (i.op == Op::update || i.op == Op::measure || i.op == Op::grad_norm))
    return update_cost(i, p, rates);
  if (i.op == Op::cast || i.op == Op::add)
    return {0, 0, seconds(bytes_of(p, i), rates.memory_bytes_per_s), 1};
  if (i.lane == Lane::disk) return {0, 0, seconds(moved_bytes(p, i), rates.disk_bytes_per_s), 0};
  if (i.lane == Lane::copy_in || i.lane == Lane::copy_out)
    return {0, 0, seconds(moved_bytes(p, i), rates.host_bytes_per_s), 0};
  const double on_host = rates.host_update_bytes_per_s > 0 ? rates.host_update_bytes_per_s
                                                           : rates.host_bytes_per_s;
  return {0, 0, seconds(bytes_of(p, i), i.lane == Lane::host ? on_host : rates.memory_bytes_per_s),
          0};
}

bool goes_between_ranks(const Instruction& i) {
  return is_collective(i.op) || i.op == Op::send || i.op == Op::recv;
}

/// Of a step in shards: NCCL has more multiprocessors where gathers are copies.
bool has_more_processors(const StepProgram& p, const Rates& rates) {
  return rates.link_copy_bytes_per_s > 0 && rates.link_bytes_per_s > 0 &&
         std::ranges::any_of(p.steady, [](const Instruction& i) { return i.op == Op::scatter; });
}

std::string name_bottleneck(const TimePrediction& t) {
  const auto busiest = std::max_element(t.busy_s.begin(), t.busy_s.end());
  const auto lane = static_cast<Lane>(busiest - t.busy_s.begin());
  if (lane != Lane::compute) return std::string(name_of(lane));
  const double launches = *busiest - t.gemm_s - t.attention_s - t.memory_s - t.measured_s;
  const double most = std::max({t.gemm_s, t.attention_s, t.memory_s, t.measured_s, launches});
  return std::string("compute: ") + (most == t.gemm_s        ? "matrix products"
                                     : most == t.attention_s ? "attention"
                                     : most == t.memory_s    ? "memory traffic"
                                     : most == t.measured_s  ? "modules of your own"
                                                             : "launches");
}

}  // namespace

Bytes sent_bytes(const StepProgram& p, const Instruction& i) {
  if (i.op != Op::scatter && i.op != Op::gather && i.op != Op::all_to_all && i.op != Op::reduce &&
      i.op != Op::broadcast)
    return static_cast<Bytes>(moved_bytes(p, i));
  Bytes bytes = 0;
  for (const Use& u : i.uses) {
    const bool is_shard =
        ((i.op == Op::scatter || i.op == Op::all_to_all) && u.slot % 2 == ShardSlot::to(0)) ||
        (i.op == Op::gather && u.slot % 2 == ShardSlot::from(0));
    if (!is_shard) bytes += bytes_of(p, u);
  }
  return bytes;
}

bool has_fused_attention(std::int64_t head) { return head % 8 == 0 && head <= 128; }
std::int64_t fused_attention_head(std::int64_t head) { return head <= 64 ? 64 : 128; }

namespace {

ProductTime compute_type_time(const Gemm& g, DType operands, const Rates& rates) {
  if (rates.tiles.multiprocessors == 0 || rates.gemm_flops_per_s <= 0)
    return {seconds(2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                        static_cast<double>(g.k),
                    rates.gemm_flops_per_s),
            0};
  const TiledProduct t =
      tiled_product(g.m, g.n, g.k, g.row_alignment(operands), rates.tiles, g.a_transposed);
  return {t.seconds, t.lost_s};
}

}  // namespace

ProductTime product_time(const Gemm& g, DType operands, const Rates& rates) {
  if (g.of_experts && rates.experts_flops_per_s > 0) {
    const bool by_hopper =
        rates.hopper_experts_flops_per_s > 0 &&
        is_by_hopper(ExpertProduct{90, operands, g.n, g.a_transposed ? g.m : g.k});
    return {seconds(2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                        static_cast<double>(g.k),
                    by_hopper ? rates.hopper_experts_flops_per_s : rates.experts_flops_per_s),
            0};
  }
  const ProductTime t = compute_type_time(g, operands, rates);
  return g.fp8 ? ProductTime{t.seconds / rates.fp8_speedup, t.lost_s / rates.fp8_speedup} : t;
}

double attention_s(const Phase& phase, const Rates& rates) {
  if (rates.attention_fill_rows > 0 && phase.attention_rows > 0)
    return seconds(phase.attention_flops *
                       (1 + rates.attention_fill_rows / static_cast<double>(phase.attention_rows)),
                   rates.attention_flops_per_s);
  if (phase.plain_attention && rates.plain_attention_flops_per_s > 0)
    return seconds(phase.attention_flops, rates.plain_attention_flops_per_s);
  if (rates.plain_attention_flops_per_s <= 0 || phase.attention_head <= 0)
    return seconds(phase.attention_flops, rates.attention_flops_per_s);
  if (!has_fused_attention(phase.attention_head) && !phase.wide_attention)
    return seconds(phase.attention_flops, rates.plain_attention_flops_per_s);
  // bench/results/h200/attention_heads.md: draws of dropout beside products, by trainx's kernels
  // for all GPUs and for Hopper; heads of 256
  constexpr double own_with_draws = 1.42, hopper_with_draws = 1.56, of_wide_heads = 1.25;
  if (phase.own_attention && rates.own_attention_flops_per_s > 0)
    return seconds(phase.attention_flops * (phase.dropped_attention ? own_with_draws : 1),
                   rates.own_attention_flops_per_s);
  const std::int64_t computed = fused_attention_head(phase.attention_head);
  const double slower = phase.wide_attention ? of_wide_heads
                                             : static_cast<double>(computed) /
                                                   static_cast<double>(phase.attention_head);
  const double flops = phase.attention_flops * slower *
                       (phase.hopper_attention && phase.dropped_attention ? hopper_with_draws : 1);
  const FusedAttention &own = computed == 64 ? rates.hopper_heads_of_64 : rates.hopper_heads_of_128,
                       &library = computed == 64 ? rates.heads_of_64 : rates.heads_of_128,
                       &fused = phase.hopper_attention && own.flops_per_s > 0 ? own : library;
  if (fused.flops_per_s <= 0 || phase.attention_keys <= 0)
    return seconds(flops, rates.attention_flops_per_s);
  const double lost = phase.attention_causal ? fused.lost_keys_causal : fused.lost_keys;
  return seconds(flops * (1 + lost / phase.attention_keys), fused.flops_per_s);
}

ProductTime ProductTimes::of(const Gemm& g, DType operands) {
  const std::int64_t alignment = g.row_alignment(operands);
  for (const Known& k : known_)
    if (k.m == g.m && k.n == g.n && k.k == g.k && k.row_alignment == alignment &&
        k.a_transposed == g.a_transposed && k.fp8 == g.fp8 && k.of_experts == g.of_experts)
      return k.time;
  const ProductTime time = product_time(g, operands, rates_);
  known_.push_back({g.m, g.n, g.k, alignment, g.a_transposed, g.fp8, g.of_experts, time});
  return time;
}

double duration_s(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
                  const Rates& rates) {
  ProductTimes products(rates);
  return duration_s(i, p, graph, products);
}

double duration_s(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
                  ProductTimes& products) {
  return cost_of(i, p, graph, products).total(products.rates());
}

namespace {

/// What a computation loses of its speed beside a copy of shards that was queued right behind
/// another, as where stages 1 and 2 gather all weights at the start of a step; one copy at a time
/// ahead of its use, as in stage 3, slows nothing. Fitted to what zero2 takes beyond zero3 in
/// modes-1558m of tests/data/measured/ranks.jsonl: 2.25 ms beside 4.2 ms of copies at 370e9 bytes a
/// second. Slower links take less of the memory.
double queued_copy_slows(const StepProgram& p, std::size_t k, const Rates& rates) {
  constexpr double slows = 0.53, at_bytes_per_s = 370e9;
  if (k == 0 || p.steady[k - 1].op != Op::gather) return 0;
  return slows * std::min(1.0, rates.link_copy_bytes_per_s / at_bytes_per_s);
}

}  // namespace

TimePrediction predict_time(const StepProgram& p, const Order& order, const ModelGraph& graph,
                            const Rates& of_links) {
  TimePrediction t;
  Rates rates = of_links;
  const bool more_processors = has_more_processors(p, rates);
  if (more_processors) rates.link_bytes_per_s *= rates.collectives.more_speedup;
  const bool among_ranks = std::ranges::any_of(p.steady, goes_between_ranks);
  const double slowest = 1 + (among_ranks ? rates.collectives.slowest : 0);
  const std::size_t count = p.steady.size(), begin = launch_begin(p);
  // of the n-th of a launch
  const auto position = [&](std::size_t n) { return (begin + n) % count; };
  // launched: by the host, since it began with the launch
  std::vector<double> duration(count), launched(count);
  // of the host: of these instructions, and of micro-steps left out
  double host_s = 0, host_left_out_s = 0;
  std::array<int, lane_count> per_round{};
  std::vector<bool> copied(count);
  if (rates.link_copy_bytes_per_s > 0 && rates.link_bytes_per_s > 0) copied = copied_gathers(p);
  ProductTimes products(rates);
  const Instruction* last = nullptr;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t k = position(n);
    const Instruction& i = p.steady[k];
    Cost c = cost_of(i, p, graph, products);
    if (copied[k])
      c.memory_s *= rates.link_bytes_per_s / rates.link_copy_bytes_per_s;
    else if (i.op == Op::gather)
      c.memory_s /= rates.collectives.gather_share;
    else if (i.op == Op::scatter)
      c.memory_s /= rates.collectives.scatter_share;
    // one launch does all that follow each other
    const bool launched_before = (i.op == Op::update || i.op == Op::measure) && last &&
                                 last->op == i.op && last->lane == i.lane;
    if (launched_before) c.kernels = 0;
    last = &i;
    duration[k] = c.total(rates) * (i.lane == Lane::compute ? slowest : 1);
    const double host_of_this_s = (launched_before ? 0.0 : std::max(c.kernels, 1.0)) *
                                  rates.host_kernel_s;
    launched[k] = host_s += host_of_this_s;
    const auto n_times = static_cast<double>(times(p, i));
    host_left_out_s += (n_times - 1) * host_of_this_s;
    t.busy_s[static_cast<int>(i.lane)] += duration[k] * n_times;
    ++per_round[static_cast<int>(i.lane)];
    if (i.lane == Lane::compute) {
      t.gemm_s += c.gemm_s * n_times;
      t.attention_s += c.attention_s * n_times;
      t.memory_s += c.memory_s * n_times;
      t.measured_s += c.measured_s * n_times;
    }
  }
  std::array<std::vector<double>, lane_count> done;  // when each instruction ends, over all rounds
  double end = 0;
  CollectiveSpans beside;
  const double slows = more_processors ? rates.collectives.more_slows : rates.collectives.slows;
  std::array<double, 2> micro_ended{};  // of the repeated micro-step, and of the one before it
  for (int launch = 0; launch < 64; ++launch) {
    const double before = end;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t k = position(n);
      // the first launch has nothing of a step before it
      const int round = launch - (begin > 0 && k >= begin ? 1 : 0);
      if (round < 0) continue;
      auto& mine = done[static_cast<int>(p.steady[k].lane)];
      double start = std::max(before, mine.empty() ? 0 : mine.back());
      if (host_s > 0) start = std::max(start, before + launched[k]);
      for (const Wait& w : order.steady[k]) {
        const auto l = static_cast<std::size_t>(w.lane);
        if (round >= w.back)
          start = std::max(start, done[l][(round - w.back) * per_round[l] + w.index]);
      }
      const Instruction& i = p.steady[k];
      mine.push_back(i.lane == Lane::compute ? beside.end_of(start, duration[k])
                                             : start + duration[k]);
      if (goes_between_ranks(i))
        beside.add(start, mine.back(), copied[k] ? queued_copy_slows(p, k, rates) : slows);
      end = std::max(end, mine.back());
      if (p.repeats == 0 || p.steady[k].lane != Lane::compute) continue;
      for (int before_it = 0; before_it < 2; ++before_it)
        if (p.steady[k].micro == p.repeated_micro - before_it)
          micro_ended[static_cast<std::size_t>(before_it)] = mine.back();
    }
    const double step_s = end - before;
    const bool is_steady = launch > 0 && std::abs(step_s - t.step_s) <= 1e-9 * step_s;
    t.step_s = step_s;
    if (is_steady) break;
  }
  t.step_s += static_cast<double>(p.repeats) * (micro_ended[0] - micro_ended[1]);
  host_s += host_left_out_s;
  t.bottleneck = name_bottleneck(t);
  if (host_s > t.step_s / 2 && host_s > *std::max_element(t.busy_s.begin(), t.busy_s.end()))
    t.bottleneck = "host: launches";
  return t;
}

}  // namespace trainx::program
