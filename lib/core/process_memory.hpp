#pragma once
#include <cstdint>

namespace trainx {

/// Bytes of this process in memory, as the kernel counts them (VmRSS); 0 where it does not say.
std::int64_t resident_bytes();

}  // namespace trainx
