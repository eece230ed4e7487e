// The GPU's libraries as a training step uses them: matrix products of GPT-2 124M by the library's
// first choice and by the tuned one, and attention. Sustained: every figure is taken back to back,
// at the power limit. One JSON object a line; times in ms.
//   bench_libraries              what a step of GPT-2 124M has
//   bench_libraries lengths      attention of rows of 256 to 8192 tokens
//   bench_libraries spans        attention inside documents and in windows
//   bench_libraries encoders     attention without a mask, padded by a quarter and not
//   bench_libraries attention    own kernels in fp32 and tf32; in bf16 inside documents, beside
//                                cuDNN's on the same rows as if each were one
//   bench_libraries dimensions   sizes that plan's advice is about: last waves of tiles, rows off
//                                16 bytes, heads of many sizes (program::TileRates, attention_s)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/gpu_error.hpp"
#include "sustained.hpp"

using namespace trainx;
using namespace trainx::gpu;
using trainx::bench::sustained_ms;

namespace {

constexpr std::int64_t scratch_bytes = std::int64_t{12} << 30;

class DeviceMemory {
 public:
  explicit DeviceMemory(std::int64_t bytes) {
    require(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)), "no memory for the bench");
  }
  ~DeviceMemory() { cudaFree(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  void* data() const { return memory_; }
  template <class T>
  T* at(std::int64_t bytes) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + bytes);
  }

 private:
  void* memory_ = nullptr;
};

struct Row {
  const char* name;
  GemmProblem problem;
  int per_layer;
};

// 12 layers of width 768 over `rows` tokens; the head in chunks of at most 32768.
std::vector<Row> gpt2_products(std::int64_t rows) {
  std::vector<Row> out;
  struct Linear {
    const char* name;
    std::int64_t out, in;
  };
  for (const Linear l : {Linear{"qkv", 2304, 768},
                         {"proj", 768, 768},
                         {"fc1", 3072, 768},
                         {"fc2", 768, 3072},
                         {"head", 50304, 768}}) {
    const bool head = l.out == 50304;
    const std::int64_t m = head ? std::min<std::int64_t>(rows, 32768) : rows;
    const int times = head ? static_cast<int>(rows / m) : 12;
    GemmProblem weight = linear_weight_gradient_problem(m, l.out, l.in, DType::bf16);
    weight.accumulate = true;
    out.push_back({l.name,
                   linear_problem(m, l.out, l.in, DType::bf16,
                                  head ? GemmEpilogue::none : GemmEpilogue::bias),
                   times});
    out.push_back({l.name, linear_input_gradient_problem(m, l.out, l.in, DType::bf16), times});
    out.push_back({l.name, weight, times});
  }
  out.push_back({"fc1 with gelu",
                 linear_problem(rows, 3072, 768, DType::bf16, GemmEpilogue::bias_gelu_tanh), 0});
  GemmProblem gradient = linear_input_gradient_problem(rows, 768, 3072, DType::bf16);
  gradient.epilogue = GemmEpilogue::gelu_tanh_grad;
  out.push_back({"fc2 with dgelu", gradient, 0});
  return out;
}

void bench_gemm(Gemm& gemm, const StreamSpace& space, const DeviceMemory& scratch,
                std::int64_t rows) {
  double heuristic_ms = 0, tuned_ms = 0, flops = 0;
  for (const Row& row : gpt2_products(rows)) {
    const GemmProblem& p = row.problem;
    const auto times =
        gemm.tune(p, space, scratch.data(), scratch_bytes, {.seconds_per_problem = 1.5});
    if (!times) continue;
    const auto tflops = [&](double ms) { return std::round(p.flops() / ms / 1e8) / 10; };
    std::printf("%s\n", nlohmann::json{{"gemm", describe(p)},
                                       {"layer", row.name},
                                       {"heuristic_ms", times->heuristic_ms},
                                       {"tuned_ms", times->chosen_ms},
                                       {"heuristic_tflops", tflops(times->heuristic_ms)},
                                       {"tuned_tflops", tflops(times->chosen_ms)},
                                       {"candidates", times->candidates}}
                            .dump()
                            .c_str());
    std::fflush(stdout);
    heuristic_ms += row.per_layer * times->heuristic_ms;
    tuned_ms += row.per_layer * times->chosen_ms;
    flops += row.per_layer * p.flops();
  }
  std::printf("%s\n",
              nlohmann::json{{"gemm", "GPT-2 124M step, " + std::to_string(rows) + " tokens"},
                             {"heuristic_ms", heuristic_ms},
                             {"tuned_ms", tuned_ms},
                             {"heuristic_tflops", flops / heuristic_ms / 1e9},
                             {"tuned_tflops", flops / tuned_ms / 1e9}}
                  .dump()
                  .c_str());
}

/// Of rows that hold documents of 50 tokens and more, 270 on average: where each token's begins,
/// and how many pairs of tokens see each other.
std::vector<std::int32_t> document_starts(std::int64_t rows, std::int64_t tokens, double& pairs) {
  std::vector<std::int32_t> starts;
  std::uint32_t state = 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t begin = 0, end; begin < tokens; begin = end) {
      state = state * 1664525 + 1013904223;
      end = std::min(tokens,
                     begin + 50 - std::lround(220 * std::log((state >> 8) / 16777216.0 + 1e-7)));
      starts.insert(starts.end(), static_cast<std::size_t>(end - begin),
                    static_cast<std::int32_t>(begin));
      pairs += static_cast<double>((end - begin) * (end - begin + 1)) / 2;
    }
  return starts;
}

void bench_attention(Attention& attention, const DeviceMemory& memory, const AttentionProblem& p) {
  const std::int64_t element = size_of(p.dtype),
                     out_bytes = p.batch * p.tokens * p.heads * p.head_size * element,
                     lse_bytes = p.batch * p.heads * p.tokens * 4;
  const std::int64_t forward_bytes = attention.forward_workspace_bytes(p),
                     backward_bytes = attention.backward_workspace_bytes(p);
  const StreamSpace space{
      nullptr, memory.at<char>(8 * out_bytes + lse_bytes + p.batch * p.tokens * 4 + 256 * 16),
      std::max(forward_bytes, backward_bytes)};
  // Random values: qkv at 0, out, d_out, d_qkv, lse, who sees whom.
  std::vector<std::uint16_t> bits(1 << 20);
  std::uint32_t state = 1;
  for (auto& b : bits) {  // +-0.5 to 2 in bf16, with random mantissas
    state = state * 1664525 + 1013904223;
    b = static_cast<std::uint16_t>(0x3f00 | (state >> 24) | (state & 0x8000));
  }
  for (std::int64_t at = 0; at < 8 * out_bytes; at += static_cast<std::int64_t>(bits.size()) * 2)
    require(cudaMemcpy(memory.at<char>(at), bits.data(),
                       static_cast<std::size_t>(std::min<std::int64_t>(
                           8 * out_bytes - at, static_cast<std::int64_t>(bits.size()) * 2)),
                       cudaMemcpyDefault),
            "copy");
  double pairs = static_cast<double>(p.batch * p.tokens * p.tokens) / (p.causal ? 2 : 1),
         of_documents = 0;
  const std::vector<std::int32_t> seen =
      p.documents ? document_starts(p.batch, p.tokens, of_documents)
                  : std::vector<std::int32_t>(static_cast<std::size_t>(p.batch),
                                              static_cast<std::int32_t>(p.tokens * 3 / 4));
  if (p.documents) pairs = of_documents;
  if (p.causal && p.window > 0 && p.window < p.tokens)
    pairs -= static_cast<double>(p.batch * (p.tokens - p.window) * (p.tokens - p.window)) / 2;
  const auto qkv = memory.at<char>(0), out = memory.at<char>(3 * out_bytes),
             d_out = memory.at<char>(4 * out_bytes), d_qkv = memory.at<char>(5 * out_bytes);
  const auto lse = memory.at<float>(8 * out_bytes);
  const auto device_seen = memory.at<std::int32_t>(8 * out_bytes + lse_bytes);
  require(cudaMemcpy(device_seen, seen.data(), seen.size() * 4, cudaMemcpyDefault), "copy");
  const std::int32_t* const given = p.padded || p.documents ? device_seen : nullptr;
  const double forward_ms = sustained_ms(nullptr, [&] {
    attention.forward(p, {qkv, given}, out, lse, space);
  });
  const double backward_ms = sustained_ms(nullptr, [&] {
    attention.backward(p, {qkv, given}, out, lse, d_out, {d_qkv}, space);
  });
  const double flops = 4.0 * static_cast<double>(p.heads * p.head_size) * pairs;
  std::printf(
      "%s\n",
      nlohmann::json{{"attention", describe(p)},
                     {"path", name_of(path_of(p))},
                     {"forward_ms", forward_ms},
                     {"backward_ms", backward_ms},
                     {"forward_tflops", flops / forward_ms / 1e9},
                     {"backward_tflops", 2.5 * flops / backward_ms / 1e9},
                     {"forward_workspace_mib", static_cast<double>(forward_bytes) / 1048576},
                     {"backward_workspace_mib", static_cast<double>(backward_bytes) / 1048576}}
          .dump()
          .c_str());
  std::fflush(stdout);
}

void bench_product(Gemm& gemm, const StreamSpace& space, const DeviceMemory& scratch,
                   const GemmProblem& p) {
  const auto times =
      gemm.tune(p, space, scratch.data(), scratch_bytes, {.seconds_per_problem = 0.5});
  if (!times) return;
  std::printf("%s\n", nlohmann::json{{"gemm", describe(p)},
                                     {"tuned_ms", times->chosen_ms},
                                     {"tuned_tflops", p.flops() / times->chosen_ms / 1e9},
                                     {"candidates", times->candidates}}
                          .dump()
                          .c_str());
  std::fflush(stdout);
}

/// All three products of a linear layer.
void bench_linear(Gemm& gemm, const StreamSpace& space, const DeviceMemory& scratch,
                  std::int64_t rows, std::int64_t out, std::int64_t in) {
  bench_product(gemm, space, scratch, linear_problem(rows, out, in, DType::bf16));
  bench_product(gemm, space, scratch, linear_input_gradient_problem(rows, out, in, DType::bf16));
  bench_product(gemm, space, scratch, linear_weight_gradient_problem(rows, out, in, DType::bf16));
}

void bench_dimensions(Gemm& gemm, Attention& attention, const StreamSpace& space,
                      const DeviceMemory& scratch) {
  for (const std::int64_t samples : {3, 5, 6, 7, 8, 9, 11, 13})
    bench_linear(gemm, space, scratch, samples * 1024, 768, 768);
  for (const std::int64_t samples : {5, 7, 8, 13})
    bench_linear(gemm, space, scratch, samples * 1024, 5120, 1280);
  for (const std::int64_t width : {1016, 1020, 1022, 1023, 1024})
    bench_linear(gemm, space, scratch, 16384, width, width);
  for (const std::int64_t head : {32, 36, 48, 64, 72, 80, 96, 112, 128})
    bench_attention(attention, scratch, {16, 1024, 16, head, DType::bf16, true, false, false});
}

/// Of the types, and of documents in a row, that libraries leave to own kernels.
void bench_own_attention(Attention& attention, const DeviceMemory& scratch) {
  for (const bool tf32 : {false, true})
    for (AttentionProblem p : {AttentionProblem{4, 512, 16, 64, DType::f32, false, false, true},
                               AttentionProblem{1, 512, 16, 64, DType::f32, false, false, true},
                               AttentionProblem{8, 128, 12, 64, DType::f32, false, true, true},
                               AttentionProblem{4, 1024, 12, 64, DType::f32, true, false, true},
                               AttentionProblem{4, 1024, 12, 128, DType::f32, true, false, true}}) {
      p.tf32 = tf32;
      bench_attention(attention, scratch, p);
    }
  for (const DType type : {DType::bf16, DType::f16, DType::f32})
    for (const bool documents : {false, true}) {
      AttentionProblem p{32, 1024, 12, 64, type, true, false, true};
      p.documents = documents;
      bench_attention(attention, scratch, p);
    }
}

/// Documents and windows: by whom all GPUs have, and by kernels for this one.
void bench_spans(Attention& attention, const DeviceMemory& scratch) {
  for (const std::int64_t head_size : {64, 128})
    for (const int capability : {0, attention.compute_capability()}) {
      AttentionProblem packed{32, 1024, 768 / head_size, head_size, DType::bf16, true};
      packed.documents = true;
      packed.compute_capability = capability;
      bench_attention(attention, scratch, packed);
      for (const std::int64_t window : {512, 1024}) {
        AttentionProblem near{8, 4096, 768 / head_size, head_size, DType::bf16, true};
        near.window = window;
        near.compute_capability = capability;
        bench_attention(attention, scratch, near);
      }
    }
}

/// Of encoders: by whom all GPUs have, and by kernels for this one.
void bench_encoders(Attention& attention, const DeviceMemory& scratch) {
  for (const auto& [rows, length, heads] :
       {std::tuple{128, 128, 12}, {64, 197, 12}, {64, 256, 12}, {32, 512, 16}, {32, 1024, 12}})
    for (const bool padded : {false, true})
      for (const int capability : {0, attention.compute_capability()}) {
        AttentionProblem p{rows, length, heads, 64, DType::bf16, false, padded};
        p.compute_capability = capability;
        bench_attention(attention, scratch, p);
      }
}

/// Of 32,768 tokens in rows of several lengths, and near each other.
void bench_lengths(Attention& attention, const DeviceMemory& scratch) {
  for (const std::int64_t length : {256, 512, 1024, 2048, 4096, 8192}) {
    const std::int64_t rows = 32768 / length;
    for (const bool causal : {true, false}) {
      bench_attention(attention, scratch, {rows, length, 12, 64, DType::bf16, causal});
      bench_attention(attention, scratch, {rows, length, 12, 128, DType::bf16, causal});
    }
    AttentionProblem near{rows, length, 12, 64, DType::bf16};
    near.window = 65;
    if (length > 256) bench_attention(attention, scratch, near);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const DeviceMemory scratch(scratch_bytes), workspace(Gemm::workspace_bytes);
    const StreamSpace space{nullptr, workspace.data(), Gemm::workspace_bytes};
    Attention attention;
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "attention") {
      bench_own_attention(attention, scratch);
      return 0;
    }
    if (what == "spans") {
      bench_spans(attention, scratch);
      return 0;
    }
    if (what == "encoders") {
      bench_encoders(attention, scratch);
      return 0;
    }
    if (what == "lengths") {
      bench_lengths(attention, scratch);
      return 0;
    }
    if (what == "dimensions") {
      Gemm of_dimensions("");
      bench_dimensions(of_dimensions, attention, space, scratch);
      return 0;
    }
    for (const bool deterministic : {false, true}) {
      bench_attention(attention, scratch,
                      {64, 1024, 12, 64, DType::bf16, true, false, deterministic});
      bench_attention(attention, scratch,
                      {4, 1024, 12, 64, DType::bf16, true, false, deterministic});
      bench_attention(attention, scratch,
                      {1, 1024, 12, 64, DType::bf16, true, false, deterministic});
      bench_attention(attention, scratch,
                      {32, 512, 16, 64, DType::bf16, false, false, deterministic});
      bench_attention(attention, scratch,
                      {32, 512, 16, 64, DType::bf16, false, true, deterministic});
    }
    bench_own_attention(attention, scratch);
    Gemm gemm("");
    bench_gemm(gemm, space, scratch, 65536);
    bench_gemm(gemm, space, scratch, 4096);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_libraries: %s\n", error.what());
    return 1;
  }
  return 0;
}
