// What a matrix product is, without its addresses: D[m, n] = epilogue(A[m, k] B[k, n]), or += the
// same. Matrices are row-major.
#pragma once
#include <cstdint>
#include <string>
#include "core/dtype.hpp"
#include "kernels/quantize/fp8_bits.hpp"

namespace trainx::gpu {

/// Done on the sums (fp32) before they are rounded to D's type.
enum class GemmEpilogue : std::uint8_t {
  none,
  bias,  // + bias[n]
  // aux[m, n] = AB + bias, D = gelu(aux), the tanh form. cuBLASLt has no erf form.
  bias_gelu_tanh,
  // D = AB * gelu'(aux[m, n]): dx = (dy w) gelu'(x), x what bias_gelu_tanh left in aux
  gelu_tanh_grad,
  // the same with the erf form: of own kernels alone
  bias_gelu_erf,
  gelu_erf_grad,
};
constexpr bool is_gelu(GemmEpilogue e) {
  return e == GemmEpilogue::bias_gelu_tanh || e == GemmEpilogue::bias_gelu_erf;
}
constexpr bool is_gelu_grad(GemmEpilogue e) {
  return e == GemmEpilogue::gelu_tanh_grad || e == GemmEpilogue::gelu_erf_grad;
}

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;  // A lies in memory as [k, m]
  bool b_transposed = false;  // B lies in memory as [n, k]
  // elements from one row in memory to the next; aux has D's
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  // of A and B: bf16, f16 or f32; u8: the bits of fp8 numbers, in a_format and b_format
  DType operands = DType::bf16;
  DType result = DType::bf16;  // of D, C, bias and aux: the operands' type, or f32; of fp8 any
  // f32 operands are rounded to tf32 (10 mantissa bits) inside; sums stay fp32
  bool tf32 = false;
  kernels::Fp8Format a_format = kernels::Fp8Format::e4m3, b_format = kernels::Fp8Format::e4m3;
  // of fp8: what shares a scale. vector and block: of e4m3, on compute capability 9.0; one of the
  // operands has vectors, the other either; a scale multiplies the sum over 128 elements.
  kernels::Fp8Granularity a_scales = kernels::Fp8Granularity::tensor,
                          b_scales = kernels::Fp8Granularity::tensor;
  // of fp8 with scales of tensors: partial sums keep fewer bits than fp32 has (Hopper's tensor
  // cores)
  bool fast_sums = false;
  bool accumulate = false;  // D = AB + C; only with GemmEpilogue::none
  GemmEpilogue epilogue = GemmEpilogue::none;
  // own alone: of products that are added (GemmOperands::added), along their sums; 0: there is none
  std::int64_t added_k = 0;
  bool own = false;  // by trainx's kernel (own_gemm.hpp), not by cuBLASLt

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// y[rows, out] = x[rows, in] w[out, in]^T; `operands` is also y's type. Rows lie densely; other
/// distances are set in the problem afterwards.
GemmProblem linear_problem(std::int64_t rows, std::int64_t out, std::int64_t in, DType operands,
                           GemmEpilogue epilogue = GemmEpilogue::none);
/// dx[rows, in] = dy[rows, out] w[out, in].
GemmProblem linear_input_gradient_problem(std::int64_t rows, std::int64_t out, std::int64_t in,
                                          DType operands);
/// dw[out, in] (f32) = dy[rows, out]^T x[rows, in].
GemmProblem linear_weight_gradient_problem(std::int64_t rows, std::int64_t out, std::int64_t in,
                                           DType operands);

/// D[m, n] = A B of fp8, both of which lie along k, as every GPU with such products takes them:
/// A [m, k], B as [n, k]. m, n and k are multiples of 16. Not two operands in e5m2.
GemmProblem fp8_problem(std::int64_t m, std::int64_t n, std::int64_t k, DType result);

/// "m 768 n 3072 k 65536 A^T bf16 to f32 added": for error sentences and tables.
std::string describe(const GemmProblem& p);
/// The same with everything that chooses an algorithm, as the key of a cache.
std::string key_of(const GemmProblem& p);

}  // namespace trainx::gpu
