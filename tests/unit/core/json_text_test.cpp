#include "core/json_text.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include <sys/stat.h>

namespace json_text_test {

using namespace trainx;

namespace {

std::string nested(std::int64_t levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}
std::string told(const std::string& text) {
  return user_error_of([&] { check_json_text(text, "a.json"); });
}

}  // namespace

TEST_CASE("JSON nests so deep and no deeper, brackets in strings aside") {
  CHECK(told(nested(deepest_json)) == "nothing thrown");
  CHECK(told(nested(deepest_json + 1)).find("65: a.json") == 0);
  CHECK(told("\"" + nested(1000) + "\\\"" + nested(1000) + "\"") == "nothing thrown");
  CHECK(told("\"open" + nested(1000)) == "nothing thrown");  // the parser refuses it
  std::string flat;
  for (int i = 0; i < 1000; ++i) flat += "[],";
  CHECK(told("[" + flat + "1]") == "nothing thrown");
}

TEST_CASE("a NUL does not end JSON") {
  CHECK(told(std::string("{}\0 noise", 9)).find("byte 2") != std::string::npos);
}

TEST_CASE("files are regular and of a size") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "f", "[1, 2]");
  CHECK(read_json_text(folder / "f", 6) == "[1, 2]");
  CHECK(user_error_of([&] { read_json_text(folder / "f", 5); }).find("65: ") == 0);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(user_error_of([&] { read_json_text(folder / "pipe"); }).find("65: ") == 0);
  CHECK(user_error_of([&] { read_json_text("/dev/zero"); }).find("65: ") == 0);
  CHECK(user_error_of([&] { read_json_text(folder.path()); }).find("66: ") == 0);
  CHECK(user_error_of([&] { read_json_text(folder / "none"); }).find("66: ") == 0);
}

}  // namespace json_text_test
