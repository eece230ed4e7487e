#include "operations/common/gpu_scope.hpp"
#include "core/error.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {
namespace {

thread_local const Gpu* current = nullptr;

}  // namespace

const Gpu* current_gpu() { return current; }

const Gpu* gpu_of(const Tensor& t) {
  if (t.place == Place::host) return nullptr;
  if (!current) throw InternalError("an operation on a tensor of a GPU outside a GpuScope");
  return current;
}

GpuScope::GpuScope(const Gpu& gpu) : before_(current) { current = &gpu; }
GpuScope::~GpuScope() { current = before_; }

}  // namespace trainx::operations
