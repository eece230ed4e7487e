#include "core/hash.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <vector>

namespace hash_test {

using namespace trainx;

TEST_CASE("hashes are XXH3 as the published tool prints them") {
  // The published values for no input.
  CHECK(hash_hex(std::string_view("")) == "99aa06d3014798d86001c324468d497f");
  CHECK(hash64({}) == 0x2d06800538d394c2ull);
  CHECK(hash_hex(std::string_view("a")) != hash_hex(std::string_view("b")));
}

TEST_CASE("a hash over pieces and of a file equals that of the whole") {
  const TemporaryFolder folder;
  std::string text(3'000'001, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::string whole = hash_hex(text);
  Hasher pieces;
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t at = 0, n = 1; at < bytes.size(); at += n, n = n * 3 + 1) {
    n = std::min(n, bytes.size() - at);
    pieces.update(bytes.subspan(at, n));
  }
  CHECK(pieces.hex() == whole);
  write_file_atomic(folder / "text", text);
  CHECK(hash_file_hex(folder / "text") == whole);
  text[1'234'567] ^= 1;
  CHECK(hash_hex(text) != whole);
}

}  // namespace hash_test
