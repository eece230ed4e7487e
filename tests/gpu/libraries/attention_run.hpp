// Attention of packed queries, keys and values on a GPU and by the reference.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>
#include "gpu/attention.hpp"
#include "gpu/attention_case.hpp"
#include "kernels/attention/attention.hpp"

namespace trainx::gpu::test {

using kernels::Bf16, kernels::Fp16, kernels::OnDevice, kernels::narrowed, kernels::relative_error,
    kernels::widened;

struct Inputs {
  std::vector<float> qkv, d_out;
  std::vector<std::int32_t> lengths;  // of samples; all T where nothing is padded
};
struct Results {
  std::vector<float> out, lse, d_qkv;
};

inline std::int64_t out_elements(const AttentionProblem& p) {
  return p.batch * p.tokens * p.heads * p.head_size;
}
inline Inputs inputs_of(const AttentionProblem& p) {
  return {kernels::random_values(3 * out_elements(p), 1),
          kernels::random_values(out_elements(p), 2),
          kernels::sample_lengths(p.batch, p.tokens, p.padded)};
}
inline kernels::Padding padding_of(const AttentionProblem& p, const Inputs& in) {
  return {in.lengths, p.tokens, p.heads * p.head_size};
}
/// Padding of all operands, which reaches nothing.
inline void fill_padding(const AttentionProblem& p, Inputs& in, float value) {
  kernels::Padding padding = padding_of(p, in);
  padding.fill(in.d_out, value);
  padding.width *= 3;
  padding.fill(in.qkv, value);
}

inline Results reference(const AttentionProblem& p, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()),
            std::vector<float>(static_cast<std::size_t>(p.batch * p.heads * p.tokens)),
            std::vector<float>(in.qkv.size())};
  kernels::attention_reference(in.qkv.data(), p.padded ? in.lengths.data() : nullptr,
                               in.d_out.data(), r.out.data(), r.lse.data(), r.d_qkv.data(),
                               {p.batch, p.tokens, p.heads, p.head_size, p.causal});
  return r;
}

class Workspace {
 public:
  explicit Workspace(std::int64_t bytes) : bytes_(bytes) {
    kernels::require_success(
        cudaMalloc(&memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 256))),
        "cudaMalloc");
  }
  ~Workspace() { cudaFree(memory_); }
  Workspace(const Workspace&) = delete;
  StreamSpace space() const { return {nullptr, memory_, bytes_}; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_;
};

/// Outputs hold garbage before.
template <class T>
Results computed(Attention& attention, const AttentionProblem& p, const Inputs& in,
                 int backward_repeats = 1) {
  const Workspace workspace(
      std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
  const OnDevice<T> qkv(narrowed<T>(in.qkv)), d_out(narrowed<T>(in.d_out)),
      out(narrowed<T>(std::vector<float>(in.d_out.size(), 77))), d_qkv(narrowed<T>(in.qkv));
  const OnDevice<float> lse(
      std::vector<float>(static_cast<std::size_t>(p.batch * p.heads * p.tokens), std::nanf("")));
  const OnDevice<std::int32_t> lengths(in.lengths);
  const std::int32_t* const given = p.padded ? lengths.data() : nullptr;
  attention.forward(p, {qkv.data(), given}, out.data(), lse.data(), workspace.space());
  std::vector<T> first;
  for (int i = 0; i < backward_repeats; ++i) {
    kernels::require_success(cudaMemset(d_qkv.data(), 0x55, in.qkv.size() * sizeof(T)), "memset");
    attention.backward(p, {qkv.data(), given}, out.data(), lse.data(), d_out.data(), {d_qkv.data()},
                       workspace.space());
    const auto got = d_qkv.host();
    if (i == 0)
      first = got;
    else if (!kernels::same_bits(first, got))
      FAIL(describe(p) << ": repeat " << i << " of the backward has other bits");
  }
  return {widened(out.host()), lse.host(), widened(first)};
}

inline void check(const AttentionProblem& p, const Inputs& in, const Results& got,
                  const Results& want, double tolerance) {
  INFO(describe(p) << " by " << name_of(path_of(p)));
  const std::int64_t row = p.heads * p.head_size;
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.lse, want.lse, [&](std::int64_t i) {
          return i % p.tokens < in.lengths[static_cast<std::size_t>(i / p.tokens / p.heads)];
        }) <= tolerance);
  for (std::int64_t part = 0; part < 3; ++part) {
    INFO("gradient of "
         << "qkv"[part]);
    const auto of_part = [&](std::int64_t i) { return i / row % 3 == part; };
    // One token attends to itself alone: no gradient reaches q and k, and rounding is all there is.
    if (p.tokens == 1 && part < 2) continue;
    CHECK(relative_error(got.d_qkv, want.d_qkv, of_part) <= 1.5 * tolerance);
  }
  kernels::check_zeros(padding_of(p, in), got.out, got.d_qkv);
}

}  // namespace trainx::gpu::test
