#include "ops/gpu_scope.hpp"

namespace trainx::ops {
namespace {

thread_local const Gpu* current = nullptr;

}  // namespace

const Gpu* current_gpu() { return current; }

GpuScope::GpuScope(const Gpu& gpu) : before_(current) { current = &gpu; }
GpuScope::~GpuScope() { current = before_; }

}  // namespace trainx::ops
