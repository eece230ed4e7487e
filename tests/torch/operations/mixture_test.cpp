// Operations of mixtures of experts against loops of doubles: routers, rows by expert, products of
// each expert, sums of what they make.
#include "torch/operations/double_reference.hpp"
#include "core/error.hpp"
#include "core/process_memory.hpp"
#include "operations/combine/combine.hpp"
#include "operations/clamped_gated/clamped_gated.hpp"
#include "operations/dispatch/dispatch.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks.hpp"
#include "operations/expert_loads/expert_loads.hpp"
#include "operations/grouped_linear/grouped_linear.hpp"
#include "operations/router/router.hpp"
#include "operations/router_loss/router_loss.hpp"
#include "kernels/experts/rank_slots.hpp"
#include "support/user_error.hpp"
#include <ATen/ops/eye.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <cmath>
#include <numeric>

namespace mixture_test {

using namespace trainx;
using namespace double_reference;
using operations::Router;

namespace {

using Index = std::vector<std::int32_t>;

std::size_t idx(std::int64_t i) { return static_cast<std::size_t>(i); }

Index ints(const at::Tensor& t) {
  return {t.const_data_ptr<std::int32_t>(), t.const_data_ptr<std::int32_t>() + t.numel()};
}
at::Tensor as_tensor(const Index& values, at::IntArrayRef dims) {
  return at::tensor(at::ArrayRef<std::int32_t>(values), at::kInt).view(dims).clone();
}

/// out[rows, n] = a[rows, m] b[n, m]^T.
Doubles product(const Doubles& a, const Doubles& b, std::int64_t m) {
  Doubles out;
  for (std::int64_t r = 0; r * m < std::ssize(a); ++r)
    for (std::int64_t c = 0; c * m < std::ssize(b); ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < m; ++i) sum += a[idx(r * m + i)] * b[idx(c * m + i)];
      out.push_back(sum);
    }
  return out;
}

Doubles softmax(Doubles v) {
  double sum = 0;
  for (double& x : v) sum += x = std::exp(x);
  for (double& x : v) x /= sum;
  return v;
}

/// What a router does for one token whose logits these are.
struct Token {
  Doubles scores, weights;
  Index chosen;
};
Doubles scores_of(const Router& r, const Doubles& logits) {
  if (r.score == Router::Score::softmax) return softmax(logits);
  Doubles out = logits;
  if (r.score == Router::Score::sigmoid)
    for (double& x : out) x = 1 / (1 + std::exp(-x));
  return out;
}
Doubles weights_of(const Router& r, const Doubles& scores, const Index& chosen) {
  Doubles out;
  for (const std::int32_t e : chosen) out.push_back(scores[idx(e)]);
  if (r.score == Router::Score::chosen_softmax) out = softmax(out);
  const double sum = r.normalized ? std::accumulate(out.begin(), out.end(), 0.0) : 1;
  for (double& w : out) w *= r.scale / sum;
  return out;
}
/// Indices of the k largest.
Index largest(const Doubles& v, std::int64_t k) {
  Index order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return v[idx(a)] > v[idx(b)]; });
  order.resize(idx(k));
  return order;
}
Token token_of(const Router& r, const Doubles& logits, const Doubles& correction) {
  Token t{scores_of(r, logits), {}, {}};
  Doubles by = t.scores;
  for (std::size_t e = 0; e < correction.size(); ++e) by[e] += correction[e];
  if (r.groups > 1) {
    const std::int64_t each = r.experts / r.groups;
    Doubles of_groups;
    for (std::int64_t g = 0; g < r.groups; ++g) {
      Doubles of(by.begin() + g * each, by.begin() + (g + 1) * each);
      std::sort(of.rbegin(), of.rend());
      of_groups.push_back(r.group_score == Router::GroupScore::largest ? of[0] : of[0] + of[1]);
    }
    const Index kept = largest(of_groups, r.kept_groups);
    for (std::int64_t e = 0; e < r.experts; ++e)
      if (std::find(kept.begin(), kept.end(), e / each) == kept.end()) by[idx(e)] = -1e30;
  }
  t.chosen = largest(by, r.per_token);
  t.weights = weights_of(r, t.scores, t.chosen);
  return t;
}

struct RouterCase {
  const char* name;
  Router router;
  bool corrects = false;
};
RouterCase any_router() {
  using enum Router::Score;
  using enum Router::GroupScore;
  return GENERATE(
      RouterCase{"softmax", {.experts = 8, .per_token = 2}},
      RouterCase{"softmax, normalized", {.experts = 8, .per_token = 3, .normalized = true}},
      RouterCase{"one expert", {.experts = 1, .per_token = 1}},
      RouterCase{"all experts", {.experts = 5, .per_token = 5, .normalized = true}},
      RouterCase{"of the chosen", {.experts = 7, .per_token = 3, .score = chosen_softmax}},
      RouterCase{"sigmoid", {.experts = 8, .per_token = 2, .score = sigmoid, .scale = 2.5}},
      RouterCase{"sigmoids in groups",
                 {.experts = 12,
                  .per_token = 4,
                  .score = sigmoid,
                  .normalized = true,
                  .scale = 2.5,
                  .groups = 4,
                  .kept_groups = 2,
                  .group_score = two_largest},
                 true},
      RouterCase{"softmax in groups",
                 {.experts = 12, .per_token = 3, .scale = 1.5, .groups = 3, .kept_groups = 1}});
}

/// Room for operands in fp32, `rows` at a time.
struct Casts {
  Casts(std::int64_t rows, const Router& r, std::int64_t hidden)
      : x(at::empty({rows, hidden}, at::kFloat)),
        weight(at::empty({r.experts, hidden}, at::kFloat)),
        d_x(at::empty({rows, hidden}, at::kFloat)) {}
  operations::RouterCasts get() const { return {.x = x, .weight = weight, .d_x = d_x}; }
  at::Tensor x, weight, d_x;
};

}  // namespace

TEST_CASE("routers: choice, weights and gradients") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const RouterCase c = any_router();
  const std::int64_t N = GENERATE(1, 7), H = 6, E = c.router.experts, k = c.router.per_token;
  const bool adds = GENERATE(false, true);
  // sums of the softmax, for a loss; of sigmoids there are none
  const bool balances = adds && c.router.score != Router::Score::sigmoid;
  Operands operands(type);
  INFO(c10::toString(type) << " " << c.name << " tokens " << N << " adds " << adds << " seed "
                           << operands.seed());
  const at::Tensor x = operands.normal({N, H}), weight = operands.normal({E, H}, 0.7),
                   correction = c.corrects ? operands.normal({E}, 0.3) : at::Tensor();
  const auto f32 = [&](at::IntArrayRef dims) { return operands.empty(dims, at::kFloat); };
  const at::Tensor scores = f32({N, E}), weights = f32({N, k}), d_logits = f32({N, E});
  const at::Tensor indices = at::full({N, k}, -1, at::kInt);
  const Casts casts(3, c.router, H);
  operations::router_scores(c.router, scores, {}, x, weight, {}, casts.get());
  operations::choose_experts(c.router, weights, indices, scores, correction);

  Doubles in = doubles(x), w = doubles(weight);
  const Doubles logits = product(in, w, H), shift = doubles(correction);
  Doubles want_scores, want_weights;
  Index want_indices;
  for (std::int64_t n = 0; n < N; ++n) {
    const Token t =
        token_of(c.router, {logits.begin() + n * E, logits.begin() + (n + 1) * E}, shift);
    want_scores.insert(want_scores.end(), t.scores.begin(), t.scores.end());
    want_weights.insert(want_weights.end(), t.weights.begin(), t.weights.end());
    want_indices.insert(want_indices.end(), t.chosen.begin(), t.chosen.end());
  }
  CHECK(error(scores, want_scores) <= 2e-5);  // of bf16 operands, too
  CHECK(error(weights, want_weights) <= 2e-5);
  CHECK(ints(indices) == want_indices);

  // of a part of its outputs a recomputation writes no others
  const at::Tensor again = at::full({N, k}, -1, at::kInt), weights_again = f32({N, k});
  operations::choose_experts(c.router, {}, again, scores, correction);
  operations::choose_experts(c.router, weights_again, {}, scores, correction);
  CHECK(at::equal(again, indices));
  CHECK(at::equal(weights_again, weights));

  const at::Tensor dy = operands.normal({N, k}, 1, at::kFloat), there = operands.normal({N, H}),
                   dx = adds ? there.clone() : operands.empty({N, H}),
                   dw = adds ? operands.normal({E, H}, 1, at::kFloat) : f32({E, H});
  const Doubles dw_before = doubles(dw);
  const at::Tensor balanced = f32({2, E}), before = operands.normal({2, E}, 1, at::kFloat),
                   d_balanced = operands.normal({2, E}, 1, at::kFloat);
  const Doubles d_sums = doubles(d_balanced.select(0, 1));
  const auto sums_of = [&](const Doubles& at_logits) {
    Doubles out(idx(E));
    for (std::int64_t n = 0; n < N; ++n)
      out = sum(out, softmax({at_logits.begin() + n * E, at_logits.begin() + (n + 1) * E}));
    return out;
  };
  if (balances) {
    operations::balance_experts(c.router, balanced, before, scores, indices);
    Doubles want = doubles(before);
    for (const std::int32_t e : want_indices) ++want[idx(e)];
    const Doubles sums = sums_of(logits);
    for (std::int64_t e = 0; e < E; ++e) want[idx(E + e)] += sums[idx(e)];
    CHECK(error(balanced, want) <= 2e-5);
  }
  operations::router_scores_backward(c.router, d_logits, dy,
                                     balances ? Tensor(d_balanced) : Tensor(), {}, scores, indices,
                                     casts.get());
  operations::router_backward_weight(dw, d_logits, x, adds, casts.get());
  operations::router_backward_input(dx, d_logits, weight, adds ? Tensor(dx) : Tensor(),
                                    casts.get());
  const Doubles d = doubles(dy);
  const auto loss = [&] {
    const Doubles at_logits = product(in, w, H);
    Doubles out;
    for (std::int64_t n = 0; n < N; ++n) {
      const Doubles of = weights_of(
          c.router,
          scores_of(c.router, {at_logits.begin() + n * E, at_logits.begin() + (n + 1) * E}),
          {want_indices.begin() + n * k, want_indices.begin() + (n + 1) * k});
      out.insert(out.end(), of.begin(), of.end());
    }
    return dot(out, d) + (balances ? dot(sums_of(at_logits), d_sums) : 0);
  };
  Doubles want_dx = slopes(in, loss), want_dw = slopes(w, loss);
  if (adds) want_dx = sum(want_dx, doubles(there)), want_dw = sum(want_dw, dw_before);
  CHECK(error(dx, want_dx) <= operands.tolerance());
  CHECK(error(dw, want_dw) <= 2e-5);
}

TEST_CASE("ties go to the lower expert, and what is no number is chosen, once") {
  const Router r{.experts = 4, .per_token = 3};
  const at::Tensor scores = at::full({2, 4}, 0.25, at::kFloat),
                   weights = at::full({2, 3}, 0, at::kFloat),
                   indices = at::full({2, 3}, -1, at::kInt);
  auto* const second = scores.mutable_data_ptr<float>() + 4;
  std::fill(second, second + 4, std::numeric_limits<float>::quiet_NaN());
  operations::choose_experts(r, weights, indices, scores, {});
  CHECK(ints(indices) == Index{0, 1, 2, 0, 1, 2});
  CHECK(std::isnan(doubles(weights)[3]));
}

namespace {

/// How tokens are spread over experts.
enum class Spread : std::uint8_t { drawn, one_expert, none_to_first, all_experts };

/// Experts of N tokens, k different ones each.
Index spread_over(Spread spread, std::int64_t N, std::int64_t k, std::int64_t E) {
  Index out;
  std::mt19937 random(17);
  for (std::int64_t n = 0; n < N; ++n) {
    Index all(idx(E));
    std::iota(all.begin(), all.end(), 0);
    if (spread == Spread::drawn) std::shuffle(all.begin(), all.end(), random);
    if (spread == Spread::one_expert) std::rotate(all.begin(), all.begin() + E - 1, all.end());
    if (spread == Spread::none_to_first) std::reverse(all.begin(), all.end());
    out.insert(out.end(), all.begin(), all.begin() + k);
  }
  return out;
}

struct Sizes {
  std::int64_t tokens, per_token, experts;
  Spread spread;
};
Sizes any_sizes() {
  return GENERATE(Sizes{9, 2, 5, Spread::drawn}, Sizes{40, 3, 8, Spread::drawn},
                  Sizes{6, 1, 4, Spread::one_expert}, Sizes{7, 2, 4, Spread::none_to_first},
                  Sizes{5, 4, 4, Spread::all_experts}, Sizes{1, 1, 3, Spread::drawn},
                  Sizes{1, 3, 3, Spread::all_experts});
}

/// Places and offsets by their documentation.
struct Sorted {
  Index places, offsets;
};
Sorted sorted(const Index& experts, std::int64_t E) {
  Sorted s{Index(experts.size()), {0}};
  std::int32_t row = 0;
  for (std::int32_t e = 0; e < E; ++e) {
    for (std::size_t i = 0; i < experts.size(); ++i)
      if (experts[i] == e) s.places[i] = row++;
    s.offsets.push_back(row);
  }
  return s;
}

}  // namespace

TEST_CASE("rows by expert, and their gradients back") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto [N, k, E, spread] = any_sizes();
  const bool adds = GENERATE(false, true);
  const std::int64_t H = 5;
  Operands operands(type);
  INFO(c10::toString(type) << " tokens " << N << " of " << k << " of " << E << " adds " << adds
                           << " seed " << operands.seed());
  const Index experts = spread_over(spread, N, k, E);
  const Sorted want = sorted(experts, E);
  const at::Tensor indices = as_tensor(experts, {N, k}), places = at::full({N, k}, -1, at::kInt),
                   offsets = at::full({E + 1}, -1, at::kInt);
  operations::sort_by_expert(places, offsets, indices, E);
  CHECK(ints(places) == want.places);
  CHECK(ints(offsets) == want.offsets);
  const at::Tensor x = operands.normal({N, H}), rows = operands.empty({N * k, H});
  operations::dispatch_rows(rows, x, places);
  for (std::int64_t i = 0; i < N * k; ++i) CHECK(at::equal(rows[want.places[idx(i)]], x[i / k]));

  const at::Tensor d = operands.normal({N * k, H}), there = operands.normal({N, H}),
                   dx = adds ? there.clone() : operands.empty({N, H});
  operations::dispatch_rows_backward(dx, d, places, adds ? Tensor(dx) : Tensor());
  Doubles want_dx = adds ? doubles(there) : Doubles(idx(N * H));
  const Doubles of = doubles(d);
  for (std::int64_t i = 0; i < N * k; ++i)
    for (std::int64_t c = 0; c < H; ++c)
      want_dx[idx(i / k * H + c)] += of[idx(want.places[idx(i)] * H + c)];
  CHECK(error(dx, want_dx) <= operands.tolerance());
}

TEST_CASE("an index that is no expert's is refused") {
  const at::Tensor indices = as_tensor({0, GENERATE(-1, 3)}, {1, 2}),
                   places = at::full({1, 2}, -1, at::kInt);
  CHECK_THROWS_AS(operations::sort_by_expert(places, {}, indices, 3), InternalError);
}

namespace {

Sizes sizes_of_ranks() {
  return GENERATE(Sizes{9, 2, 6, Spread::drawn}, Sizes{40, 3, 8, Spread::drawn},
                  Sizes{6, 1, 4, Spread::one_expert}, Sizes{7, 2, 4, Spread::none_to_first},
                  Sizes{5, 4, 4, Spread::all_experts}, Sizes{1, 1, 2, Spread::drawn},
                  Sizes{30, 5, 12, Spread::drawn});
}

}  // namespace

TEST_CASE("a token has one row in the slot of each rank whose experts it chose") {
  const auto [N, k, E, spread] = sizes_of_ranks();
  const std::int64_t ranks = GENERATE(2, 4), capacity = GENERATE(0, 1, 3, 20), each = E / ranks;
  if (E % ranks != 0) return;
  INFO("tokens " << N << " of " << k << " of " << E << " ranks " << ranks << " room " << capacity);
  const operations::DispatchToRanks of{
      .experts = E, .ranks = ranks, .capacity = capacity, .drops = true};
  const std::int64_t S = of.slot_rows(N), m = std::min(k, ranks);
  CHECK(S == (capacity > 0 ? std::min(N, capacity) : N));
  const Index chosen = spread_over(spread, N, k, E);

  // by the rule: in the order of tokens, each rank keeps its first choices
  Index want_kept = chosen, want_places(idx(N * m), -1), want_owners(idx(ranks * S * k), -1),
        choices(idx(ranks)), filled(idx(ranks));
  for (std::int64_t n = 0; n < N; ++n) {
    Index rows(idx(ranks), -1);
    for (std::int64_t j = n * k; j < (n + 1) * k; ++j) {
      const std::size_t r = idx(chosen[idx(j)] / each);
      if (choices[r]++ >= capacity && capacity > 0) {
        want_kept[idx(j)] = -1;
        continue;
      }
      if (rows[r] < 0)
        rows[r] = static_cast<std::int32_t>(static_cast<std::int64_t>(r) * S) + filled[r]++;
      want_owners[idx(rows[r] * k + j - n * k)] = static_cast<std::int32_t>(chosen[idx(j)] % each);
    }
    std::int64_t i = n * m;
    for (const std::int32_t row : rows)
      if (row >= 0) want_places[idx(i++)] = row;
  }
  Index want_offsets{0};
  for (std::int32_t e = 0; e < E; ++e)
    want_offsets.push_back(want_offsets.back() +
                           static_cast<std::int32_t>(std::ranges::count(want_kept, e)));

  Operands operands(at::kFloat);
  const at::Tensor indices = as_tensor(chosen, {N, k}), weights = operands.normal({N, k}),
                   kept = at::full({N, k}, -7, at::kInt), places = at::full({N, m}, -7, at::kInt),
                   owners = at::full({ranks * S, k}, -7, at::kInt),
                   slot_weights = at::full({ranks * S, k}, NAN),
                   offsets = at::full({E + 1}, -7, at::kInt);
  if (capacity > 0) operations::keep_choices(of, kept, indices);
  const at::Tensor seen = capacity > 0 ? kept : indices;
  operations::place_tokens(of, places, seen);
  operations::fill_slots(of, {slot_weights, owners}, weights, seen, places);
  operations::sort_by_expert({}, offsets, seen, E, {.sparse = true});
  CHECK(ints(seen) == want_kept);
  CHECK(ints(places) == want_places);
  CHECK(ints(owners) == want_owners);
  CHECK(ints(offsets) == want_offsets);
  const at::Tensor d_slots = operands.normal({ranks * S, k}), d_weights = at::full({N, k}, NAN);
  operations::slot_weights_backward(of, d_weights, d_slots, indices, places);
  for (std::int64_t p = 0; p < N * m; ++p) {
    const std::int64_t row = want_places[idx(p)], n = p / m;
    for (std::int64_t j = 0; row >= 0 && j < k; ++j) {
      const bool owned = want_owners[idx(row * k + j)] >= 0;
      CHECK(slot_weights[row][j].item<float>() == (owned ? weights[n][j].item<float>() : 0));
      if (owned) CHECK(d_weights[n][j].item<float>() == d_slots[row][j].item<float>());
    }
  }
  for (std::int64_t i = 0; i < N * k; ++i) {  // no row there, no gradient
    const std::int32_t rank = chosen[idx(i)] / static_cast<std::int32_t>(each);
    const bool has_row = std::any_of(want_places.begin() + i / k * m,
                                     want_places.begin() + (i / k + 1) * m,
                                     [&](std::int32_t row) { return row >= 0 && row / S == rank; });
    if (!has_row) CHECK(d_weights.view({-1})[i].item<float>() == 0);
  }

  // the references of the kernels follow the same rule
  const kernels::RankChoices all{N, k, E, ranks, chosen.data()};
  Index again(chosen);
  if (capacity > 0) kernels::kept_choices_reference({all, capacity, again.data()});
  CHECK(again == want_kept);
  const kernels::RankChoices some{N, k, E, ranks, want_kept.data()};
  Index by_reference(idx(N * m)), owners_by(idx(ranks * S * k));
  std::vector<float> weights_by(idx(ranks * S * k), -1), d_by(idx(N * k), -1);
  kernels::rank_places_reference({some, m, S, by_reference.data()});
  CHECK(by_reference == want_places);
  kernels::rank_slots_reference({some, m, S, want_places.data(), weights.const_data_ptr<float>(),
                                 owners_by.data(), weights_by.data()});
  CHECK(owners_by == want_owners);
  for (std::int64_t p = 0; p < N * m; ++p)
    for (std::int64_t j = 0; want_places[idx(p)] >= 0 && j < k; ++j) {
      const std::int64_t i = want_places[idx(p)] * k + j;
      CHECK(weights_by[idx(i)] == slot_weights.view({-1})[i].item<float>());
    }
  kernels::rank_slots_backward_reference(
      {all, m, S, want_places.data(), d_slots.const_data_ptr<float>(), d_by.data()});
  for (std::int64_t i = 0; i < N * k; ++i)
    CHECK(d_by[idx(i)] == d_weights.view({-1})[i].item<float>());

  operations::DispatchToRanks strict = of;
  strict.drops = false;
  if (capacity == 0) return;
  const std::string said = user_error_of([&] { operations::keep_choices(strict, kept, indices); });
  if (std::ranges::max(choices) <= capacity)
    CHECK(said == "nothing thrown");
  else
    CHECK(
        (said.starts_with("71: ") && said.find("parallel.experts_capacity") != std::string::npos));
}

TEST_CASE("an expert with a capacity has the first choices of it, in their order, without gaps") {
  const auto [N, k, E, spread] =
      GENERATE(Sizes{9, 2, 6, Spread::drawn}, Sizes{40, 3, 8, Spread::drawn},
               Sizes{6, 1, 4, Spread::one_expert}, Sizes{7, 2, 4, Spread::none_to_first},
               Sizes{5, 4, 4, Spread::all_experts}, Sizes{1, 1, 2, Spread::drawn});
  const std::int64_t capacity = GENERATE(1, 2, 40);
  INFO("tokens " << N << " of " << k << " of " << E << ", at most " << capacity);
  const Index chosen = spread_over(spread, N, k, E);
  const at::Tensor indices = as_tensor(chosen, {N, k}), places = at::full({N, k}, -7, at::kInt),
                   offsets = at::full({E + 1}, -7, at::kInt);
  operations::sort_by_expert(places, offsets, indices, E, {.capacity = capacity});
  Index want_places(chosen.size(), -1), want_offsets{0};
  std::int32_t row = 0;
  for (std::int32_t e = 0; e < E; ++e) {
    std::int64_t kept = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i] == e && kept++ < capacity) want_places[i] = row++;
    want_offsets.push_back(row);
  }
  CHECK(ints(places) == want_places);
  CHECK(ints(offsets) == want_offsets);
}

TEST_CASE("tokens that go to the experts of other ranks and back are those of one rank") {
  const auto [N, k, E, spread] = sizes_of_ranks();
  const std::int64_t ranks = 2, H = 5, own = E / ranks, most = N * std::min(k, own);
  Operands operands(at::kFloat);
  INFO("tokens " << N << " of " << k << " of " << E << " seed " << operands.seed());
  const operations::DispatchToRanks of{.experts = E, .ranks = ranks};
  const std::int64_t S = of.slot_rows(N), m = std::min(k, ranks);
  const at::Tensor weight = operands.normal({E * H, H});
  std::vector<at::Tensor> places, slots, slot_weights, owners, want;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const at::Tensor x = operands.normal({N, H}), weights = operands.normal({N, k}),
                     indices = as_tensor(spread_over(spread, N, k, E), {N, k}),
                     at_one = at::empty({N, k}, at::kInt), offsets = at::empty({E + 1}, at::kInt),
                     rows = operands.empty({N * k, H}), y = operands.empty({N * k, H});
    operations::sort_by_expert(at_one, offsets, indices, E);
    operations::dispatch_rows(rows, x, at_one);
    operations::grouped_linear(y, rows, weight, offsets);
    want.push_back(operands.empty({N, H}));
    operations::combine(want.back(), {y, weights, at_one, {}, {}});

    places.push_back(at::empty({N, m}, at::kInt));
    owners.push_back(at::empty({ranks * S, k}, at::kInt));
    slots.push_back(at::full({ranks * S, H}, NAN));  // what is not filled is not read
    slot_weights.push_back(at::full({ranks * S, k}, NAN));
    operations::place_tokens(of, places.back(), indices);
    operations::fill_slots(of, {slot_weights.back(), owners.back()}, weights, indices,
                           places.back());
    operations::dispatch_rows(slots.back(), x, places.back());
  }
  const auto exchanged = [&](const std::vector<at::Tensor>& all, std::int64_t rank) {
    std::vector<at::Tensor> got;
    for (const at::Tensor& t : all) got.push_back(t.narrow(0, rank * S, S));
    return at::cat(got);
  };
  std::vector<at::Tensor> back;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const at::Tensor rows = at::full({ranks * most, H}, NAN), y = at::full({ranks * most, H}, NAN),
                     here = at::empty({ranks * S, k}, at::kInt),
                     offsets = at::empty({own + 1}, at::kInt), got = exchanged(slots, r),
                     owned = exchanged(owners, r), weights = exchanged(slot_weights, r),
                     of_rank = weight.narrow(0, r * own * H, own * H);
    operations::sort_by_expert(here, offsets, owned, own, {.sparse = true});
    operations::dispatch_rows(rows, got, here);
    operations::grouped_linear(y, rows, of_rank, offsets);
    back.push_back(operands.empty({ranks * S, H}));
    operations::combine(back.back(), {y, weights, here, {}, {}, true});
  }
  for (std::int64_t r = 0; r < ranks; ++r) {
    const at::Tensor got = operands.empty({N, H}), returned = exchanged(back, r);
    operations::combine(got, {returned, {}, places[idx(r)], {}, {}, true});
    CHECK(at::allclose(got, want[idx(r)], 1e-5, 1e-5));
  }
}

TEST_CASE("products of each expert, and their gradients") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto [N, k, E, spread] = any_sizes();
  const bool adds = GENERATE(false, true);
  const std::int64_t R = N * k, in = 6, out = 4;
  Operands operands(type);
  INFO(c10::toString(type) << " tokens " << N << " of " << k << " of " << E << " adds " << adds
                           << " seed " << operands.seed());
  const Sorted s = sorted(spread_over(spread, N, k, E), E);
  const at::Tensor offsets = as_tensor(s.offsets, {E + 1}), x = operands.normal({R, in}),
                   weight = operands.normal({E * out, in}), y = operands.empty({R, out}),
                   dy = operands.normal({R, out}), dx = operands.empty({R, in}),
                   dw = adds ? operands.normal({E * out, in}, 1, at::kFloat)
                             : operands.empty({E * out, in}, at::kFloat),
                   cast = operands.empty({2 * (in + out) + 3}, at::kFloat);
  Doubles a = doubles(x), w = doubles(weight);
  const auto formula = [&] {
    Doubles all;
    for (std::int64_t e = 0; e < E; ++e) {
      const Doubles some =
          product({a.begin() + s.offsets[idx(e)] * in, a.begin() + s.offsets[idx(e + 1)] * in},
                  {w.begin() + e * out * in, w.begin() + (e + 1) * out * in}, in);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  operations::grouped_linear(y, x, weight, offsets);
  CHECK(error(y, formula()) <= operands.tolerance());
  const Doubles d = doubles(dy), before = doubles(dw);
  const auto loss = [&] { return dot(formula(), d); };
  operations::grouped_linear_backward_input(dx, dy, weight, offsets);
  CHECK(error(dx, slopes(a, loss)) <= operands.tolerance());
  operations::grouped_linear_backward_weight(dw, dy, x, offsets, adds, cast);
  Doubles want = slopes(w, loss);
  if (adds) want = sum(want, before);
  CHECK(error(dw, want) <= 2e-5);  // sums are of fp32, whatever the operands
}

// oneDNN keeps a compiled product for each number of rows of 16-bit operands.
TEST_CASE("products of experts take no memory for each number of rows that a router gives them") {
  const auto type = GENERATE(at::kBFloat16, at::kHalf);
  const std::int64_t in = 48, out = 80, most = 700;
  Operands operands(type);
  INFO(c10::toString(type) << " seed " << operands.seed());
  const at::Tensor weight = operands.normal({2 * out, in}), x = operands.normal({most, in}),
                   y = operands.empty({most, out}), dy = operands.normal({most, out}),
                   dx = operands.empty({most, in});
  const std::int64_t before = resident_bytes();
  for (std::int64_t rows = 1; rows <= most; ++rows) {
    const std::int32_t first = static_cast<std::int32_t>(rows / 3);
    const at::Tensor offsets = as_tensor({0, first, static_cast<std::int32_t>(rows)}, {3});
    operations::grouped_linear(y, x, weight, offsets);
    operations::grouped_linear_backward_input(dx, dy, weight, offsets);
    if (rows % 97 != 0) continue;
    const at::Tensor in_f32 = x.to(at::kFloat), w = weight.to(at::kFloat);
    const at::Tensor want =
        at::cat({at::matmul(in_f32.narrow(0, 0, first), w.narrow(0, 0, out).t()),
                 at::matmul(in_f32.narrow(0, first, rows - first), w.narrow(0, out, out).t())});
    CHECK(at::allclose(y.narrow(0, 0, rows).to(at::kFloat), want, 1e-2, 1e-1));
  }
  const std::int64_t kept = resident_bytes() - before;
  INFO("kept " << kept << " bytes");
  CHECK(kept < std::int64_t{64} << 20);
}

// A product that were rounded twice, or whose sums were kept in 16 bits, would lie beyond this
// bound; one in another order of its fp32 sums does not. torch's product of all rows at once, as
// autocast has it, is held to the same.
TEST_CASE("products of experts in 16 bits are sums in fp32, rounded once, whatever the blocks") {
  const auto type = GENERATE(at::kBFloat16, at::kHalf);
  const std::int64_t in = GENERATE(48, 512), out = 80;
  Operands operands(type);
  INFO(c10::toString(type) << " in " << in << " seed " << operands.seed());
  const double eps = type == at::kHalf ? 0x1p-10 : 0x1p-7;
  const at::Tensor weight = operands.normal({out, in});
  const auto beyond = [&](const at::Tensor& got, const at::Tensor& a, const at::Tensor& b,
                          std::int64_t terms) {
    const Doubles exact = doubles(at::matmul(a, b)), sums = doubles(at::matmul(a.abs(), b.abs())),
                  values = doubles(got);
    std::int64_t count = 0;
    for (std::size_t k = 0; k < exact.size(); ++k) {
      const double bound = std::abs(exact[k]) * eps / 2 +
                           sums[k] * 1.1 * 0x1p-24 * static_cast<double>(terms) + 0x1p-25;
      if (!(std::abs(values[k] - exact[k]) <= bound)) ++count;  // NaN lies beyond
    }
    return count;
  };
  for (const std::int64_t rows : {1, 2, 3, 5, 17, 33, 67, 100, 255, 257, 300, 511, 700}) {
    const at::Tensor x = operands.normal({rows, in}), dy = operands.normal({rows, out}),
                     y = operands.empty({rows, out}), dx = operands.empty({rows, in});
    const at::Tensor offsets = as_tensor({0, static_cast<std::int32_t>(rows)}, {2});
    operations::grouped_linear(y, x, weight, offsets);
    operations::grouped_linear_backward_input(dx, dy, weight, offsets);
    const at::Tensor w = weight.to(at::kDouble);
    CAPTURE(rows);
    CHECK(beyond(y, x.to(at::kDouble), w.t(), in) == 0);
    CHECK(beyond(dx, dy.to(at::kDouble), w, out) == 0);
    CHECK(beyond(at::matmul(x, weight.t()), x.to(at::kDouble), w.t(), in) == 0);
  }
}

TEST_CASE("what experts made, back to tokens") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto [N, k, E, spread] = any_sizes();
  const int beside = GENERATE(0, 1, 2);  // nothing, one for all tokens, one behind a gate
  const std::int64_t H = 5;
  Operands operands(type);
  INFO(c10::toString(type) << " tokens " << N << " of " << k << " of " << E << " beside " << beside
                           << " seed " << operands.seed());
  const Sorted s = sorted(spread_over(spread, N, k, E), E);
  const at::Tensor rows = operands.normal({N * k, H}), places = as_tensor(s.places, {N, k}),
                   weights = operands.normal({N, k}, 1, at::kFloat),
                   shared = beside > 0 ? operands.normal({N, H}) : at::Tensor(),
                   gate = beside > 1 ? operands.normal({N, 1}) : at::Tensor(),
                   y = operands.empty({N, H}), dy = operands.normal({N, H});
  operations::combine(y, {rows, weights, places, shared, gate});
  Doubles parts[] = {doubles(rows), doubles(weights), doubles(shared), doubles(gate)};
  const auto formula = [&] {
    Doubles out(idx(N * H));
    for (std::int64_t i = 0; i < N * k; ++i)
      for (std::int64_t c = 0; c < H; ++c)
        out[idx(i / k * H + c)] += parts[1][idx(i)] * parts[0][idx(s.places[idx(i)] * H + c)];
    for (std::int64_t i = 0; beside > 0 && i < N * H; ++i)
      out[idx(i)] += parts[2][idx(i)] *
                     (beside > 1 ? 1 / (1 + std::exp(-parts[3][idx(i / H)])) : 1);
    return out;
  };
  CHECK(error(y, formula()) <= operands.tolerance());
  const at::Tensor d_rows = operands.empty({N * k, H}),
                   d_weights = operands.empty({N, k}, at::kFloat),
                   d_shared = beside > 0 ? operands.empty({N, H}) : at::Tensor(),
                   d_gate = beside > 1 ? operands.empty({N, 1}) : at::Tensor();
  operations::combine_backward({d_rows, d_weights, {}, d_shared, d_gate}, dy,
                               {rows, weights, places, shared, gate});
  const Doubles d = doubles(dy);
  const auto loss = [&] { return dot(formula(), d); };
  CHECK(error(d_rows, slopes(parts[0], loss)) <= operands.tolerance());
  CHECK(error(d_weights, slopes(parts[1], loss)) <= 2e-5);
  if (beside > 0) CHECK(error(d_shared, slopes(parts[2], loss)) <= operands.tolerance());
  if (beside > 1) CHECK(error(d_gate, slopes(parts[3], loss)) <= operands.tolerance());
}

TEST_CASE("the loss that keeps experts evenly busy, and its gradient") {
  const operations::RouterLoss l{.experts = 3, .rows = 10, .scale = 0.5};
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  const at::Tensor balance = operands.normal({2, 3}).abs(), d = operands.empty({2, 3}),
                   sum = at::full({1}, 7, at::kDouble);
  const at::Tensor targets = as_tensor({1, -1, 0, 2, -100, 5}, {6});  // four
  operations::add_router_loss(l, sum, balance, targets);
  const Doubles b = doubles(balance);
  Doubles p(b.begin() + 3, b.end());
  const auto loss = [&] { return 0.5 * 3 * (b[0] * p[0] + b[1] * p[1] + b[2] * p[2]) / 100; };
  CHECK(error(doubles(sum), {7 + 4 * loss()}) <= 1e-6);
  const double scale = 0.5;
  operations::router_loss_backward(l, d, balance, targets, {.factor = 4, .scale = &scale});
  Doubles want{0, 0, 0};
  for (const double slope : slopes(p, loss)) want.push_back(8 * slope);
  CHECK(error(d, want) <= 2e-5);
}

TEST_CASE("squares of the logits' log sums, for a loss, and biases of logits") {
  using enum Router::Score;
  const Router r{
      .experts = 6, .per_token = 2, .score = GENERATE(softmax, chosen_softmax), .has_z = true};
  const bool adds = GENERATE(false, true);
  const std::int64_t N = GENERATE(1, 7), E = r.experts;
  Operands operands(at::kFloat);
  INFO("score " << static_cast<int>(r.score) << " tokens " << N << " adds " << adds << " seed "
                << operands.seed());
  // large logits: exponentials alone would overflow
  const at::Tensor logits = operands.normal({N, E}, 60), bias = operands.normal({E}),
                   log_sums = operands.empty({N}), z = operands.empty({1}),
                   before = operands.normal({1}), d_z = operands.normal({1}),
                   scores = operands.empty({N, E}), d_logits = operands.empty({N, E}),
                   d_bias = operands.normal({E});
  Doubles raw = doubles(logits), shift = doubles(bias), d_bias_before = doubles(d_bias);
  const auto shifted = [&] {
    Doubles out = raw;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += shift[i % idx(E)];
    return out;
  };
  const auto log_sum = [&](const Doubles& of, std::int64_t n) {
    const double* const row = of.data() + n * E;
    const double most = *std::max_element(row, row + E);
    double all = 0;
    for (std::int64_t e = 0; e < E; ++e) all += std::exp(row[e] - most);
    return most + std::log(all);
  };
  const auto squares = [&] {
    const Doubles of = shifted();
    double all = 0;
    for (std::int64_t n = 0; n < N; ++n) all += std::pow(log_sum(of, n), 2);
    return all;
  };
  const at::Tensor unit = at::eye(E);
  operations::router_scores(r, scores, log_sums, logits, unit, bias, {});
  Doubles want_sums, want_scores;
  for (std::int64_t n = 0; n < N; ++n) {
    const Doubles of = shifted(), row{of.begin() + n * E, of.begin() + (n + 1) * E};
    want_sums.push_back(log_sum(of, n));
    for (const double x : row)
      want_scores.push_back(r.score == softmax ? std::exp(x - want_sums.back()) : x);
  }
  CHECK(error(log_sums, want_sums) <= 2e-6);
  CHECK(error(scores, want_scores) <= 2e-5);
  operations::add_router_z(z, adds ? Tensor(before) : Tensor(), log_sums);
  CHECK(error(z, {squares() + (adds ? doubles(before)[0] : 0)}) <= 2e-6);
  const at::Tensor indices = at::full({N, r.per_token}, -1, at::kInt),
                   no_weights = at::full({N, r.per_token}, 0, at::kFloat);
  operations::choose_experts(r, {}, indices, scores, {});
  operations::router_scores_backward(r, d_logits, no_weights, {}, {d_z, log_sums}, scores, indices,
                                     {});
  const double d = doubles(d_z)[0];
  const Doubles want = slopes(raw, [&] { return d * squares(); });
  CHECK(error(d_logits, want) <= 2e-5);
  operations::router_backward_bias(d_bias, d_logits, adds, {});
  Doubles sums(idx(E));
  for (std::size_t i = 0; i < want.size(); ++i) sums[i % idx(E)] += want[i];
  CHECK(error(d_bias, adds ? sum(sums, d_bias_before) : sums) <= 2e-5);
}

TEST_CASE("biases of each expert, and their gradients") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto [N, k, E, spread] = any_sizes();
  const bool adds = GENERATE(false, true);
  const std::int64_t R = N * k, out = 3;
  Operands operands(type);
  INFO(c10::toString(type) << " tokens " << N << " of " << k << " of " << E << " adds " << adds
                           << " seed " << operands.seed());
  const Sorted s = sorted(spread_over(spread, N, k, E), E);
  const at::Tensor offsets = as_tensor(s.offsets, {E + 1}), y = operands.normal({R, out}),
                   bias = operands.normal({E * out}), dy = operands.normal({R, out}),
                   d_bias = operands.normal({E * out}, 1, at::kFloat);
  Doubles want = doubles(y), want_d(idx(E * out));
  const Doubles added = doubles(bias), d = doubles(dy), before = doubles(d_bias);
  for (std::int64_t e = 0; e < E; ++e)
    for (std::int64_t i = s.offsets[idx(e)] * out; i < s.offsets[idx(e + 1)] * out; ++i)
      want[idx(i)] += added[idx(e * out + i % out)], want_d[idx(e * out + i % out)] += d[idx(i)];
  operations::add_expert_bias(y, bias, offsets);
  CHECK(error(y, want) <= operands.tolerance());
  operations::grouped_linear_backward_bias(d_bias, dy, offsets, adds);
  CHECK(error(d_bias, adds ? sum(want_d, before) : want_d) <= 2e-5);
}

TEST_CASE("gates with limits, and what passes them") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const operations::ClampedGated g{.alpha = 1.3, .limit = 2};
  const std::int64_t N = GENERATE(1, 5), F = GENERATE(1, 7);
  Operands operands(type);
  INFO(c10::toString(type) << " rows " << N << " columns " << F << " seed " << operands.seed());
  // some beyond each limit, none at it, where differences say nothing
  at::Tensor x = operands.normal({N, 2 * F}, 2);
  x = x.masked_fill((x.abs() - g.limit).abs() < 0.02, 0.5);
  const at::Tensor dy = operands.normal({N, F}), y = operands.empty({N, F}),
                   dx = operands.empty({N, 2 * F});
  Doubles in = doubles(x);
  const auto formula = [&] {
    Doubles out;
    for (std::size_t i = 0; i < in.size(); i += 2) {
      const double gate = std::min(in[i], g.limit), up = std::clamp(in[i + 1], -g.limit, g.limit);
      out.push_back((up + 1) * gate / (1 + std::exp(-g.alpha * gate)));
    }
    return out;
  };
  operations::clamped_gated(g, y, x);
  CHECK(error(y, formula()) <= operands.tolerance());
  operations::clamped_gated_backward(g, dx, dy, x);
  const Doubles d = doubles(dy);
  CHECK(error(dx, slopes(in, [&] { return dot(formula(), d); })) <= operands.tolerance());
}

TEST_CASE("tokens of each expert are counted, and choices without a row") {
  const operations::ExpertLoads l{.experts = 3, .choices = 9};
  const at::Tensor offsets = as_tensor({0, 4, 4, 7}, {4}),
                   loads = at::full({4}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  operations::add_expert_loads(l, loads, offsets, false);
  CHECK(doubles(loads) == Doubles{4, 0, 3, 2});
  operations::add_expert_loads(l, loads, offsets, true);
  CHECK(doubles(loads) == Doubles{8, 0, 6, 4});
}

}  // namespace mixture_test
