#include "gpu/own_gemm.hpp"
#include "core/error.hpp"
#include "core/hopper_kernels.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/linear/hopper/activated_linear.hpp"
#include "kernels/linear/hopper/summed_products.hpp"
#include "kernels/reduce/column_sum.hpp"

namespace trainx::gpu {

namespace {

kernels::ActivationKind kind_of(GemmEpilogue e) {
  return e == GemmEpilogue::bias_gelu_tanh || e == GemmEpilogue::gelu_tanh_grad
             ? kernels::ActivationKind::gelu_tanh
             : kernels::ActivationKind::gelu_erf;
}

static_assert(most_added_gemms == kernels::hopper::most_added_products);

template <class T>
cudaError_t launch_summed(const GemmProblem& p, const GemmOperands& x, cudaStream_t stream) {
  kernels::hopper::SummedProducts<T> op{p.m,
                                        p.n,
                                        p.k,
                                        static_cast<const T*>(x.a),
                                        static_cast<const T*>(x.b),
                                        p.b_transposed,
                                        static_cast<const T*>(x.bias),
                                        static_cast<T*>(x.d)};
  if (std::ssize(x.added) > most_added_gemms) return cudaErrorNotSupported;
  for (const AddedGemm& added : x.added)
    op.added[op.added_count++] = {static_cast<const T*>(added.a),
                                  added.lda,
                                  static_cast<const T*>(added.b),
                                  added.k,
                                  added.first,
                                  added.width};
  return kernels::hopper::summed_products<T>(op, stream);
}

template <class T>
cudaError_t launch(const GemmProblem& p, const GemmOperands& x, cudaStream_t stream) {
  if (p.added_k > 0) return launch_summed<T>(p, x, stream);
  const auto a = static_cast<const T*>(x.a), b = static_cast<const T*>(x.b),
             bias = static_cast<const T*>(x.bias);
  const auto d = static_cast<T*>(x.d), aux = static_cast<T*>(x.aux);
  if (is_gelu(p.epilogue))
    return kernels::hopper::activated_linear<T>({p.m, p.k, p.n, a, b, bias, aux, d},
                                                kind_of(p.epilogue), stream);
  return kernels::hopper::activated_linear_backward<T>({p.m, p.n, p.k, a, b, aux, d, x.column_sums},
                                                       kind_of(p.epilogue), stream);
}

/// Of its epilogue, which its layout goes with.
bool has_kernel(const GemmProblem& p) {
  if (p.added_k > 0)
    return p.added_k % 8 == 0 && (p.epilogue == GemmEpilogue::none ||
                                  (p.epilogue == GemmEpilogue::bias && p.b_transposed));
  return p.b_transposed ? is_gelu(p.epilogue) : is_gelu_grad(p.epilogue);
}

}  // namespace

bool has_own_gemm(const GemmProblem& p, int compute_capability, std::int64_t workspace_bytes) {
  if constexpr (has_hopper_kernels) {
    const bool is_backward = is_gelu_grad(p.epilogue);
    return compute_capability == 90 && size_of(p.operands) == 2 && p.result == p.operands &&
           !p.accumulate && !p.a_transposed && has_kernel(p) && p.lda == p.k &&
           p.ldb == (p.b_transposed ? p.k : p.n) && p.ldd == p.n &&
           kernels::hopper::is_activated_linear_supported(p.m, p.n, p.k) &&
           (!is_backward ||
            own_gemm_sums_at(p) + own_gemm_slabs(p) * p.n * size_of(DType::f32) <= workspace_bytes);
  }
  return false;
}

std::int64_t own_gemm_sums_at(const GemmProblem& p) {
  return (kernels::column_sum_partial_bytes(p.n) + 255) / 256 * 256;
}

std::int64_t own_gemm_slabs(const GemmProblem& p) {
  return kernels::hopper::activated_linear_slabs(p.m);
}

void run_own_gemm(const GemmProblem& p, const GemmOperands& x, cudaStream_t stream) {
  if constexpr (has_hopper_kernels) {
    const cudaError_t error = p.operands == DType::bf16 ? launch<kernels::Bf16>(p, x, stream)
                                                        : launch<kernels::Fp16>(p, x, stream);
    return require(error, "GEMM " + describe(p) + " failed");
  }
  throw InternalError("GEMM " + describe(p) + ": this build has no own kernels");
}

}  // namespace trainx::gpu
