#include "comm/proof.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "comm/bytes.hpp"
#include <sys/random.h>

namespace trainx::comm {

std::string make_nonce() {
  std::string nonce(16, '\0');
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    throw InternalError("make_nonce: no random bytes");
  return nonce;
}

std::string proof_of(std::string_view token, std::string_view as, std::string_view nonce) {
  return hash_hex(ByteWriter().put(token).put(as).put(nonce).put(token).take());
}

}  // namespace trainx::comm
