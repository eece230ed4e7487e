// Products of fp8 by cuBLASLt against sums of the same fp8 values in double precision.
#include "gpu/device.hpp"
#include "gpu/gemm.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/quantize/fp8_bits.hpp"
#include <cmath>
#include <limits>
#include <random>

namespace fp8_gemm_test {

using namespace trainx;
using namespace trainx::gpu;
using kernels::Bf16;
using kernels::Fp8Format;
using kernels::Fp8Granularity;
using kernels::OnDevice;

namespace {

double number_of(Fp8Format format, std::uint8_t bits) {
  const int mantissa = format == Fp8Format::e4m3 ? 3 : 2, bias = format == Fp8Format::e4m3 ? 7 : 15;
  const int exponent = (bits & 0x7f) >> mantissa, rest = bits & ((1 << mantissa) - 1);
  const double magnitude = exponent == 0
                               ? std::ldexp(rest, 1 - bias - mantissa)
                               : std::ldexp((1 << mantissa) + rest, exponent - bias - mantissa);
  return bits & 0x80 ? -magnitude : magnitude;
}

/// Random finite values in fp8, as quantized ones are spread; [rows, columns]. Scales of vectors
/// and blocks are `scale_of` times powers of two.
struct Operand {
  Operand(std::int64_t rows, std::int64_t columns, Fp8Format format, float scale_of, unsigned seed,
          Fp8Granularity granularity_of = Fp8Granularity::tensor)
      : granularity(granularity_of),
        size{rows, columns},
        scales(make_scales(scale_of, seed)),
        values(make(rows * columns, format, seed)),
        device(bits_),
        device_scale(scales) {}

  std::vector<float> make_scales(float scale_of, unsigned seed) const {
    std::mt19937 random(seed + 100);
    std::uniform_int_distribution<int> power(-4, 4);
    std::vector<float> out(
        static_cast<std::size_t>(kernels::fp8_scales(granularity, size[0], size[1])), scale_of);
    for (float& s : out)
      if (granularity != Fp8Granularity::tensor) s = std::ldexp(scale_of, power(random));
    return out;
  }
  /// Of row r and column c, where cuBLASLt looks for it.
  double scale(std::int64_t r, std::int64_t c) const {
    const std::int64_t across = ((size[1] + 127) / 128 + 3) / 4 * 4,
                       at = granularity == Fp8Granularity::tensor   ? 0
                            : granularity == Fp8Granularity::vector ? c / 128 * size[0] + r
                                                                    : r / 128 * across + c / 128;
    return static_cast<double>(scales[static_cast<std::size_t>(at)]);
  }

  std::vector<double> make(std::int64_t n, Fp8Format format, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, kernels::largest_fp8(format) / 8);
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = normal(random);
      bits_.push_back(format == Fp8Format::e4m3 ? kernels::rounded_fp8<Fp8Format::e4m3>(x)
                                                : kernels::rounded_fp8<Fp8Format::e5m2>(x));
      numbers.push_back(number_of(format, bits_.back()));
    }
    return numbers;
  }

 private:
  std::vector<std::uint8_t> bits_;

 public:
  Fp8Granularity granularity;
  std::int64_t size[2];
  std::vector<float> scales;
  std::vector<double> values;
  OnDevice<std::uint8_t> device;
  OnDevice<float> device_scale;
};

class Workspace {
 public:
  Workspace() {
    kernels::require_success(cudaMalloc(&memory_, Gemm::workspace_bytes), "cudaMalloc");
  }
  ~Workspace() { cudaFree(memory_); }
  Workspace(const Workspace&) = delete;
  StreamSpace space(cudaStream_t stream = nullptr) const {
    return {stream, memory_, Gemm::workspace_bytes};
  }

 private:
  void* memory_ = nullptr;
};

std::vector<float> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& f : x) f = normal(random);
  return x;
}

std::vector<Bf16> rounded(const std::vector<float>& x) {
  std::vector<Bf16> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) kernels::narrow(x[i], out[i]);
  return out;
}

void check(Gemm& gemm, const GemmProblem& p, const Workspace& workspace, bool separate_c = false) {
  INFO(describe(p) << ", separate c " << separate_c);
  const Operand a(p.m, p.k, p.a_format, 0.01f, 1, p.a_scales),
      b(p.n, p.k, p.b_format, 3e-4f, 2, p.b_scales);
  const bool wide = p.result == DType::f32, has_bias = p.epilogue == GemmEpilogue::bias;
  const std::vector<float> before = random_values(p.m * p.n, 3),
                           other = random_values(p.m * p.n, 4), bias = random_values(p.n, 5);
  const OnDevice<float> d32(wide ? before : std::vector<float>{0});
  const OnDevice<Bf16> d16(rounded(wide ? std::vector<float>{0} : before)), c16(rounded(other)),
      bias16(rounded(bias));
  GemmOperands o;
  o.a = a.device.data(), o.b = b.device.data();
  o.a_scale = a.device_scale.data(), o.b_scale = b.device_scale.data();
  o.d = wide ? static_cast<void*>(d32.data()) : d16.data();
  if (separate_c) o.c = c16.data();
  if (has_bias) o.bias = bias16.data();
  gemm.run(p, o, workspace.space());
  std::vector<float> got = wide ? d32.host() : std::vector<float>{};
  if (!wide)
    for (const Bf16 x : d16.host()) got.push_back(kernels::widened(x));
  const auto as_stored = [&](float x) { return wide ? x : kernels::widened(rounded({x})[0]); };
  // Hopper's tensor cores keep some 14 bits of what products are added to: of 128 of them, or of
  // all where sums are fast
  const double terms_error = p.fast_sums ? 2e-3 : 3e-4, rounding = wide ? 1e-6 : 1.0 / 256;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto at = static_cast<std::size_t>(i * p.n + j);
      double sum = 0, terms = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const double term = a.values[static_cast<std::size_t>(i * p.k + l)] *
                            b.values[static_cast<std::size_t>(j * p.k + l)] * a.scale(i, l) *
                            b.scale(j, l);
        sum += term;
        terms += std::abs(term);
      }
      const double product = sum;
      if (has_bias) sum += as_stored(bias[static_cast<std::size_t>(j)]);
      if (p.accumulate) sum += as_stored((separate_c ? other : before)[at]);
      const double tolerance = terms_error * terms +
                               rounding * (std::abs(sum) + std::abs(product)) + 1e-6;
      if (!(std::abs(got[at] - sum) <= tolerance))
        FAIL("element " << i << " " << j << ": " << got[at] << " for " << sum << " +- "
                        << tolerance);
    }
}

}  // namespace

TEST_CASE("products of fp8 equal the sums of their values, times both scales", "[gpu]") {
  TRAINX_NEEDS_FP8();
  Gemm gemm("");
  const Workspace workspace;
  struct Size {
    std::int64_t rows, out, in;
  };
  for (const Size s : {Size{16, 16, 16},
                       {32, 48, 16},
                       {144, 80, 272},
                       {256, 96, 32},
                       {64, 768, 256},
                       {512, 256, 1024}}) {
    GemmProblem forward = fp8_problem(s.rows, s.out, s.in, DType::bf16);
    forward.fast_sums = true;
    check(gemm, forward, workspace);
    forward.epilogue = GemmEpilogue::bias;
    check(gemm, forward, workspace);
    GemmProblem input = fp8_problem(s.rows, s.in, s.out, DType::bf16);
    input.a_format = Fp8Format::e5m2;
    check(gemm, input, workspace);
    input.accumulate = true;
    check(gemm, input, workspace);
    check(gemm, input, workspace, true);
    GemmProblem weight = fp8_problem(s.out, s.in, s.rows, DType::f32);
    weight.a_format = Fp8Format::e5m2;
    check(gemm, weight, workspace);
    weight.accumulate = true;
    check(gemm, weight, workspace);
  }
}

TEST_CASE("products of fp8 with scales of blocks equal the sums of their values by their scales",
          "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  Gemm gemm("");
  const Workspace workspace;
  struct Size {
    std::int64_t rows, out, in;
  };
  // partial blocks along each dimension as well
  for (const Size s : {Size{16, 16, 16},
                       {32, 48, 16},
                       {128, 128, 128},
                       {144, 80, 272},
                       {256, 96, 32},
                       {64, 768, 256},
                       {400, 304, 1040},
                       {512, 256, 1024}}) {
    GemmProblem forward = fp8_problem(s.rows, s.out, s.in, DType::bf16);
    forward.a_scales = Fp8Granularity::vector, forward.b_scales = Fp8Granularity::block;
    check(gemm, forward, workspace);
    forward.epilogue = GemmEpilogue::bias;
    check(gemm, forward, workspace);
    GemmProblem input = fp8_problem(s.rows, s.in, s.out, DType::bf16);
    input.a_scales = Fp8Granularity::vector, input.b_scales = Fp8Granularity::block;
    check(gemm, input, workspace);
    input.accumulate = true;
    check(gemm, input, workspace);
    check(gemm, input, workspace, true);
    GemmProblem weight = fp8_problem(s.out, s.in, s.rows, DType::f32);
    weight.a_scales = weight.b_scales = Fp8Granularity::vector;
    check(gemm, weight, workspace);
    weight.accumulate = true;
    check(gemm, weight, workspace);
  }
  GemmProblem p = fp8_problem(512, 256, 1024, DType::bf16);
  p.a_scales = Fp8Granularity::vector, p.b_scales = Fp8Granularity::block;
  void* scratch = nullptr;
  const std::int64_t bytes = Gemm::tuning_bytes(p);
  kernels::require_success(cudaMalloc(&scratch, static_cast<std::size_t>(bytes)), "cudaMalloc");
  const auto times = gemm.tune(p, workspace.space(), scratch, bytes,
                               {.candidates = 4, .ms_per_candidate = 1, .seconds_per_problem = 1});
  REQUIRE(times.has_value());
  CHECK(times->chosen_ms > 0);
  cudaFree(scratch);
  check(gemm, p, workspace);  // by the algorithm that was chosen
  // no such products: two operands with scales of blocks, mixed ones, e5m2, fast sums
  GemmProblem blocks = p, mixed = p, e5m2 = p, fast = p;
  blocks.a_scales = Fp8Granularity::block;
  mixed.b_scales = Fp8Granularity::tensor;
  e5m2.a_format = Fp8Format::e5m2;
  fast.fast_sums = true;
  for (const GemmProblem& none : {blocks, mixed, e5m2, fast})
    CHECK_THROWS_AS(gemm.run(none, GemmOperands(), workspace.space()), InternalError);
}

TEST_CASE("NaN in a scale of fp8 shows in all of the product", "[gpu]") {
  TRAINX_NEEDS_FP8();
  Gemm gemm("");
  const Workspace workspace;
  const Operand a(32, 64, Fp8Format::e4m3, std::numeric_limits<float>::quiet_NaN(), 1),
      b(48, 64, Fp8Format::e4m3, 1, 2);
  const OnDevice<Bf16> d(rounded(random_values(32 * 48, 3)));
  GemmOperands o;
  o.a = a.device.data(), o.b = b.device.data(), o.d = d.data();
  o.a_scale = a.device_scale.data(), o.b_scale = b.device_scale.data();
  gemm.run(fp8_problem(32, 48, 64, DType::bf16), o, workspace.space());
  for (const Bf16 x : d.host())
    if (!std::isnan(kernels::widened(x))) FAIL("a number: " << kernels::widened(x));
}

TEST_CASE("products of fp8 are captured, follow their scales, and are tuned", "[gpu]") {
  TRAINX_NEEDS_FP8();
  Gemm gemm("");
  const Workspace workspace;
  const Operand a(128, 256, Fp8Format::e5m2, 1, 1), b(64, 256, Fp8Format::e4m3, 1, 2);
  const OnDevice<float> d(std::vector<float>(128 * 64, 0.0f));
  GemmProblem p = fp8_problem(128, 64, 256, DType::f32);
  p.a_format = Fp8Format::e5m2;
  GemmOperands o;
  o.a = a.device.data(), o.b = b.device.data(), o.d = d.data();
  o.a_scale = a.device_scale.data(), o.b_scale = b.device_scale.data();
  cudaStream_t stream = nullptr;
  kernels::require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  const StreamSpace space = workspace.space(stream);
  gemm.run(p, o, space);
  kernels::require_success(cudaStreamSynchronize(stream), "product");
  const auto first = d.host();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  kernels::require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                           "capture");
  gemm.run(p, o, space);
  kernels::require_success(cudaStreamEndCapture(stream, &graph), "capture");
  kernels::require_success(cudaGraphInstantiate(&exec, graph, 0), "graph");
  const float four = 4;
  kernels::require_success(
      cudaMemcpy(a.device_scale.data(), &four, sizeof four, cudaMemcpyHostToDevice), "copy");
  kernels::require_success(cudaGraphLaunch(exec, stream), "graph");
  kernels::require_success(cudaStreamSynchronize(stream), "graph");
  const auto scaled = d.host();
  for (std::size_t i = 0; i < first.size(); ++i)
    if (scaled[i] != 4 * first[i]) FAIL("element " << i << ": " << scaled[i] << " " << first[i]);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);

  void* scratch = nullptr;
  const std::int64_t bytes = Gemm::tuning_bytes(p);
  kernels::require_success(cudaMalloc(&scratch, static_cast<std::size_t>(bytes)), "cudaMalloc");
  CHECK(gemm.untuned(Gemm::workspace_bytes) == std::vector<GemmProblem>{p});
  const auto times = gemm.tune(p, space, scratch, bytes,
                               {.candidates = 4, .ms_per_candidate = 1, .seconds_per_problem = 1});
  REQUIRE(times.has_value());
  CHECK(times->chosen_ms > 0);
  CHECK(gemm.untuned(Gemm::workspace_bytes).empty());
  cudaFree(scratch);
  cudaStreamDestroy(stream);
}

TEST_CASE("products of fp8 that no GPU has are refused", "[gpu]") {
  TRAINX_NEEDS_FP8();
  Gemm gemm("");
  const Workspace workspace;
  const OnDevice<std::uint8_t> x(std::vector<std::uint8_t>(64 * 64));
  const OnDevice<float> d(std::vector<float>(64 * 64)), one(std::vector<float>{1});
  GemmOperands o;
  o.a = o.b = x.data(), o.d = d.data(), o.a_scale = o.b_scale = one.data();
  GemmProblem odd = fp8_problem(32, 24, 32, DType::f32),
              both_e5m2 = fp8_problem(32, 32, 32, DType::f32);
  both_e5m2.a_format = both_e5m2.b_format = Fp8Format::e5m2;
  GemmProblem across = fp8_problem(32, 32, 32, DType::f32);
  across.b_transposed = false;
  for (const GemmProblem& p : {odd, both_e5m2, across})
    CHECK_THROWS_AS(gemm.run(p, o, workspace.space()), InternalError);
}

}  // namespace fp8_gemm_test
