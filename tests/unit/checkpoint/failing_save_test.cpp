#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "support/limited_file_size.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include <cerrno>
#include <cstring>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <random>

namespace failing_save_test {

using namespace trainx;
using namespace trainx::checkpoint;
namespace fs = std::filesystem;

namespace {

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Older checkpoints as they were; nothing half-written.
void check_untouched(const Store& store, const std::string& run) {
  CHECK(entries_in(run) == 2);
  CHECK(fs::read_symlink(run + "/latest") == "checkpoint-1");
  CHECK(store.verify(run + "/checkpoint-1") == "");
}

}  // namespace

TEST_CASE("a disk that takes no more leaves the older checkpoint and no half of the new one") {
  const TemporaryFolder run;
  Store store(run.path());
  store.save(1, contents_of(1), 2, false);
  {
    const LimitedFileSize limit(100'000);
    const std::string error =
        user_error_of([&] { store.save(2, contents_of(2, 50'000), 2, false); });
    CHECK(error.find("74: ") == 0);
    CHECK(error.find("model.safetensors") != std::string::npos);
    CHECK(error.find(std::strerror(EFBIG)) != std::string::npos);
    check_untouched(store, run.path());
  }
  store.save(2, contents_of(2, 50'000), 2, false);
  CHECK(store.newest_valid(nullptr).step == 2);
}

TEST_CASE("a full file system does the same") {
  const TemporaryFolder disk;
  // Only root may mount; for others the case above stands in.
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=512k") != 0)
    TRAINX_SKIP("mounting a small file system needs root");
  {
    Store store(disk / "run");
    store.save(1, contents_of(1), 2, false);
    // Whatever the size, the second save fits or leaves no trace; sizes step by less than a page
    // around what is free.
    for (std::int64_t elements = 48'000; elements <= 66'000; elements += 500) {
      const std::string error =
          user_error_of([&] { store.save(2, contents_of(2, elements), 2, false); });
      INFO(elements << " elements: " << error);
      if (error == "nothing thrown") {
        CHECK(store.newest_valid(nullptr).step == 2);
        fs::remove_all(disk / "run/checkpoint-2");
        store.save(1, contents_of(1), 2, false);
      } else {
        CHECK(error.find("74: ") == 0);
        CHECK(error.find(std::strerror(ENOSPC)) != std::string::npos);
      }
      check_untouched(store, disk / "run");
    }
    CHECK(user_error_of([&] {
            store.save(2, contents_of(2, 100'000), 2, false);
          }).find(std::strerror(ENOSPC)) != std::string::npos);
    check_untouched(store, disk / "run");
  }
  CHECK(::umount(disk.path().c_str()) == 0);
}

TEST_CASE("an exception while a tensor is filled leaves no trace") {
  const TemporaryFolder run;
  Store store(run.path());
  store.save(1, contents_of(1), 2, false);
  Contents contents = contents_of(2);
  contents.tensor_files["model.safetensors"].push_back(
      {"x", DType::f32, {3}, [](std::span<std::byte>) { throw InternalError("no such tensor"); }});
  CHECK_THROWS_AS(store.save(2, contents, 2, false), InternalError);
  check_untouched(store, run.path());
}

TEST_CASE("a save killed at any moment leaves a sound newest checkpoint") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const TemporaryFolder run;
  Store store(run.path());
  store.save(0, contents_of(0), 2, true);
  const auto start = std::chrono::steady_clock::now();
  store.save(0, contents_of(0, 20'000), 2, true);
  const auto one_save = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  std::int64_t newest = 0;
  int moved = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      // Steps are saved twice, as a resumed run does; every third is the best so far.
      for (std::int64_t i = 0; i < 100'000; ++i)
        store.save(newest + (i + 1) / 2, contents_of(static_cast<unsigned>(i), 20'000), 2,
                   i % 3 == 0);
      ::_exit(0);
    }
    ::usleep(
        std::uniform_int_distribution<unsigned>(0, static_cast<unsigned>(8 * one_save))(random));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::vector<Skipped> skipped;
    const Found found = store.newest_valid(&skipped);
    REQUIRE(skipped.empty());
    REQUIRE(found.step >= newest);
    for (const Found& f : store.list()) REQUIRE(store.verify(f.path) == "");
    for (const char* link : {"latest", "best"}) REQUIRE(store.verify(run / link) == "");
    moved += found.step > newest;
    newest = found.step;
  }
  CHECK(moved > 0);
  store.save(newest + 1, contents_of(1), 1, true);
  CHECK(entries_in(run.path()) == 3);  // one checkpoint, latest, best: nothing of the killed ones
}

}  // namespace failing_save_test
