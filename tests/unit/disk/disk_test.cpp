#include "disk/disk.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

namespace disk_test {

using namespace trainx;
using namespace trainx::disk;

namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Blocks = std::unique_ptr<std::byte, Free>;

Blocks blocks(std::int64_t bytes) {
  return Blocks(
      static_cast<std::byte*>(std::aligned_alloc(block_bytes, static_cast<std::size_t>(bytes))));
}

void fill(std::byte* at, std::int64_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  for (std::int64_t k = 0; k < bytes; ++k) at[k] = static_cast<std::byte>(random());
}

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

/// Fails from the n-th transfer on.
class FailingIo final : public BlockIo {
 public:
  FailingIo(int error, int from) : error_(error), from_(from) {}
  int move(const Transfer&) override { return moved_++ >= from_ ? error_ : 0; }
  std::string name() const override { return "nobody"; }

 private:
  int error_, from_, moved_ = 0;
};

}  // namespace

TEST_CASE(
    "what is written is read back, whoever moves it and whatever its size; nothing has a name") {
  const TemporaryFolder folder;
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  for (const bool by_threads : {false, true}) {
    constexpr std::int64_t all = std::int64_t{96} << 20;
    Disk disk(folder.path(), all, by_threads ? make_thread_io() : nullptr);
    CAPTURE(disk.describe());
    CHECK(entries_in(folder.path()) == 0);
    std::mt19937 random(seed);
    const Blocks zeros = blocks(block_bytes);
    fill(zeros.get(), block_bytes, 1);
    disk.read(all - block_bytes, zeros.get(), block_bytes);
    CHECK(std::all_of(zeros.get(), zeros.get() + block_bytes,
                      [](std::byte b) { return b == std::byte{0}; }));
    for (const std::int64_t size :
         {std::int64_t{1}, block_bytes - 1, block_bytes, block_bytes + 1,
          (std::int64_t{1} << 20) + 5, (std::int64_t{4} << 20) + block_bytes,
          std::int64_t{45} << 20}) {
      const std::int64_t whole = (size + block_bytes - 1) / block_bytes * block_bytes;
      const std::int64_t offset =
          static_cast<std::int64_t>(random() % static_cast<unsigned>((all - whole) / block_bytes)) *
          block_bytes;
      const Blocks out = blocks(whole), in = blocks(whole);
      fill(out.get(), whole, seed + 1);
      disk.write(offset, out.get(), size);
      disk.read(offset, in.get(), size);
      CAPTURE(size, offset);
      CHECK(std::memcmp(out.get(), in.get(), static_cast<std::size_t>(size)) == 0);
    }
  }
}

TEST_CASE("a device that is full is an error of the first transfer, and the next one is made") {
  const int full = ::open("/dev/full", O_RDWR | O_CLOEXEC),
            zero = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  REQUIRE(full >= 0);
  const Descriptor closes_full(full), closes_zero(zero);
  const Blocks memory = blocks(std::int64_t{64} << 20);
  std::unique_ptr<BlockIo> all[] = {make_uring_io(zero), make_thread_io()};
  for (auto& io : all) {
    if (!io) continue;  // a container without io_uring
    CAPTURE(io->name());
    for (int round = 0; round < 3; ++round) {
      CHECK(io->move({Transfer::write, full, 0, memory.get(), std::int64_t{64} << 20}) == ENOSPC);
      CHECK(io->move({Transfer::read, zero, 0, memory.get(), std::int64_t{64} << 20}) == 0);
    }
  }
}

TEST_CASE("a file that ends early is an error") {
  const TemporaryFolder folder;
  const ScratchFile file(folder.path(), 2 * block_bytes);
  const Blocks memory = blocks(4 * block_bytes);
  std::unique_ptr<BlockIo> all[] = {make_uring_io(file.descriptor()), make_thread_io()};
  for (auto& io : all)
    if (io)
      CHECK(io->move({Transfer::read, file.descriptor(), 0, memory.get(), 4 * block_bytes}) == EIO);
}

TEST_CASE("a disk that fails in training says so, and that the checkpoint stays") {
  const TemporaryFolder folder;
  const Blocks memory = blocks(block_bytes);
  Disk disk(folder.path(), block_bytes, std::make_unique<FailingIo>(EIO, 1));
  disk.write(0, memory.get(), block_bytes);
  check_error("offload.disk/reading_fails", 74,
              user_error_of([&] { disk.read(0, memory.get(), block_bytes); }));
}

TEST_CASE(
    "a folder that is not there, and space that is not, are told before anything is written") {
  const TemporaryFolder folder;
  check_error("offload.disk/no_folder", 73,
              user_error_of([&] { Disk(folder.path() + "/nowhere", block_bytes); }));
  check_error("offload.disk/no_room", 71,
              user_error_of([&] { Disk(folder.path(), std::int64_t{1} << 50); }), Numbers::any);
  CHECK(entries_in(folder.path()) == 0);
}

TEST_CASE("memory that direct transfers do not reach is written through the page cache") {
  const TemporaryFolder folder;
  const Blocks memory = blocks(block_bytes);
  Disk fine(folder.path(), block_bytes),
      not_reached(folder.path(), block_bytes, std::make_unique<FailingIo>(EFAULT, 0));
  const bool is_direct = fine.is_direct();
  fine.try_memory(memory.get());
  CHECK(fine.is_direct() == is_direct);
  not_reached.try_memory(memory.get());
  CHECK(!not_reached.is_direct());
  if (is_direct) check_sentence("offload.disk/no_direct_io", not_reached.describe(), Numbers::any);
}

TEST_CASE("transfers that are not of whole blocks are nobody's to make") {
  const TemporaryFolder folder;
  Disk disk(folder.path(), 2 * block_bytes);
  const Blocks memory = blocks(2 * block_bytes);
  CHECK_THROWS_AS(disk.read(512, memory.get(), block_bytes), InternalError);
  CHECK_THROWS_AS(disk.read(0, memory.get() + 256, block_bytes), InternalError);
  CHECK_THROWS_AS(disk.write(block_bytes, memory.get(), block_bytes + 1), InternalError);
}

}  // namespace disk_test
