#include "operations/common/issued_gemms.hpp"

namespace trainx::operations {

namespace {
thread_local IssuedGemms* listener = nullptr;
}  // namespace

IssuedGemms::IssuedGemms() : before_(listener) { listener = this; }
IssuedGemms::~IssuedGemms() { listener = before_; }

void note_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (listener) listener->gemms.push_back({m, n, k});
}

}  // namespace trainx::operations
