#include "bench/hopper_linear/summed.hpp"
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>
#include "bench/kernels/sustained.hpp"
#include "gpu/gemm.hpp"
#include "kernels/linear/hopper/summed_products.hpp"

namespace trainx::bench {
namespace {

constexpr std::int64_t rows = 8192, rank = 16;

/// A layer of one input and `parts` outputs side by side, each with an adapter.
struct Layer {
  const char* name;
  std::int64_t in;
  std::vector<std::int64_t> parts;
  std::int64_t out() const {
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) sum += part;
    return sum;
  }
};

std::vector<Bf16> random_values(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<Bf16> to(static_cast<std::size_t>(n));
  for (Bf16& x : to) kernels::narrow(0.03f * random.normal(), x);
  return to;
}

double median(std::array<double, 5> of) {
  std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
  return of[of.size() / 2];
}

/// y = x W^T + u B^T, or dx = dy W + dn A.
void time_pass(gpu::Gemm& gemm, const gpu::StreamSpace& space, const Layer& layer, bool forward) {
  const std::int64_t in = layer.in, out = layer.out(),
                     narrow = rank * static_cast<std::int64_t>(layer.parts.size()),
                     depth = forward ? in : out, columns = forward ? out : in;
  const Device<Bf16> left(random_values(rows * depth, 1)), weight(random_values(out * in, 2)),
      narrow_rows(random_values(rows * narrow, 3)), second(random_values(narrow * columns, 4));
  Device<Bf16> result(static_cast<std::size_t>(rows * columns));
  kernels::hopper::SummedProducts<Bf16> op{rows,         columns, depth,   left.get(),
                                           weight.get(), forward, nullptr, result.get()};
  if (forward) {
    std::int64_t first = 0;
    for (const std::int64_t width : layer.parts) {
      op.added[op.added_count] = {narrow_rows.get() + rank * op.added_count,
                                  narrow,
                                  second.get() + rank * first,
                                  rank,
                                  first,
                                  width};
      ++op.added_count, first += width;
    }
  } else {
    op.added[0] = {narrow_rows.get(), narrow, second.get(), narrow, 0, columns};
    op.added_count = 1;
  }
  const auto own = [&] {
    require(kernels::hopper::summed_products(op, nullptr), "summed_products");
  };
  const auto p = forward ? gpu::linear_problem(rows, out, in, DType::bf16)
                         : gpu::linear_input_gradient_problem(rows, out, in, DType::bf16);
  {
    const std::int64_t bytes = gpu::Gemm::tuning_bytes(p);
    const Device<char> scratch(static_cast<std::size_t>(bytes));
    gemm.tune(p, space, scratch.get(), bytes, {.ms_per_candidate = 30, .seconds_per_problem = 0.8});
  }
  gpu::GemmOperands o;
  o.a = left.get(), o.b = weight.get(), o.d = result.get();
  const auto library = [&] { gemm.run(p, o, space); };
  // by turns: after a change of load the power limit lets the clock swing for a while
  std::array<double, 5> own_ms{}, library_ms{};
  for (std::size_t i = 0; i < own_ms.size(); ++i)
    own_ms[i] = sustained_ms(nullptr, own), library_ms[i] = sustained_ms(nullptr, library);
  const double ms = median(own_ms), beside = median(library_ms);
  std::printf("%-28s %-9s %8.4f %9.1f %8.4f   %.3f\n", layer.name, forward ? "forward" : "backward",
              ms, p.flops() / ms / 1e9, beside, beside / ms);
  std::fflush(stdout);
}

}  // namespace

void time_summed(Checks&) {
  const std::vector<Layer> layers = {{"8B query, key, value", 4096, {4096, 1024, 1024}},
                                     {"8B attention's output", 4096, {4096}},
                                     {"8B gate, up", 4096, {14336, 14336}},
                                     {"8B down", 14336, {4096}},
                                     {"0.6B query, key, value", 1024, {2048, 1024, 1024}},
                                     {"0.6B attention's output", 2048, {1024}},
                                     {"0.6B gate, up", 1024, {3072, 3072}},
                                     {"0.6B down", 3072, {1024}}};
  gpu::Gemm gemm("");
  const Device<char> workspace(gpu::Gemm::workspace_bytes);
  const gpu::StreamSpace space{nullptr, workspace.get(), gpu::Gemm::workspace_bytes};
  std::printf("ms, sustained, %lld rows, rank %lld\n%-28s %-9s %8s %9s %8s\n",
              static_cast<long long>(rows), static_cast<long long>(rank), "", "", "own", "TFLOP/s",
              "cuBLASLt (of the layer alone)");
  for (const Layer& layer : layers)
    for (const bool forward : {true, false}) time_pass(gemm, space, layer, forward);
}

}  // namespace trainx::bench
