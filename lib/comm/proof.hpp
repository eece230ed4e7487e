// HMAC-SHA256 over what two sides agree on (OpenSSL's libcrypto): shows that one knows the run's
// secret without sending it.
#pragma once
#include <string>
#include <string_view>

namespace trainx::comm {

constexpr std::size_t nonce_bytes = 16, proof_bytes = 32;

/// Random bytes, new for each greeting.
std::string make_nonce();
/// The MAC of `text`, with the secret as key.
std::string proof_of(std::string_view secret, std::string_view text);
/// Compares in a time that does not depend on where they differ. False for an empty secret.
bool is_proof(std::string_view proof, std::string_view secret, std::string_view text);

}  // namespace trainx::comm
