// How two processes of a run show each other that they are of it without sending the run's token.
// Keeps strays and mixed-up runs out; no protection against a forger who reads along and computes.
#pragma once
#include <string>
#include <string_view>

namespace trainx::comm {

/// 16 random bytes.
std::string make_nonce();
/// What one who knows the token answers to a nonce. `as`: in which part, so that an answer cannot
/// be sent back as one's own.
std::string proof_of(std::string_view token, std::string_view as, std::string_view nonce);

}  // namespace trainx::comm
