#include "core/hash.hpp"
#include "core/files.hpp"
#include <xxhash.h>
#include <cstdio>
#include <new>
#include <vector>

namespace trainx {
namespace {

std::string hex_of(XXH128_hash_t h) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  return text;
}

}  // namespace

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (!xxh) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  State(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}
std::string Hasher::hex() const { return hex_of(XXH3_128bits_digest(state_->xxh)); }

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
std::string hash_hex(std::span<const std::byte> bytes) {
  return hex_of(XXH3_128bits(bytes.data(), bytes.size()));
}
std::string hash_hex(std::string_view bytes) { return hash_hex(std::as_bytes(std::span(bytes))); }

std::string hash_file_hex(const std::string& path) {
  Hasher hasher;
  for_each_piece(path, [&](std::span<const std::byte> piece) { hasher.update(piece); });
  return hasher.hex();
}

}  // namespace trainx
