#include "metrics/event_file.hpp"
#include "support/catch.hpp"

namespace event_file_test {

using namespace trainx::metrics;

TEST_CASE("checksums are those of RFC 3720") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a record holds its length, the event, and a checksum of each") {
  const std::string record = event_record("abc");
  REQUIRE(record.size() == 8 + 4 + 3 + 4);
  CHECK(record.substr(0, 8) == std::string("\x03\0\0\0\0\0\0\0", 8));
  CHECK(record.substr(12, 3) == "abc");
}

}  // namespace event_file_test
