#include "gpu/cublaslt.hpp"
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {

CublasLt::CublasLt() : library_("libcublasLt.so.13", "matrix products") {
  const auto load = [&]<class Function>(Function*& function, const char* name) {
    function = library_.function<Function>(name);
  };
  load(create, "cublasLtCreate");
  load(destroy, "cublasLtDestroy");
  load(version, "cublasLtGetVersion");
  load(status_string, "cublasLtGetStatusString");
  load(operation_create, "cublasLtMatmulDescCreate");
  load(operation_destroy, "cublasLtMatmulDescDestroy");
  load(operation_set, "cublasLtMatmulDescSetAttribute");
  load(layout_create, "cublasLtMatrixLayoutCreate");
  load(layout_destroy, "cublasLtMatrixLayoutDestroy");
  load(preference_create, "cublasLtMatmulPreferenceCreate");
  load(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  load(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  load(heuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(check, "cublasLtMatmulAlgoCheck");
  load(matmul, "cublasLtMatmul");
}

const CublasLt& CublasLt::instance() {
  static const CublasLt lt;
  return lt;
}

void CublasLt::require(cublasStatus_t status, const std::string& doing) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const ExitCode code = status == CUBLAS_STATUS_ALLOC_FAILED ? ExitCode::out_of_memory
                                                             : ExitCode::unavailable;
  throw_library_error(code, doing + " (cuBLASLt: " + status_string(status) + ")");
}

}  // namespace trainx::gpu
