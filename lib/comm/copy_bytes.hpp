#pragma once
#include <cstddef>
#include <cstring>

namespace trainx::comm {

/// Of no bytes both pointers may be null, which memcpy must not be given. The ranges may overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace trainx::comm
