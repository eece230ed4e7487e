// Bandwidth that the kernels reach over GPT-2 124M's shapes, against that of a plain copy.
//   bench_kernels [OUT.json] [--only NAME]
#include "bench/kernels/timing.hpp"
#include "kernels/activation/pointwise.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/norm/residual_layer_norm.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/reduce/column_sum.hpp"
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

using namespace trainx::kernels;
using namespace trainx::bench;

namespace {

constexpr std::int64_t T = 1024, C = 768, F = 3072, V = 50257, Vp = 50304;

class Bench {
 public:
  explicit Bench(std::string only) : only_(std::move(only)), arena_(std::size_t{16} << 30) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1);
    noise_.resize(1 << 22);
    for (float& x : noise_) x = normal(random);
    zeros_ = arena_.take<std::uint32_t>(fold_words);
    require_success(cudaMemset(zeros_, 0, fold_words * 4), "memset");
    kept_ = 1 << 16;
  }

  std::uint32_t* counters() { return zeros_; }
  template <class E>
  E* memory(std::int64_t n) {
    return arena_.take<E>(n);
  }
  template <class E>
  E* noise(std::int64_t n) {
    if (host_bytes_.size() != noise_.size() * sizeof(E)) {
      host_bytes_.resize(noise_.size() * sizeof(E));
      for (std::size_t i = 0; i < noise_.size(); ++i)
        narrow(noise_[i], reinterpret_cast<E*>(host_bytes_.data())[i]);
    }
    E* const to = arena_.take<E>(n);
    const auto piece = static_cast<std::int64_t>(noise_.size());
    for (std::int64_t at = 0; at < n; at += at == 0 ? piece : std::min(at, n - at)) {
      if (at == 0)
        require_success(cudaMemcpy(to, host_bytes_.data(),
                                   static_cast<std::size_t>(std::min(piece, n)) * sizeof(E),
                                   cudaMemcpyHostToDevice),
                        "copy");
      else
        require_success(
            cudaMemcpy(to + at, to, static_cast<std::size_t>(std::min(at, n - at)) * sizeof(E),
                       cudaMemcpyDeviceToDevice),
            "copy");
    }
    return to;
  }
  std::int32_t* integers(std::int64_t n, std::int64_t below) {
    std::mt19937 random(2);
    std::vector<std::int32_t> host(static_cast<std::size_t>(n));
    for (auto& i : host)
      i = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(below));
    std::int32_t* const to = arena_.take<std::int32_t>(n);
    require_success(cudaMemcpy(to, host.data(), host.size() * 4, cudaMemcpyHostToDevice), "copy");
    return to;
  }

  /// make() takes the operands of one round and returns its launch; `bytes` are those that one
  /// launch must at least read and write.
  template <class Make>
  void row(const std::string& name, std::int64_t rows, std::int64_t columns, const char* dtype,
           double bytes, Make make) {
    if (name != "copy" && name.find(only_) == std::string::npos) return;
    arena_.clear();
    (void)arena_.take<char>(kept_);
    std::vector<decltype(make())> launches;
    const std::size_t before = arena_.free();
    launches.push_back(make());
    const std::size_t used = before - arena_.free();
    const int rounds = used > (std::size_t{1} << 30)
                           ? 1
                           : static_cast<int>(std::min<std::size_t>(
                                 16, (std::size_t{1} << 28) / std::max<std::size_t>(used, 1) + 1));
    while (static_cast<int>(launches.size()) < rounds) launches.push_back(make());
    const double ms = median_ms(
        [&](int round, cudaStream_t s) { return launches[static_cast<std::size_t>(round)](s); },
        rounds);
    const double rate = bytes / ms * 1e-6;
    if (name == "copy" && rate > peak_) peak_ = rate;
    std::ostringstream line;
    line << "{\"name\": \"" << name << "\", \"rows\": " << rows << ", \"columns\": " << columns
         << ", \"dtype\": \"" << dtype << "\", \"bytes\": " << static_cast<std::int64_t>(bytes)
         << ", \"ms\": " << ms << ", \"gb_per_s\": " << static_cast<std::int64_t>(rate)
         << ", \"of_copy\": " << static_cast<double>(static_cast<int>(1000 * rate / peak_)) / 1000
         << "}";
    std::puts(line.str().c_str());
    std::fflush(stdout);
    lines_.push_back(line.str());
  }
  std::string json(const std::string& gpu) const {
    std::string s = "{\"gpu\": \"" + gpu + "\", \"rows\": [\n";
    for (std::size_t i = 0; i < lines_.size(); ++i)
      s += "  " + lines_[i] + (i + 1 < lines_.size() ? ",\n" : "\n");
    return s + "]}\n";
  }

 private:
  std::string only_;
  Arena arena_;
  std::size_t kept_ = 0;
  std::uint32_t* zeros_ = nullptr;
  std::vector<float> noise_;
  std::vector<char> host_bytes_;
  double peak_ = 1;
  std::vector<std::string> lines_;
};

template <class E>
void norms(Bench& b, std::int64_t n, std::int64_t c, const char* dtype) {
  const double one = static_cast<double>(n * c * static_cast<std::int64_t>(sizeof(E)));
  for (const bool dropped : {false, true}) {
    b.row(dropped ? "residual_layer_norm + dropout" : "residual_layer_norm", n, c, dtype, 4 * one,
          [&] {
            auto* const positions = b.memory<std::int64_t>(n / T);
            require_success(cudaMemset(positions, 0, static_cast<std::size_t>(n / T) * 8),
                            "memset");
            const ResidualLayerNorm<E> op{n,
                                          c,
                                          b.noise<E>(n * c),
                                          b.noise<E>(n * c),
                                          b.noise<E>(c),
                                          b.memory<E>(n * c),
                                          b.memory<float>(n),
                                          b.memory<float>(n),
                                          b.noise<E>(c),
                                          b.noise<E>(c),
                                          b.memory<E>(n * c)};
            const FusedDropout dropout{{dropped ? 0.1 : 0.0, 1, 2, 3}, positions, T, 0};
            return [=](cudaStream_t s) { return residual_layer_norm(op, dropout, s); };
          });
    b.row(dropped ? "layer_norm_backward + dropout" : "layer_norm_backward", n, c, dtype,
          (dropped ? 5 : 4) * one, [&] {
            auto* const positions = b.memory<std::int64_t>(n / T);
            require_success(cudaMemset(positions, 0, static_cast<std::size_t>(n / T) * 8),
                            "memset");
            E* const d_residual = b.noise<E>(n * c);
            const LayerNormBackward<E> op{n,
                                          c,
                                          b.noise<E>(n * c),
                                          b.noise<E>(n * c),
                                          b.noise<float>(n),
                                          b.noise<float>(n),
                                          b.noise<E>(c),
                                          d_residual,
                                          d_residual,
                                          dropped ? b.memory<E>(n * c) : nullptr,
                                          b.memory<float>(c),
                                          b.memory<float>(c),
                                          b.memory<float>(c)};
            const FusedDropout dropout{{dropped ? 0.1 : 0.0, 1, 2, 3}, positions, T, 0};
            const FoldMemory memory{b.memory<float>(layer_norm_backward_partial_bytes(c) / 4),
                                    b.counters()};
            return [=](cudaStream_t s) { return layer_norm_backward(op, dropout, memory, s); };
          });
  }
}

template <class E>
void shapes(Bench& b, std::int64_t n, const char* dtype) {
  const auto size = static_cast<double>(sizeof(E));
  norms<E>(b, n, C, dtype);
  for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu_erf}) {
    const std::string suffix = kind == ActivationKind::gelu_tanh ? " tanh" : " erf";
    b.row("gelu" + suffix, n, F, dtype, 2 * size * static_cast<double>(n * F), [&] {
      E *const in = b.noise<E>(n * F), *const out = b.memory<E>(n * F);
      return [=](cudaStream_t s) { return pointwise(out, in, n * F, kind, s); };
    });
    b.row("gelu_backward + bias" + suffix, n, F, dtype, 3 * size * static_cast<double>(n * F), [&] {
      E* const d = b.noise<E>(n * F);
      const PointwiseBackward<E> op{n, F, d, b.noise<E>(n * F), d, b.memory<float>(F), false};
      const FoldMemory memory{b.memory<float>(pointwise_backward_partial_bytes(F) / 4),
                              b.counters()};
      return [=](cudaStream_t s) { return pointwise_backward(op, kind, memory, s); };
    });
  }
  for (const std::int64_t c : {C, 3 * C}) {
    b.row("column_sum", n, c, dtype, size * static_cast<double>(n * c), [&] {
      const ColumnSum<E> op{n, c, b.noise<E>(n * c), b.memory<float>(c), false};
      const FoldMemory memory{b.memory<float>(column_sum_partial_bytes(c) / 4), b.counters()};
      return [=](cudaStream_t s) { return column_sum(op, memory, s); };
    });
  }
  const std::int64_t chunk = std::min<std::int64_t>(n, sizeof(E) == 2 ? 32768 : 8192);
  b.row("cross_entropy_with_gradient", chunk, Vp, dtype, 2 * size * static_cast<double>(chunk * Vp),
        [&] {
          const CrossEntropy<E> op{
              chunk, Vp, V, b.noise<E>(chunk * Vp), b.integers(chunk, V), b.memory<float>(chunk)};
          double* const sums = b.memory<double>(2);
          return [=, &b](cudaStream_t s) {
            return cross_entropy_with_gradient(op, {}, 1e-3, {sums, sums + 1, false}, b.counters(),
                                               s);
          };
        });
  for (const bool predicts : {false, true})
    b.row(predicts ? "cross_entropy + argmax" : "cross_entropy", chunk, Vp, dtype,
          size * static_cast<double>(chunk * Vp), [&] {
            const CrossEntropy<E> op{
                chunk, Vp, V, b.noise<E>(chunk * Vp), b.integers(chunk, V), b.memory<float>(chunk)};
            double* const sums = b.memory<double>(3);
            auto* const predictions = b.memory<std::int32_t>(chunk);
            return [=, &b](cudaStream_t s) {
              return cross_entropy(
                  op, {sums, sums + 1, false},
                  predicts ? PredictionCounts{predictions, sums + 2, nullptr} : PredictionCounts{},
                  b.counters(), s);
            };
          });
  b.row("embedding", n, C, dtype, 2 * size * static_cast<double>(n * C), [&] {
    const Embedding<E> op{n,
                          C,
                          T,
                          b.integers(n, V),
                          nullptr,
                          b.noise<E>(Vp * C),
                          b.noise<E>(T * C),
                          nullptr,
                          b.memory<E>(n * C)};
    return [=](cudaStream_t s) { return embedding(op, {}, s); };
  });
  // Random tokens name 50257 (1 - exp(-n / 50257)) rows of the table, each read and written in
  // fp32.
  const double named = V * (1 - std::exp(-static_cast<double>(n) / V));
  b.row("embedding_backward", n, C, dtype, size * static_cast<double>(n * C) + 8 * named * C, [&] {
    const EmbeddingBackward<E> op{
        n, C, Vp, b.noise<E>(n * C), b.integers(n, V), b.noise<float>(Vp * C), true};
    void* const scratch = b.memory<char>(embedding_backward_scratch_bytes(n, C));
    return [=](cudaStream_t s) { return embedding_backward(op, scratch, s); };
  });
  b.row("embedding_backward, one token in ten the same", n, C, dtype,
        size * static_cast<double>(n * C) + 8 * 0.9 * named * C, [&] {
          std::int32_t* const tokens = b.integers(n, V);
          require_success(cudaMemset(tokens, 0, static_cast<std::size_t>(n / 10) * 4), "memset");
          const EmbeddingBackward<E> op{
              n, C, Vp, b.noise<E>(n * C), tokens, b.noise<float>(Vp * C), true};
          void* const scratch = b.memory<char>(embedding_backward_scratch_bytes(n, C));
          return [=](cudaStream_t s) { return embedding_backward(op, scratch, s); };
        });
  b.row("position_backward", n, C, dtype, size * static_cast<double>(n * C) + 8.0 * T * C, [&] {
    const PositionBackward<E> op{n, C, T, T, b.noise<E>(n * C), b.memory<float>(T * C), true};
    return [=](cudaStream_t s) { return position_backward(op, s); };
  });
}

/// Casts of bf16 to fp8 by delayed scales: of inputs, of weights, and of output gradients with the
/// gradient of a bias.
void casts_to_fp8(Bench& b, std::int64_t n, std::int64_t c) {
  struct Cast {
    const char* name;
    Fp8Format format;
    Fp8Source source;
  };
  for (const Cast& cast :
       {Cast{"plain", Fp8Format::e4m3, Fp8Source::plain},
        {"gelu", Fp8Format::e4m3, Fp8Source::gelu_tanh},
        {"gradient + bias", Fp8Format::e5m2, Fp8Source::plain},
        {"gelu gradient + bias", Fp8Format::e5m2, Fp8Source::gelu_tanh_gradient}})
    for (const bool transposes : {true, false}) {
      const bool has_pre = cast.source == Fp8Source::gelu_tanh_gradient;
      const double bytes = (has_pre ? 4 : 2) + (transposes ? 2 : 1);
      b.row(std::string("fp8 ") + cast.name + (transposes ? ", transposed too" : ""), n, c, "bf16",
            bytes * static_cast<double>(n * c), [&] {
              Quantization<Bf16> op;
              op.rows = n, op.columns = c, op.format = cast.format, op.source = cast.source;
              op.x = b.noise<Bf16>(n * c);
              op.scale = b.memory<float>(4);
              op.values = b.memory<std::uint8_t>(n * c);
              if (transposes) op.transposed = b.memory<std::uint8_t>(n * c);
              if (has_pre) op.pre = b.noise<Bf16>(n * c);
              if (cast.format == Fp8Format::e5m2) op.column_sums = b.memory<float>(c);
              auto* const state = b.memory<double>(fp8_counts + fp8_exponents + 1);
              require_success(
                  cudaMemset(state, 0, (fp8_counts + fp8_exponents + 1) * sizeof(double)),
                  "memset");
              op.counts = state, op.exponents = state + fp8_counts;
              const double range = 8;
              double* const known = state + fp8_counts + fp8_exponents;
              require_success(cudaMemcpy(known, &range, sizeof range, cudaMemcpyHostToDevice),
                              "copy");
              op.known = known;
              const FoldMemory memory{b.memory<float>(quantize_partial_bytes(c) / 4), b.counters()};
              return [=](cudaStream_t s) { return quantize(op, memory, s); };
            });
    }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string only, out;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
        only = argv[++i];
      else
        out = argv[i];
    }
    cudaDeviceProp gpu{};
    require_success(cudaGetDeviceProperties(&gpu, 0), "GPU");
    Bench b(only);
    // The peak against which all are held: bytes read and written by the driver's copy, and by the
    // simplest of our kernels.
    const std::int64_t large = std::int64_t{1} << 30;
    b.row("copy", 1, large, "u8", 2.0 * static_cast<double>(large), [&] {
      char *const from = reinterpret_cast<char*>(b.noise<float>(large / 4)), *const to =
                                                                                 b.memory<char>(
                                                                                     large);
      return [=](cudaStream_t s) {
        return cudaMemcpyAsync(to, from, static_cast<std::size_t>(large), cudaMemcpyDeviceToDevice,
                               s);
      };
    });
    b.row("cast bf16 to fp32", 65536, C, "bf16", 6.0 * 65536 * C, [&] {
      Bf16* const in = b.noise<Bf16>(65536 * C);
      float* const to = b.memory<float>(65536 * C);
      return [=](cudaStream_t s) { return cast(to, in, 65536 * C, s); };
    });
    b.row("cast fp32 to bf16", 65536, C, "bf16", 6.0 * 65536 * C, [&] {
      float* const in = b.noise<float>(65536 * C);
      Bf16* const to = b.memory<Bf16>(65536 * C);
      return [=](cudaStream_t s) { return cast(to, in, 65536 * C, s); };
    });
    for (const std::int64_t n : {std::int64_t{65536}, std::int64_t{4096}})
      shapes<Bf16>(b, n, "bf16");
    shapes<float>(b, 8192, "fp32");
    for (const std::int64_t c : {1024, 1280, 1600, 4096}) norms<Bf16>(b, 16384, c, "bf16");
    for (const std::int64_t c : {C, F}) casts_to_fp8(b, 65536, c);
    for (const std::int64_t c : {1600, 6400}) casts_to_fp8(b, 8192, c);
    casts_to_fp8(b, 6400, 1600);  // weights
    if (!out.empty()) std::ofstream(out) << b.json(gpu.name);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_kernels: %s\n", e.what());
    return 1;
  }
}
