#include "gpu/gemm_problem.hpp"

namespace trainx::gpu {

namespace {

std::string epilogue_words(GemmEpilogue e) {
  switch (e) {
    case GemmEpilogue::none: return "";
    case GemmEpilogue::bias: return " + bias";
    case GemmEpilogue::bias_gelu_tanh: return " + bias, gelu";
    case GemmEpilogue::gelu_tanh_grad: return " * gelu'";
    case GemmEpilogue::bias_gelu_erf: return " + bias, gelu erf";
    case GemmEpilogue::gelu_erf_grad: return " * gelu' erf";
  }
  return "";
}

std::string operand_words(const GemmProblem& p) {
  if (p.tf32) return "tf32";
  if (p.operands != DType::u8) return std::string(name_of(p.operands));
  const auto name = [](kernels::Fp8Format f) {
    return f == kernels::Fp8Format::e4m3 ? "e4m3" : "e5m2";
  };
  const auto scales = [](kernels::Fp8Granularity g) {
    switch (g) {
      case kernels::Fp8Granularity::tensor: break;
      case kernels::Fp8Granularity::vector: return " by 1x128";
      case kernels::Fp8Granularity::block: return " by 128x128";
    }
    return "";
  };
  return std::string(name(p.a_format)) + scales(p.a_scales) + " " + name(p.b_format) +
         scales(p.b_scales) + (p.fast_sums ? " fast" : "");
}

}  // namespace

GemmProblem linear_problem(std::int64_t rows, std::int64_t out, std::int64_t in, DType operands,
                           GemmEpilogue epilogue) {
  return {.m = rows,
          .n = out,
          .k = in,
          .b_transposed = true,
          .lda = in,
          .ldb = in,
          .ldd = out,
          .operands = operands,
          .result = operands,
          .epilogue = epilogue};
}

GemmProblem linear_input_gradient_problem(std::int64_t rows, std::int64_t out, std::int64_t in,
                                          DType operands) {
  return {.m = rows,
          .n = in,
          .k = out,
          .lda = out,
          .ldb = in,
          .ldd = in,
          .operands = operands,
          .result = operands};
}

GemmProblem linear_weight_gradient_problem(std::int64_t rows, std::int64_t out, std::int64_t in,
                                           DType operands) {
  return {.m = out,
          .n = in,
          .k = rows,
          .a_transposed = true,
          .lda = out,
          .ldb = in,
          .ldd = in,
          .operands = operands,
          .result = DType::f32};
}

GemmProblem fp8_problem(std::int64_t m, std::int64_t n, std::int64_t k, DType result) {
  return {.m = m,
          .n = n,
          .k = k,
          .b_transposed = true,
          .lda = k,
          .ldb = k,
          .ldd = n,
          .operands = DType::u8,
          .result = result};
}

std::string describe(const GemmProblem& p) {
  std::string words = "m " + std::to_string(p.m) + " n " + std::to_string(p.n) + " k " +
                      std::to_string(p.k);
  if (p.a_transposed) words += " A^T";
  if (p.b_transposed) words += " B^T";
  words += " " + operand_words(p);
  if (p.result != p.operands) words += " to " + std::string(name_of(p.result));
  if (p.added_k > 0) words += " + k " + std::to_string(p.added_k);
  return words + epilogue_words(p.epilogue) + (p.accumulate ? ", added" : "") +
         (p.own ? ", own" : "");
}

std::string key_of(const GemmProblem& p) {
  return describe(p) + ", rows " + std::to_string(p.lda) + " " + std::to_string(p.ldb) + " " +
         std::to_string(p.ldd);
}

}  // namespace trainx::gpu
