#include "kernels/experts/dispatch_rows.hpp"
#include "gpu/operands.hpp"
#include "gpu/spread.hpp"
#include "kernels/experts/combine_rows.hpp"
#include "kernels/experts/expert_loads.hpp"
#include <tuple>

namespace dispatch_rows_test {

using namespace trainx::kernels;

namespace {

struct Sorted {
  std::vector<std::int32_t> places, offsets;
};
Sorted sorted_reference(const std::vector<std::int32_t>& indices, std::int64_t experts) {
  Sorted s;
  s.places.assign(indices.size(), -1);
  s.offsets.assign(static_cast<std::size_t>(experts) + 1, -1);
  expert_sort_reference(
      {std::ssize(indices), experts, indices.data(), s.places.data(), s.offsets.data()});
  return s;
}
OnDevice<std::int32_t> counts_of(std::int64_t experts) {
  return OnDevice<std::int32_t>(std::vector<std::int32_t>(
      static_cast<std::size_t>(expert_sort_scratch_bytes(experts)) / 4, -7));
}
Sorted sorted_on_device(const std::vector<std::int32_t>& indices, std::int64_t experts) {
  const OnDevice<std::int32_t> in(indices),
      counts = counts_of(experts), places(std::vector<std::int32_t>(indices.size(), -1)),
      offsets(std::vector<std::int32_t>(static_cast<std::size_t>(experts) + 1, -1));
  const ExpertSort op{std::ssize(indices), experts, in.data(), places.data(), offsets.data()};
  require_success(expert_sort(op, counts.data(), nullptr), "sort");
  counts.host();  // its guards
  return {places.host(), offsets.host()};
}

struct Sizes {
  std::int64_t tokens, per_token, experts, columns;
  Spread spread = Spread::drawn;
  std::size_t shift = 0;
};

std::vector<Sizes> all_sizes() {
  std::vector<Sizes> all;
  for (const std::size_t shift : {0u, 1u})
    for (const Spread spread : {Spread::drawn, Spread::one_expert, Spread::none_to_first}) {
      all.push_back({1, 1, 3, 8, spread, shift});
      all.push_back({1, 5, 5, 16, spread, shift});
      all.push_back({33, 2, 8, 264, spread, shift});
      all.push_back({517, 8, 64, 40, spread, shift});
      all.push_back({200, 4, 4, 7, spread, shift});
      all.push_back({70, 6, 160, 1'000, spread, shift});
    }
  return all;
}

std::string words(const Sizes& s) {
  return "tokens " + std::to_string(s.tokens) + " of " + std::to_string(s.per_token) + " of " +
         std::to_string(s.experts) + " columns " + std::to_string(s.columns) + " spread " +
         std::to_string(static_cast<int>(s.spread)) + " shift " + std::to_string(s.shift);
}

template <class T>
void compare_dispatch(const Sizes& s) {
  INFO(words(s) << " bytes " << sizeof(T));
  const auto places =
      sorted_reference(spread_indices(s.spread, s.tokens, s.per_token, s.experts, 1), s.experts)
          .places;
  const std::int64_t all = s.tokens * s.per_token * s.columns;
  const auto x = random_elements<T>(s.tokens * s.columns, 2), d = random_elements<T>(all, 3),
             addend = random_elements<T>(s.tokens * s.columns, 4);
  std::vector<T> want_rows(static_cast<std::size_t>(all));
  dispatch_rows_reference<T>(
      {s.tokens, s.per_token, s.columns, places.data(), x.data(), want_rows.data()});
  const OnDevice<std::int32_t> at(places);
  const OnDevice<T> from(x, s.shift), rows(std::vector<T>(want_rows.size()), s.shift),
      d_rows(d, s.shift), to(addend, s.shift);
  require_success(
      dispatch_rows<T>({s.tokens, s.per_token, s.columns, at.data(), from.data(), rows.data()},
                       nullptr),
      "dispatch");
  CHECK(same_bits(rows.host(), want_rows));
  for (const bool adds : {true, false}) {  // in place
    std::vector<T> want = addend;
    dispatch_rows_backward_reference<T>({s.tokens, s.per_token, s.columns, places.data(), d.data(),
                                         adds ? want.data() : nullptr, want.data()});
    require_success(
        dispatch_rows_backward<T>({s.tokens, s.per_token, s.columns, at.data(), d_rows.data(),
                                   adds ? to.data() : nullptr, to.data()},
                                  nullptr),
        "dispatch backward");
    check_close(to.host(), want, rounding<T>, 1e-5, "dx");
  }
}

template <class T>
void compare_combine(const Sizes& s, int beside) {
  INFO(words(s) << " beside " << beside << " bytes " << sizeof(T));
  const auto places =
      sorted_reference(spread_indices(s.spread, s.tokens, s.per_token, s.experts, 1), s.experts)
          .places;
  const std::int64_t pairs = s.tokens * s.per_token;
  const auto rows = random_elements<T>(pairs * s.columns, 2),
             shared = random_elements<T>(s.tokens * s.columns, 3),
             gate = random_elements<T>(s.tokens, 4),
             dy = random_elements<T>(s.tokens * s.columns, 5);
  const auto weights = random_elements<float>(pairs, 6);
  std::vector<T> y(dy.size()), d_rows(rows.size()), d_shared(shared.size()), d_gate(gate.size());
  std::vector<float> d_weights(weights.size());
  const OnDevice<std::int32_t> at(places);
  const OnDevice<T> on_rows(rows, s.shift), on_shared(shared, s.shift), on_gate(gate, s.shift),
      on_dy(dy, s.shift), to_y(y, s.shift), to_rows(d_rows, s.shift), to_shared(d_shared, s.shift),
      to_gate(d_gate, s.shift);
  const OnDevice<float> on_weights(weights), to_weights(d_weights);

  CombineRows<T> op{s.tokens, s.per_token, s.columns, rows.data(), weights.data(), places.data()};
  CombineRows<T> on{s.tokens, s.per_token, s.columns, on_rows.data(), on_weights.data(), at.data()};
  if (beside > 0) op.shared = shared.data(), on.shared = on_shared.data();
  if (beside > 1) op.gate = gate.data(), on.gate = on_gate.data();
  CombineRowsBackward<T> back{op, dy.data(), d_rows.data(), d_weights.data()},
      back_on{on, on_dy.data(), to_rows.data(), to_weights.data()};
  if (beside > 0) back.d_shared = d_shared.data(), back_on.d_shared = to_shared.data();
  if (beside > 1) back.d_gate = d_gate.data(), back_on.d_gate = to_gate.data();
  op.y = y.data(), on.y = to_y.data();
  combine_rows_reference(op);
  combine_rows_backward_reference(back);
  require_success(combine_rows(on, nullptr), "combine");
  require_success(combine_rows_backward(back_on, nullptr), "combine backward");
  const double sums = 1e-6 * (4 + std::sqrt(static_cast<double>(s.columns)));
  check_close(to_y.host(), y, rounding<T>, 1e-5, "y");
  check_close(to_rows.host(), d_rows, rounding<T>, 1e-6, "d_rows");
  check_close(to_weights.host(), d_weights, 1e-5, 10 * sums, "d_weights");
  check_close(to_shared.host(), d_shared, rounding<T>, 1e-6, "d_shared");
  check_close(to_gate.host(), d_gate, rounding<T>, 10 * sums, "d_gate");
  // of the weights alone, and of the rows alone
  const OnDevice<float> again(std::vector<float>(d_weights.size()));
  auto alone = back_on;
  alone.d_rows = alone.d_shared = alone.d_gate = nullptr, alone.d_weights = again.data();
  require_success(combine_rows_backward(alone, nullptr), "combine backward");
  CHECK(same_bits(again.host(), to_weights.host()));
  alone = back_on;
  alone.d_weights = nullptr, alone.of.rows = nullptr;
  require_success(combine_rows_backward(alone, nullptr), "combine backward");
  check_close(to_rows.host(), d_rows, rounding<T>, 1e-6, "d_rows alone");
}

}  // namespace

TEST_CASE("items are sorted by expert as the reference does, however they are spread", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Spread spread : {Spread::drawn, Spread::one_expert, Spread::none_to_first})
    for (const auto& [tokens, k, experts] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 1, 1},
          {1, 8, 8},
          {17, 2, 3},
          {64, 8, 64},  // one block
          {65, 8, 64},  // and a little more
          {1'000, 3, 256},
          {4'099, 8, 64},  // as many blocks as there may be
          {20'000, 6, 160},
          {3'000, 4, 1'024}}) {
      INFO("tokens " << tokens << " of " << k << " of " << experts << " spread "
                     << static_cast<int>(spread));
      const auto indices = spread_indices(spread, tokens, k, experts, 3);
      const Sorted want = sorted_reference(indices, experts),
                   got = sorted_on_device(indices, experts);
      CHECK(got.offsets == want.offsets);
      CHECK(got.places == want.places);
    }
}

TEST_CASE("rows by expert, and their gradients back, equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Sizes& s : all_sizes()) {
    compare_dispatch<float>(s);
    compare_dispatch<Bf16>(s);
    compare_dispatch<Fp16>(s);
  }
}

TEST_CASE("what experts made comes back to tokens as the reference has it", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Sizes& s : all_sizes())
    for (const int beside : {0, 1, 2}) {  // nothing, an expert for all tokens, one behind a gate
      compare_combine<float>(s, beside);
      compare_combine<Bf16>(s, beside);
      compare_combine<Fp16>(s, beside);
    }
}

TEST_CASE("a captured sort and its rows follow other indices", "[gpu]") {
  TRAINX_NEEDS_GPU();
  constexpr std::int64_t tokens = 900, k = 4, experts = 32, columns = 64;
  const auto first = spread_indices(Spread::drawn, tokens, k, experts, 1),
             second = spread_indices(Spread::one_expert, tokens, k, experts, 2);
  const auto x = random_elements<Bf16>(tokens * columns, 3);
  const OnDevice<std::int32_t> in(first), counts = counts_of(experts),
                                          places(std::vector<std::int32_t>(first.size())),
                                          offsets(std::vector<std::int32_t>(experts + 1));
  const OnDevice<Bf16> from(x), rows(std::vector<Bf16>(x.size() * k));
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t step = nullptr;
  require_success(cudaStreamCreate(&stream), "stream");
  require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  require_success(expert_sort({tokens * k, experts, in.data(), places.data(), offsets.data()},
                              counts.data(), stream),
                  "sort");
  require_success(
      dispatch_rows<Bf16>({tokens, k, columns, places.data(), from.data(), rows.data()}, stream),
      "dispatch");
  require_success(cudaStreamEndCapture(stream, &graph), "capture");
  require_success(cudaGraphInstantiate(&step, graph, 0), "graph");
  for (const auto& indices : {first, second, first}) {
    require_success(
        cudaMemcpy(in.data(), indices.data(), indices.size() * 4, cudaMemcpyHostToDevice),
        "indices");
    require_success(cudaGraphLaunch(step, stream), "graph");
    require_success(cudaStreamSynchronize(stream), "graph");
    const Sorted want = sorted_reference(indices, experts);
    std::vector<Bf16> want_rows(x.size() * k);
    dispatch_rows_reference<Bf16>(
        {tokens, k, columns, want.places.data(), x.data(), want_rows.data()});
    CHECK(places.host() == want.places);
    CHECK(offsets.host() == want.offsets);
    CHECK(same_bits(rows.host(), want_rows));
  }
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_CASE("NaN of an expert's row shows in its token alone", "[gpu]") {
  TRAINX_NEEDS_GPU();
  constexpr std::int64_t tokens = 20, k = 2, experts = 4, columns = 24;
  const auto places =
      sorted_reference(spread_indices(Spread::drawn, tokens, k, experts, 5), experts).places;
  auto rows = random_elements<float>(tokens * k * columns, 6);
  rows[static_cast<std::size_t>(places[7 * k + 1] * columns + 5)] =
      std::numeric_limits<float>::quiet_NaN();
  const auto weights = random_elements<float>(tokens * k, 7);
  const OnDevice<float> on_rows(rows), on_weights(weights), y(std::vector<float>(tokens * columns));
  const OnDevice<std::int32_t> at(places);
  CombineRows<float> op{tokens, k, columns, on_rows.data(), on_weights.data(), at.data()};
  op.y = y.data();
  require_success(combine_rows(op, nullptr), "combine");
  const auto got = y.host();
  for (std::int64_t i = 0; i < tokens * columns; ++i)
    if (std::isnan(got[static_cast<std::size_t>(i)]) != (i == 7 * columns + 5))
      FAIL("element " << i);
}

namespace {

template <class T>
void compare_sparse(std::int64_t tokens, std::int64_t k, std::int64_t columns) {
  INFO("tokens " << tokens << " columns " << columns << " bytes " << sizeof(T));
  // every third choice has no row
  std::vector<std::int32_t> places(static_cast<std::size_t>(tokens * k));
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = i % 3 == 1 ? -1 : static_cast<std::int32_t>(places.size() - 1 - i);
  const auto n = static_cast<std::size_t>(tokens * columns);
  const auto rows = random_elements<T>(tokens * k * columns, 1),
             x = random_elements<T>(tokens * columns, 2);
  const OnDevice<std::int32_t> at(places);
  const OnDevice<T> on_rows(rows), on_x(x);
  std::vector<T> want_rows = rows, want(n);
  const OnDevice<T> to_rows(want_rows), to(want);
  dispatch_rows_reference<T>({tokens, k, columns, places.data(), x.data(), want_rows.data()});
  require_success(
      dispatch_rows<T>({tokens, k, columns, at.data(), on_x.data(), to_rows.data()}, nullptr),
      "dispatch");
  CHECK(same_bits(to_rows.host(), want_rows));
  dispatch_rows_backward_reference<T>(
      {tokens, k, columns, places.data(), rows.data(), x.data(), want.data(), true});
  require_success(
      dispatch_rows_backward<T>(
          {tokens, k, columns, at.data(), on_rows.data(), on_x.data(), to.data(), true}, nullptr),
      "dispatch backward");
  check_close(to.host(), want, rounding<T>, 1e-5, "dx");
  for (const bool weighs : {false, true}) {
    const auto weights = random_elements<float>(tokens * k, 4);
    const OnDevice<float> on_weights(weights);
    CombineRows<T> op{tokens,       k, columns, rows.data(), weighs ? weights.data() : nullptr,
                      places.data()},
        on{tokens, k, columns, on_rows.data(), weighs ? on_weights.data() : nullptr, at.data()};
    op.sparse = on.sparse = true;
    std::vector<T> y(n), d_rows = rows;
    std::vector<float> d_weights(weights.size());
    const OnDevice<T> on_y(y), on_d_rows(d_rows);
    const OnDevice<float> on_d_weights(d_weights);
    op.y = y.data(), on.y = on_y.data();
    combine_rows_reference(op);
    require_success(combine_rows(on, nullptr), "combine");
    check_close(on_y.host(), y, rounding<T>, 1e-5, "y");
    CombineRowsBackward<T> back{op, x.data(), d_rows.data()},
        back_on{on, on_x.data(), on_d_rows.data()};
    if (weighs) back.d_weights = d_weights.data(), back_on.d_weights = on_d_weights.data();
    combine_rows_backward_reference(back);
    require_success(combine_rows_backward(back_on, nullptr), "combine backward");
    check_close(on_d_rows.host(), d_rows, rounding<T>, 1e-6, "d_rows");
    check_close(on_d_weights.host(), d_weights, 1e-5, 1e-4, "d_weights");
  }
}

}  // namespace

TEST_CASE("choices without a row add nothing", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const auto& [tokens, k, columns] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 1, 8}, {33, 2, 264}, {200, 4, 7}}) {
    compare_sparse<float>(tokens, k, columns);
    compare_sparse<Bf16>(tokens, k, columns);
    compare_sparse<Fp16>(tokens, k, columns);
  }
}

TEST_CASE("loads of experts are counted as the reference does", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const int experts : {1, 3, 255, 256, 600})
    for (const bool accumulate : {false, true}) {
      std::vector<std::int32_t> offsets(static_cast<std::size_t>(experts) + 1);
      for (std::size_t e = 1; e < offsets.size(); ++e)
        offsets[e] = offsets[e - 1] + static_cast<std::int32_t>(e * 7 % 5);
      std::vector<double> want(offsets.size(), 3);
      const OnDevice<std::int32_t> in(offsets);
      const OnDevice<double> loads(want);
      ExpertLoads op{experts, 9'999, offsets.data(), want.data(), accumulate};
      expert_loads_reference(op);
      op.offsets = in.data(), op.loads = loads.data();
      require_success(expert_loads(op, nullptr), "loads");
      CHECK(loads.host() == want);
    }
}

TEST_CASE("experts keep the first choices that they have room for, as the reference does",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Spread spread : {Spread::drawn, Spread::one_expert, Spread::none_to_first})
    for (const auto& [tokens, k, experts, capacity] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>{1, 1, 3, 1},
          {17, 2, 4, 5},
          {65, 8, 64, 9},
          {1'000, 3, 256, 1},
          {20'000, 2, 160, 300},
          {4'099, 1, 8, 4'098}}) {
      INFO("tokens " << tokens << " of " << k << " of " << experts << " with room for " << capacity
                     << " spread " << static_cast<int>(spread));
      auto indices = spread_indices(spread, tokens, k, experts, 9);
      indices[0] = -1;  // no choice takes no room
      Sorted want{std::vector<std::int32_t>(indices.size(), -7),
                  std::vector<std::int32_t>(static_cast<std::size_t>(experts) + 1, -7)};
      const OnDevice<std::int32_t> in(indices), counts = counts_of(experts), places(want.places),
                                                offsets(want.offsets);
      ExpertSort op{std::ssize(indices), experts, indices.data(), want.places.data(),
                    want.offsets.data(), capacity};
      for (const bool in_slots : {false, true}) {
        op.in_slots = in_slots;
        op.indices = indices.data(), op.places = want.places.data(),
        op.offsets = want.offsets.data();
        expert_sort_reference(op);
        for (std::int64_t e = 0; e < experts; ++e)
          REQUIRE(want.offsets[static_cast<std::size_t>(e) + 1] -
                      want.offsets[static_cast<std::size_t>(e)] <=
                  capacity);
        op.indices = in.data(), op.places = places.data(), op.offsets = offsets.data();
        require_success(expert_sort(op, counts.data(), nullptr), "sort");
        counts.host();  // its guards
        CHECK(places.host() == want.places);
        CHECK(offsets.host() == want.offsets);
        const OnDevice<std::int32_t> in_place(indices);
        op.indices = op.places = in_place.data(), op.offsets = nullptr;
        require_success(expert_sort(op, counts.data(), nullptr), "sort in place");
        CHECK(in_place.host() == want.places);
      }
    }
}

}  // namespace dispatch_rows_test
