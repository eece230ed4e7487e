// Kernels of mixtures of experts on the GPU at hand: products of experts beside one dense product
// of as many rows by cuBLASLt, and what lies between them. Prints a line of JSON for each.
#include "bench/kernels/timing.hpp"
#include "gpu/gemm.hpp"
#include "kernels/experts/combine_rows.hpp"
#include "kernels/experts/dispatch_rows.hpp"
#include "core/hopper_kernels.hpp"
#include "kernels/experts/grouped_linear.hpp"
#include "kernels/experts/hopper/grouped_hopper.hpp"
#include "kernels/experts/rank_slots.hpp"
#include "kernels/experts/router.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace trainx;
using namespace trainx::kernels;

struct Shape {
  const char* name;
  std::int64_t tokens, per_token, experts, hidden, features;
  std::int64_t rows() const { return tokens * per_token; }
};

/// Device memory with elements of about the size that they have in training.
template <class T>
class Operand {
 public:
  explicit Operand(std::int64_t elements, float deviation = 1) {
    constexpr std::int64_t piece = 1 << 20;
    static std::mt19937 random(1);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<T> some(static_cast<std::size_t>(std::min(piece, elements)));
    for (T& x : some) narrow(normal(random), x);
    bench::require_success(cudaMalloc(&memory_, static_cast<std::size_t>(elements) * sizeof(T)),
                           "cudaMalloc");
    for (std::int64_t at = 0; at < elements; at += piece)
      bench::require_success(
          cudaMemcpy(data() + at, some.data(),
                     static_cast<std::size_t>(std::min(piece, elements - at)) * sizeof(T),
                     cudaMemcpyHostToDevice),
          "operand");
  }
  ~Operand() { cudaFree(memory_); }
  Operand(const Operand&) = delete;
  T* data() const { return static_cast<T*>(memory_); }

 private:
  void* memory_ = nullptr;
};

/// k different experts for each token, some of them three times as often as others.
std::vector<std::int32_t> choose(const Shape& s) {
  std::mt19937 random(2);
  std::vector<double> weights(static_cast<std::size_t>(s.experts));
  for (std::size_t e = 0; e < weights.size(); ++e)
    weights[e] = std::exp(static_cast<double>(e) / static_cast<double>(weights.size()));
  std::discrete_distribution<int> any(weights.begin(), weights.end());
  std::vector<std::int32_t> out;
  for (std::int64_t n = 0; n < s.tokens; ++n) {
    const auto first = out.size();
    while (out.size() < first + static_cast<std::size_t>(s.per_token)) {
      const int e = any(random);
      if (std::find(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), e) == out.end())
        out.push_back(e);
    }
  }
  return out;
}

void print(const Shape& s, const char* what, double ms, double flops, double bytes,
           double dense_ms = 0) {
  std::printf("{\"shape\": \"%s\", \"kernel\": \"%s\", \"ms\": %.4f", s.name, what, ms);
  if (flops > 0) std::printf(", \"tflops\": %.1f", flops / ms * 1e-9);
  if (dense_ms > 0) std::printf(", \"dense_tflops\": %.1f", flops / dense_ms * 1e-9);
  if (bytes > 0) std::printf(", \"gb_per_s\": %.0f", bytes / ms * 1e-6);
  std::printf("}\n");
  std::fflush(stdout);
}

template <class T>
void products(const Shape& s, std::int64_t in, std::int64_t out, const std::int32_t* offsets,
              const char* which, DType dtype) {
  const std::int64_t R = s.rows();
  const Operand<T> x(R * in), y(R * out), weight(s.experts * out * in, 0.02f);
  const Operand<float> d_weight(s.experts * out * in);
  const GroupedSizes sizes{R, in, out, s.experts, offsets};
  const double flops = 2.0 * static_cast<double>(R) * static_cast<double>(in * out);
  gpu::Gemm gemm{""};
  const Operand<float> workspace(8 << 20);
  const auto dense = [&](const gpu::GemmProblem& p, const void* a, const void* b, void* d) {
    return bench::median_ms(
        [&](int, cudaStream_t stream) {
          gpu::GemmOperands o;
          o.a = a, o.b = b, o.d = d;
          gemm.run(p, o, {stream, workspace.data(), 32 << 20});
          return cudaGetLastError();
        },
        1);
  };
  const bool has_hopper = has_hopper_kernels && sizeof(T) == 2 &&
                          kernels::hopper::is_supported(sizes);
  // by turns, so that clocks and heat are the same for both
  const auto report = [&](const std::string& direction, auto portable, auto hopper,
                          double dense_ms) {
    std::vector<double> ms[2];
    for (int turn = 0; turn < 5; ++turn) {
      ms[0].push_back(
          bench::median_ms([&](int, cudaStream_t stream) { return portable(stream); }, 1));
      if (has_hopper)
        ms[1].push_back(
            bench::median_ms([&](int, cudaStream_t stream) { return hopper(stream); }, 1));
    }
    for (const int by : {0, 1}) {
      if (ms[by].empty()) continue;
      std::ranges::nth_element(ms[by], ms[by].begin() + 2);
      print(s, (std::string(which) + " " + direction + (by == 1 ? " for Hopper" : "")).c_str(),
            ms[by][2], flops, 0, dense_ms);
    }
  };
  report(
      "forward",
      [&](cudaStream_t stream) {
        return grouped_linear(GroupedLinear<T>{sizes, x.data(), weight.data(), y.data()}, stream);
      },
      [&]([[maybe_unused]] cudaStream_t stream) {
        if constexpr (has_hopper_kernels && sizeof(T) == 2)
          return kernels::hopper::grouped_linear(
              GroupedLinear<T>{sizes, x.data(), weight.data(), y.data()}, stream);
        else
          return cudaErrorNotSupported;
      },
      dense(gpu::linear_problem(R, out, in, dtype), x.data(), weight.data(), y.data()));
  report(
      "input gradient",
      [&](cudaStream_t stream) {
        return grouped_linear_backward_input(
            GroupedLinearBackwardInput<T>{sizes, y.data(), weight.data(), x.data()}, stream);
      },
      [&]([[maybe_unused]] cudaStream_t stream) {
        if constexpr (has_hopper_kernels && sizeof(T) == 2)
          return kernels::hopper::grouped_linear_backward_input(
              GroupedLinearBackwardInput<T>{sizes, y.data(), weight.data(), x.data()}, stream);
        else
          return cudaErrorNotSupported;
      },
      dense(gpu::linear_input_gradient_problem(R, out, in, dtype), y.data(), weight.data(),
            x.data()));
  report(
      "weight gradient",
      [&](cudaStream_t stream) {
        return grouped_linear_backward_weight(
            GroupedLinearBackwardWeight<T>{sizes, y.data(), x.data(), d_weight.data()}, stream);
      },
      [&]([[maybe_unused]] cudaStream_t stream) {
        if constexpr (has_hopper_kernels && sizeof(T) == 2)
          return kernels::hopper::grouped_linear_backward_weight(
              GroupedLinearBackwardWeight<T>{sizes, y.data(), x.data(), d_weight.data()}, stream);
        else
          return cudaErrorNotSupported;
      },
      dense(gpu::linear_weight_gradient_problem(R, out, in, dtype), y.data(), x.data(),
            d_weight.data()));
}

void measure(const Shape& s) {
  const std::vector<std::int32_t> chosen = choose(s);
  const std::int64_t R = s.rows(), H = s.hidden, N = s.tokens;
  const Operand<float> ints(2 * R + s.experts + 1 + 64 * s.experts);
  auto* const indices = reinterpret_cast<std::int32_t*>(ints.data());
  std::int32_t *const places = indices + R, *const offsets = places + R,
                      *const counts = offsets + s.experts + 1;
  bench::require_success(
      cudaMemcpy(indices, chosen.data(), chosen.size() * 4, cudaMemcpyHostToDevice), "indices");
  const auto time = [&](const char* what, double bytes, auto launch) {
    print(s, what, bench::median_ms([&](int, cudaStream_t stream) { return launch(stream); }, 1), 0,
          bytes);
  };
  time("sort", 0, [&](cudaStream_t stream) {
    return expert_sort({R, s.experts, indices, places, offsets}, counts, stream);
  });
  {
    // experts of two ranks
    const std::int64_t most = std::min<std::int64_t>(2, s.per_token);
    const Operand<float> slots(N * most + 2 * 2 * R), weights(R), d_weights(R);
    auto* const rank_rows = reinterpret_cast<std::int32_t*>(slots.data());
    std::int32_t* const owners = rank_rows + N * most;
    float* const slot_weights = slots.data() + N * most + 2 * R;
    const RankChoices all{N, s.per_token, s.experts, 2, indices};
    time("places of two ranks", 0, [&](cudaStream_t stream) {
      return rank_places({all, most, N, rank_rows}, counts, stream);
    });
    time("slots of two ranks", 0, [&](cudaStream_t stream) {
      return rank_slots({all, most, N, rank_rows, weights.data(), owners, slot_weights}, stream);
    });
    time("slots of two ranks backward", 0, [&](cudaStream_t stream) {
      return rank_slots_backward({all, most, N, rank_rows, slot_weights, d_weights.data()}, stream);
    });
  }
  {
    const Operand<Bf16> x(N * H), rows(R * H);
    const Operand<float> weights(R), logits(N * s.experts), scores(N * s.experts);
    const double row = 2.0 * static_cast<double>(H), all = static_cast<double>(R) * row,
                 one = static_cast<double>(N) * row;
    time("dispatch", all + one, [&](cudaStream_t stream) {
      return dispatch_rows<Bf16>({N, s.per_token, H, places, x.data(), rows.data()}, stream);
    });
    time("dispatch backward", all + one, [&](cudaStream_t stream) {
      return dispatch_rows_backward<Bf16>(
          {N, s.per_token, H, places, rows.data(), nullptr, x.data()}, stream);
    });
    CombineRows<Bf16> combined{N, s.per_token, H, rows.data(), weights.data(), places};
    combined.y = x.data();
    time("combine", all + one, [&](cudaStream_t stream) { return combine_rows(combined, stream); });
    const Operand<Bf16> d_rows(R * H);
    CombineRowsBackward<Bf16> back;
    back.of = combined, back.dy = x.data(), back.d_rows = d_rows.data();
    back.d_weights = weights.data();
    time("combine backward", 2 * all + one,
         [&](cudaStream_t stream) { return combine_rows_backward(back, stream); });
    RouterForm form;
    form.experts = static_cast<int>(s.experts);
    form.per_token = static_cast<int>(s.per_token);
    ChooseExperts<float> choice;
    choice.form = form, choice.tokens = N, choice.scores = scores.data();
    choice.weights = weights.data(), choice.indices = indices;
    time("choice", 4.0 * static_cast<double>(N * s.experts),
         [&](cudaStream_t stream) { return choose_experts(choice, stream); });
    RouterBackward<Bf16> router;
    router.form = form, router.tokens = N, router.scores = scores.data();
    router.indices = indices, router.d_weights = weights.data(), router.d_logits = logits.data();
    time("router backward", 8.0 * static_cast<double>(N * s.experts),
         [&](cudaStream_t stream) { return router_backward(router, stream); });
  }
  products<Bf16>(s, H, 2 * s.features, offsets, "up", DType::bf16);
  products<Bf16>(s, s.features, H, offsets, "down", DType::bf16);
}

}  // namespace

int main() try {
  measure({"olmoe-1b-7b", 8'192, 8, 64, 2'048, 1'024});
  measure({"mixtral-8x7b", 4'096, 2, 8, 4'096, 14'336});
  measure({"qwen3-30b-a3b", 8'192, 8, 128, 2'048, 768});
  const Shape small{"fp32", 4'096, 2, 8, 1'024, 1'024};
  const std::vector<std::int32_t> even{0, 1'024, 2'048, 3'072, 4'096, 5'120, 6'144, 7'168, 8'192};
  const Operand<float> offsets(std::ssize(even));
  bench::require_success(
      cudaMemcpy(offsets.data(), even.data(), even.size() * 4, cudaMemcpyHostToDevice), "offsets");
  products<float>(small, 1'024, 1'024, reinterpret_cast<const std::int32_t*>(offsets.data()), "up",
                  DType::f32);
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_experts: %s\n", e.what());
  return 1;
}
