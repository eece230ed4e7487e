// cuBLASLt's functions, loaded when first used.
#pragma once
#include <cublasLt.h>
#include <memory>
#include <string>
#include "gpu/library.hpp"

namespace trainx::gpu {

class CublasLt {
 public:
  /// Throws GpuError 69 where the library is missing.
  static const CublasLt& instance();

  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtDestroy) destroy;
  decltype(&::cublasLtGetVersion) version;
  decltype(&::cublasLtGetStatusString) status_string;
  decltype(&::cublasLtMatmulDescCreate) operation_create;
  decltype(&::cublasLtMatmulDescDestroy) operation_destroy;
  decltype(&::cublasLtMatmulDescSetAttribute) operation_set;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&::cublasLtMatmulAlgoCheck) check;
  decltype(&::cublasLtMatmul) matmul;

  /// Throws GpuError 69 unless the status is success: "GEMM m 1 n 2 ...: cuBLASLt refused its
  /// layout (...)".
  void require(cublasStatus_t status, const std::string& doing) const;

 private:
  CublasLt();
  Library library_;
};

struct OperationDestroy {
  void operator()(cublasLtMatmulDesc_t x) const { CublasLt::instance().operation_destroy(x); }
};
struct LayoutDestroy {
  void operator()(cublasLtMatrixLayout_t x) const { CublasLt::instance().layout_destroy(x); }
};
struct PreferenceDestroy {
  void operator()(cublasLtMatmulPreference_t x) const {
    CublasLt::instance().preference_destroy(x);
  }
};
struct HandleDestroy {
  void operator()(cublasLtHandle_t x) const { CublasLt::instance().destroy(x); }
};
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, OperationDestroy>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, LayoutDestroy>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, PreferenceDestroy>;
using Handle = std::unique_ptr<cublasLtContext, HandleDestroy>;

}  // namespace trainx::gpu
