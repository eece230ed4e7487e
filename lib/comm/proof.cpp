#include "comm/proof.hpp"
#include "core/error.hpp"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

namespace trainx::comm {

std::string make_nonce() {
  std::string nonce(nonce_bytes, '\0');
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    throw InternalError("make_nonce: no random bytes");
  return nonce;
}

std::string proof_of(std::string_view secret, std::string_view text) {
  // The machine's openssl.cnf may name modules that are not here.
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  std::string proof(proof_bytes, '\0');
  unsigned int size = 0;
  if (!::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
              reinterpret_cast<const unsigned char*>(text.data()), text.size(),
              reinterpret_cast<unsigned char*>(proof.data()), &size) ||
      size != proof_bytes)
    throw InternalError("proof_of: libcrypto computes no HMAC-SHA256");
  return proof;
}

bool is_proof(std::string_view proof, std::string_view secret, std::string_view text) {
  return !secret.empty() && proof.size() == proof_bytes &&
         ::CRYPTO_memcmp(proof.data(), proof_of(secret, text).data(), proof_bytes) == 0;
}

}  // namespace trainx::comm
