#include "core/mapped_region.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>

namespace mapped_region_test {

using namespace trainx;

namespace {

struct File {
  std::string path = std::filesystem::temp_directory_path() /
                     ("trainx-mapped-" + std::to_string(::getpid()));
  explicit File(std::size_t bytes) { std::ofstream(path) << std::string(bytes, 'x'); }
  ~File() { std::filesystem::remove(path); }
};

std::ptrdiff_t count_x(const MappedRegion& region) {
  return std::ranges::count(region.bytes(), std::byte{'x'});
}

}  // namespace

TEST_CASE("a file that is cut while it is mapped is told of, by its name, and ends nothing") {
  const File file(100'000);
  {
    const MappedRegion region(open_regular_file(file.path), file.path);
    CHECK(count_x(region) == 100'000);
    require_whole_files();
    std::filesystem::resize_file(file.path, 5000);
    CHECK(count_x(region) == 5000);  // the rest is gone
    try {
      require_whole_files();
      FAIL("not noticed");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::bad_data);
      CHECK(std::string(e.what()).find(file.path) != std::string::npos);
    }
  }
  require_whole_files();  // nobody uses it any more
}

TEST_CASE("a mapping moves with its bytes") {
  const File file(10'000);
  MappedRegion first(open_regular_file(file.path), file.path), second;
  second = std::move(first);
  CHECK(first.bytes().empty());
  CHECK(count_x(second) == 10'000);
  std::filesystem::resize_file(file.path, 1);
  CHECK(count_x(second) == 1);
  CHECK_THROWS_AS(require_whole_files(), UserError);
}

TEST_CASE("an empty file has no bytes") {
  const File file(0);
  CHECK(MappedRegion(open_regular_file(file.path), file.path).bytes().empty());
}

}  // namespace mapped_region_test
