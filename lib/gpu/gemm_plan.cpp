#include "gpu/gemm_plan.hpp"
#include <algorithm>
#include <bit>
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {

namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(AlgorithmBits));

cudaDataType_t data_type(DType t, kernels::Fp8Format format) {
  if (t == DType::u8) return format == kernels::Fp8Format::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
  if (t == DType::bf16) return CUDA_R_16BF;
  if (t == DType::f16) return CUDA_R_16F;
  if (t == DType::f32) return CUDA_R_32F;
  throw InternalError("GEMM of type " + std::string(name_of(t)));
}

std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? 256 : std::uint32_t{1} << std::min(std::countr_zero(bits), 8);
}

cublasLtMatmulMatrixScale_t scale_mode_of(kernels::Fp8Granularity g) {
  switch (g) {
    case kernels::Fp8Granularity::tensor: return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case kernels::Fp8Granularity::vector: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case kernels::Fp8Granularity::block: return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  }
  throw InternalError("unknown scales of fp8");
}

cublasLtEpilogue_t epilogue_of(GemmEpilogue e) {
  switch (e) {
    case GemmEpilogue::none: return CUBLASLT_EPILOGUE_DEFAULT;
    case GemmEpilogue::bias: return CUBLASLT_EPILOGUE_BIAS;
    case GemmEpilogue::bias_gelu_tanh: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case GemmEpilogue::gelu_tanh_grad: return CUBLASLT_EPILOGUE_DGELU;
    case GemmEpilogue::bias_gelu_erf:
    case GemmEpilogue::gelu_erf_grad: break;
  }
  throw InternalError("cuBLASLt has no such epilogue");
}

Layout layout(cudaDataType_t type, std::int64_t stored_rows, std::int64_t stored_columns,
              std::int64_t row_distance, const std::string& doing) {
  cublasLtMatrixLayout_t made = nullptr;
  const CublasLt& lt = CublasLt::instance();
  lt.require(lt.layout_create(&made, type, static_cast<std::uint64_t>(stored_columns),
                              static_cast<std::uint64_t>(stored_rows), row_distance),
             doing);
  return Layout(made);
}

void check(const GemmProblem& p) {
  const bool sizes = p.m > 0 && p.n > 0 && p.k > 0 && p.lda >= (p.a_transposed ? p.m : p.k) &&
                     p.ldb >= (p.b_transposed ? p.k : p.n) && p.ldd >= p.n;
  const bool fp8 = p.operands == DType::u8;
  const bool types = (p.operands == DType::f32 || size_of(p.operands) == 2 || fp8) &&
                     (p.result == p.operands || p.result == DType::f32 || fp8) &&
                     (!p.tf32 || p.operands == DType::f32);
  const auto fits = [](std::int64_t size) { return size % 16 == 0; };
  const bool fp8_fits =
      !fp8 || (!p.a_transposed && p.b_transposed && p.result != DType::u8 &&
               (p.epilogue == GemmEpilogue::none ||
                (p.epilogue == GemmEpilogue::bias && p.result != DType::f32)) &&
               (p.a_format == kernels::Fp8Format::e4m3 || p.b_format == kernels::Fp8Format::e4m3) &&
               fits(p.m) && fits(p.n) && fits(p.k) && fits(p.lda) && fits(p.ldb) && fits(p.ldd));
  using kernels::Fp8Format, kernels::Fp8Granularity;
  const bool tensors = p.a_scales == Fp8Granularity::tensor && p.b_scales == Fp8Granularity::tensor;
  const auto vectors_at_least = [](Fp8Granularity one, Fp8Granularity other) {
    return one == Fp8Granularity::vector && other != Fp8Granularity::tensor;
  };
  const bool scales_fit =
      tensors ||
      (fp8 && !p.fast_sums && p.a_format == Fp8Format::e4m3 && p.b_format == Fp8Format::e4m3 &&
       (vectors_at_least(p.a_scales, p.b_scales) || vectors_at_least(p.b_scales, p.a_scales)));
  if (p.own || !sizes || !types || !fp8_fits || !scales_fit || (p.fast_sums && !fp8) ||
      (p.accumulate && p.epilogue != GemmEpilogue::none))
    throw InternalError("GEMM " + key_of(p) + " is none");
}

}  // namespace

Alignments alignments_of(const GemmProblem& p, const GemmOperands& x) {
  Alignments out;
  out.a = alignment_of(x.a);
  out.b = alignment_of(x.b);
  out.d = std::min({alignment_of(x.d), alignment_of(x.bias), alignment_of(x.aux)});
  out.c = p.accumulate && x.c ? alignment_of(x.c) : alignment_of(x.d);
  return out;
}

template <class T>
void GemmPlan::set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
  const CublasLt& lt = CublasLt::instance();
  lt.require(lt.operation_set(operation_.get(), attribute, &value, sizeof value),
             "GEMM " + describe(problem_) + " cannot be described");
}

GemmPlan::GemmPlan(const GemmProblem& p) : problem_(p) {
  check(p);
  const CublasLt& lt = CublasLt::instance();
  const std::string doing = "GEMM " + describe(p) + " cannot be described";
  cublasLtMatmulDesc_t operation = nullptr;
  lt.require(
      lt.operation_create(&operation, p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                          CUDA_R_32F),
      doing);
  operation_.reset(operation);
  const cudaDataType_t of_a = data_type(p.operands, p.a_format),
                       of_b = data_type(p.operands, p.b_format),
                       out = data_type(p.result, p.a_format);
  a_ = layout(of_a, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k, p.lda, doing);
  b_ = layout(of_b, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n, p.ldb, doing);
  d_ = layout(out, p.m, p.n, p.ldd, doing);
  // the library's first operand is our B
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue));
  if (p.operands == DType::u8)
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(p.fast_sums));
  if (p.a_scales != kernels::Fp8Granularity::tensor) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode_of(p.b_scales));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode_of(p.a_scales));
  }
  if (p.epilogue == GemmEpilogue::bias || p.epilogue == GemmEpilogue::bias_gelu_tanh)
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, out);
  if (p.epilogue == GemmEpilogue::bias_gelu_tanh || p.epilogue == GemmEpilogue::gelu_tanh_grad) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.ldd);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, out);
  }
}

std::vector<GemmChoice> GemmPlan::candidates(cublasLtHandle_t handle, const Alignments& alignments,
                                             std::int64_t workspace_bytes, int count) const {
  const CublasLt& lt = CublasLt::instance();
  const std::string doing = "GEMM " + describe(problem_) + " has no algorithm";
  cublasLtMatmulPreference_t made = nullptr;
  lt.require(lt.preference_create(&made), doing);
  const Preference preference(made);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    lt.require(lt.preference_set(preference.get(), attribute, &value, sizeof value), doing);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  // Parts of a sum over k meet in fp32, never rounded to 16 bits in between.
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (problem_.result == DType::f32) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.d);

  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(count));
  int returned = 0;
  lt.require(lt.heuristic(handle, operation_.get(), b_.get(), a_.get(), d_.get(), d_.get(),
                          preference.get(), count, found.data(), &returned),
             doing);
  std::vector<GemmChoice> choices;
  for (int i = 0; i < returned; ++i)
    if (found[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS) {
      const auto& result = found[static_cast<std::size_t>(i)];
      choices.push_back({std::bit_cast<AlgorithmBits>(result.algo),
                         static_cast<std::int64_t>(result.workspaceSize)});
    }
  if (choices.empty()) lt.require(CUBLAS_STATUS_NOT_SUPPORTED, doing);
  return choices;
}

bool GemmPlan::accepts(cublasLtHandle_t handle, const GemmChoice& choice,
                       std::int64_t workspace_bytes) const {
  const auto algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(choice.algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const CublasLt& lt = CublasLt::instance();
  const cublasStatus_t status = lt.check(handle, operation_.get(), b_.get(), a_.get(), d_.get(),
                                         d_.get(), &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.state == CUBLAS_STATUS_SUCCESS &&
         static_cast<std::int64_t>(result.workspaceSize) <= workspace_bytes;
}

void GemmPlan::point_at(const GemmOperands& x) {
  const bool bias = problem_.epilogue == GemmEpilogue::bias ||
                    problem_.epilogue == GemmEpilogue::bias_gelu_tanh;
  const bool aux = problem_.epilogue == GemmEpilogue::bias_gelu_tanh ||
                   problem_.epilogue == GemmEpilogue::gelu_tanh_grad;
  if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, x.bias);
  if (aux) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, x.aux);
  if (problem_.operands != DType::u8) return;
  // the library's first operand is our B
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.b_scale);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x.a_scale);
}

cublasStatus_t GemmPlan::launch(cublasLtHandle_t handle, const GemmOperands& x,
                                const GemmChoice& choice, const StreamSpace& space) const {
  const float alpha = x.scale, beta = problem_.accumulate ? 1 : 0;
  const auto algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(choice.algorithm);
  const void* c = problem_.accumulate && x.c ? x.c : x.d;
  return CublasLt::instance().matmul(handle, operation_.get(), &alpha, x.b, b_.get(), x.a, a_.get(),
                                     &beta, c, d_.get(), x.d, d_.get(), &algorithm, space.workspace,
                                     static_cast<std::size_t>(space.workspace_bytes), space.stream);
}

}  // namespace trainx::gpu
