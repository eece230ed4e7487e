#include "core/files.hpp"
#include "core/file_writer.hpp"
#include "core/hash.hpp"
#include "support/limited_file_size.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include "support/catch.hpp"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace files_test {

using namespace trainx;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a file reads back as it was written") {
  const TemporaryFolder folder;
  std::string text = GENERATE(std::string(), std::string("a\0b\n", 4), std::string(2'500'000, 'z'));
  write_file_atomic(folder / "f", "something older");
  write_file_atomic(folder / "f", text);
  CHECK((read_file(folder / "f") == text));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("reading what is not there, or is a folder, is 66 and says where") {
  const TemporaryFolder folder;
  check_error("core.files/no_cannot_read_no_such", 66,
              user_error_of([&] { read_file(folder / "no"); }));
  check_error("core.files/cannot_read_directory", 66,
              user_error_of([&] { read_file(folder.path()); }));
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "f", "old");
  {
    const LimitedFileSize limit(1 << 16);
    check_error("core.files/cannot_written_file_too_large", 74,
                user_error_of([&] { write_file_atomic(folder / "f", std::string(1 << 17, 'n')); }));
  }
  CHECK(read_file(folder / "f") == "old");
  {
    FileWriter given_up(folder / "f");
    given_up.write(std::as_bytes(std::span("half", 4)));
  }
  CHECK(read_file(folder / "f") == "old");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"f"});
  check_error("core.files/no_cannot_written_no_such", 74,
              user_error_of([&] { write_file_atomic(folder / "no/f", "x"); }));
}

TEST_CASE(
    "a large file, written behind, reads back as it was written, and one that fails leaves "
    "nothing") {
  constexpr std::int64_t large = FileWriter::large_bytes;
  const TemporaryFolder folder;
  const std::int64_t bytes = large + GENERATE(std::int64_t{0}, std::int64_t{4096}, std::int64_t{13},
                                              std::int64_t{10'000'019});
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::mt19937_64 generator(static_cast<std::uint64_t>(bytes));
  for (std::size_t i = 0; i + 8 <= text.size(); i += 8) {
    const std::uint64_t word = generator();
    std::memcpy(text.data() + i, &word, sizeof word);
  }
  const auto write_all = [&](FileWriter& file) {
    const auto all = std::as_bytes(std::span(text));
    for (std::size_t at = 0, n = 1; at < all.size();
         at += n, n = std::min(3 * n + 1, all.size() - at))
      file.write(all.subspan(at, n));
  };
  {
    FileWriter file(folder / "f", bytes);
    write_all(file);
    file.commit();
    CHECK(file.bytes() == bytes);
    CHECK(file.hash() == hash_hex(text));
  }
  CHECK((read_file(folder / "f") == text));
  const std::int64_t limit_bytes = large / 2 + GENERATE(0, 4096, 5);
  {
    const LimitedFileSize limit(limit_bytes);
    check_error("core.files/g_cannot_written_file_too", 74, user_error_of([&] {
                  // refused here where the file system reserves, else while it is written
                  FileWriter behind(folder / "g", bytes);
                  write_all(behind);
                  behind.commit();
                }));
  }
  CHECK((read_file(folder / "f") == text));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("what is written behind is told when it cannot be") {
  const TemporaryFolder folder;
  const int fd = ::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0666);
  REQUIRE(fd >= 0);
  const std::int64_t limit_bytes = (std::int64_t{20} << 20) + GENERATE(0, 5);
  {
    const LimitedFileSize limit(limit_bytes);
    WriteBehind behind(fd);
    const std::vector<std::byte> part(std::size_t{8} << 20);
    int error = 0;
    for (int k = 0; k < 8 && error == 0; ++k) error = behind.write(part);
    CHECK((error == 0 ? behind.finish() : error) == EFBIG);
    CHECK(behind.finish() == EFBIG);
  }
  ::close(fd);
  CHECK(std::filesystem::file_size(folder / "f") == static_cast<std::uintmax_t>(limit_bytes));
}

TEST_CASE("folders are made with those above; a file in the way is 73") {
  const TemporaryFolder folder;
  make_folders(folder / "a/b/c");
  make_folders(folder / "a/b/c");
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  write_file_atomic(folder / "f", "");
  check_error("core.files/folder_cannot_made_not_directory", 73,
              user_error_of([&] { make_folders(folder / "f"); }));
  check_error("core.files/folder_g_cannot_made_not", 73,
              user_error_of([&] { make_folders(folder / "f/g"); }));
  check_error("core.files/folder_g_cannot_made_not_2", 73,
              user_error_of([&] { FolderLock lock(folder / "f/g"); }));
}

TEST_CASE("free disk space is that of the nearest folder that is there") {
  const TemporaryFolder folder;
  const auto free = free_disk_bytes(folder / "not/yet/there");
  CHECK(free > 0);
  CHECK(std::abs(static_cast<double>(free - free_disk_bytes(folder.path()))) < 1e9);
  CHECK(free_disk_bytes("relative/not/there") > 0);
}

TEST_CASE("a folder is locked for one run at a time; the sentence names the holder") {
  const TemporaryFolder folder;
  const std::string run = folder / "runs/one";
  std::optional<FolderLock> lock(std::in_place, run);
  const std::string error = user_error_of([&] { FolderLock second(run); });
  CHECK(error.find(" " + std::to_string(::getpid()) + " ") != std::string::npos);
  check_error("core.files/in_use", 73, error);
  FolderLock another(folder / "runs/two");
  lock.reset();
  FolderLock again(run);
}

TEST_CASE("a lock knows whether its folder is still the one of that name") {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const FolderLock lock(run);
  CHECK(lock.holds(run));
  std::filesystem::rename(run, folder / "elsewhere");
  CHECK_FALSE(lock.holds(run));
  CHECK(lock.holds(folder / "elsewhere"));
  const FolderLock another(run);
  CHECK_FALSE(lock.holds(run));
  CHECK(another.holds(run));
}

TEST_CASE(
    "a killed holder's lock is free at once, and a program that the holder executes does not keep "
    "it") {
  const TemporaryFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder / "run");
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::execlp("sleep", "sleep", "20", nullptr);
      ::_exit(127);
    }
    if (::write(ready[1], &grandchild, sizeof grandchild) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t grandchild = 0;
  REQUIRE(::read(ready[0], &grandchild, sizeof grandchild) == sizeof grandchild);
  CHECK(user_error_of([&] {
          FolderLock mine(folder / "run");
        }).find(" " + std::to_string(child) + " ") != std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  std::string error = "not tried";
  // the grandchild may still be between fork and exec
  for (int i = 0; i < 200 && error != "nothing thrown"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    error = user_error_of([&] { FolderLock mine(folder / "run"); });
  }
  CHECK(error == "nothing thrown");
  CHECK(::kill(grandchild, 0) == 0);
  ::kill(grandchild, SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace files_test
