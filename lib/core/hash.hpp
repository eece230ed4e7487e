// XXH3 (Collet, https://xxhash.com): tells damaged bytes from sound ones at memory speed. No
// protection against a forger.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trainx {

std::uint64_t hash64(std::span<const std::byte> bytes);
/// The 128-bit hash as 32 hexadecimal digits, as `xxhsum -H2` prints it.
std::string hash_hex(std::string_view bytes);
std::string hash_hex(std::span<const std::byte> bytes);
/// `hash_hex` of a file's contents. Throws UserError: 66 missing, 74 unreadable.
std::string hash_file_hex(const std::string& path);

/// The same 128-bit hash over pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(std::span<const std::byte> bytes);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainx
