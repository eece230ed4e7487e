#include "comm/sealed_pages.hpp"
#include "support/catch.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace sealed_pages_test {

using trainx::comm::PageRange, trainx::comm::SealedPages;

namespace {

constexpr std::size_t page = 4096;

/// Private pages of zeros.
class Area {
 public:
  explicit Area(std::size_t pages)
      : bytes_(pages * page),
        data_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Area() { ::munmap(data_, bytes_); }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  std::byte* data() const { return data_; }
  void fill(std::size_t first, std::size_t pages, int value) const {
    std::memset(data_ + first * page, value, pages * page);
  }
  /// Of a page all of whose bytes are one; else -1.
  int value(std::size_t of_page) const {
    const std::byte first = data_[of_page * page];
    for (std::size_t i = 0; i < page; ++i)
      if (data_[of_page * page + i] != first) return -1;
    return std::to_integer<int>(first);
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

/// Pages 1, 2 and 5 of seven.
std::vector<PageRange> ranges() { return {{page, 2 * page}, {5 * page, page}}; }

/// How a child ends that does this: its exit code, or minus its signal.
int end_of_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fault : {SIGSEGV, SIGBUS}) ::signal(fault, SIG_DFL);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string path_in(const std::string& offer) {
  const std::size_t from = offer.find("/proc/");
  return offer.substr(from, offer.find_first_not_of("/0123456789procfd", from) - from);
}

}  // namespace

TEST_CASE("pages that one process seals are what another one reads in its own place") {
  const Area first(7);
  SealedPages sealed(first.data(), ranges());
  first.fill(0, 7, 9);
  std::string why;
  REQUIRE(sealed.begin(why));
  CHECK(first.value(0) == 9);
  CHECK(first.value(1) == 0);
  first.fill(1, 2, 1);
  first.fill(5, 1, 5);
  const auto offer = sealed.seal(why);
  REQUIRE(offer);
  CHECK(first.value(2) == 1);
  CHECK(first.value(5) == 5);
  CHECK(end_of_child([&] {
          const Area other(7);
          other.fill(0, 7, 3);
          std::string refusal;
          if (!SealedPages(other.data(), ranges()).take(*offer, refusal)) return 1;
          const int want[] = {3, 1, 1, 3, 3, 5, 3};
          for (std::size_t k = 0; k < 7; ++k)
            if (other.value(k) != want[k]) return 2;
          return 0;
        }) == 0);
}

TEST_CASE("sealed pages stay when the process that made them is gone") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Area area(7);
  SealedPages taken(area.data(), ranges());
  const pid_t child = ::fork();
  if (child == 0) {
    std::string why;
    SealedPages sealed(area.data(), ranges());
    if (!sealed.begin(why)) ::_exit(1);
    area.fill(1, 2, 7);
    const auto offer = sealed.seal(why);
    if (!offer || ::write(ends[1], offer->data(), offer->size()) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  std::string offer(4096, '\0'), why;
  const ssize_t size = ::read(ends[0], offer.data(), offer.size());
  REQUIRE(size > 0);
  offer.resize(static_cast<std::size_t>(size));
  CHECK(taken.take(offer, why));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(area.value(1) == 7);
  CHECK(area.value(5) == 0);
  SECTION("nobody finds them anew") {
    const Area late(7);
    CHECK_FALSE(SealedPages(late.data(), ranges()).take(offer, why));
    CHECK(why.find("/proc/") != std::string::npos);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("no process writes to sealed pages, cuts their file or makes them writable") {
  const Area area(7);
  SealedPages sealed(area.data(), ranges());
  std::string why;
  REQUIRE(sealed.begin(why));
  area.fill(1, 2, 1);
  const auto offer = sealed.seal(why);
  REQUIRE(offer);
  CHECK(end_of_child([&] {
          area.fill(1, 1, 2);
          return 0;
        }) == -SIGSEGV);
  CHECK(::mprotect(area.data() + page, page, PROT_READ | PROT_WRITE) != 0);
  const int fd = ::open(path_in(*offer).c_str(), O_RDWR);
  REQUIRE(fd >= 0);
  CHECK(::ftruncate(fd, 0) != 0);
  CHECK(errno == EPERM);
  CHECK(::ftruncate(fd, 1 << 20) != 0);
  CHECK(::pwrite(fd, "x", 1, page) < 0);
  CHECK(::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
  ::close(fd);
  CHECK(area.value(1) == 1);
}

TEST_CASE("pages that are not another process's sealed ones are not taken, and stay") {
  const Area area(7), other(7);
  SealedPages sealed(area.data(), ranges()), takes(other.data(), ranges());
  other.fill(1, 2, 4);
  std::string why;
  REQUIRE(sealed.begin(why));
  const std::string good = *sealed.seal(why);
  SECTION("a path where nothing is") {
    std::string gone = good;
    gone.replace(gone.find("/proc/"), 6, "/none/");
    CHECK_FALSE(takes.take(gone, why));
  }
  SECTION("another mark") {
    std::string marked = good;
    marked.back() = static_cast<char>(marked.back() ^ 1);
    CHECK_FALSE(takes.take(marked, why));
  }
  SECTION("other ranges") {
    CHECK_FALSE(SealedPages(other.data(), {{page, page}}).take(good, why));
  }
  CHECK_FALSE(why.empty());
  CHECK(other.value(1) == 4);
  other.fill(1, 2, 6);
  CHECK(other.value(2) == 6);
}

}  // namespace sealed_pages_test
