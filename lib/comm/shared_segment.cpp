#include "comm/shared_segment.hpp"
#include "core/files.hpp"
#include "comm/bytes.hpp"
#include "comm/proof.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cerrno>
#include <cstring>

namespace trainx::comm {
namespace {

constexpr std::size_t page = 4096;  // before the data: who made the segment

/// The rank's word in an exchange: empty where all is well.
std::string words(const char* what) { return std::string(what) + ": " + errno_words(errno); }

std::byte* map(const Descriptor& fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

/// Process ids mean nothing in another container: what is found there must be the segment of this
/// run.
bool is_of(const Descriptor& fd, std::size_t bytes, const std::string& mark) {
  struct stat s {};
  std::string found(mark.size(), '\0');
  return ::fstat(fd.get(), &s) == 0 && S_ISREG(s.st_mode) &&
         static_cast<std::size_t>(s.st_size) == bytes &&
         ::pread(fd.get(), found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) &&
         found == mark;
}

}  // namespace

std::optional<SharedSegment> SharedSegment::make(Control& control, std::size_t data_bytes,
                                                 std::string& why) {
  const std::size_t bytes = data_bytes + page;
  Descriptor fd;
  std::string told, problem;
  if (control.rank() == 0) {
    const std::string mark = make_nonce();
    fd = Descriptor(::memfd_create("trainx-ranks", MFD_CLOEXEC));
    if (!fd.is_open() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
        ::pwrite(fd.get(), mark.data(), mark.size(), 0) != static_cast<ssize_t>(mark.size()))
      problem = words("making shared memory");
    told = ByteWriter()
               .put("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get()))
               .put(mark)
               .take();
  }
  const std::string from_rank_0 = control.exchange(told)[0];
  ByteReader in(from_rank_0);
  const std::string path = in.text(), mark = in.text();
  if (control.rank() != 0) {
    fd = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!fd.is_open())
      problem = words(path.c_str());
    else if (!is_of(fd, bytes, mark))
      problem = path + " is another process's";
  }
  std::byte* memory = problem.empty() ? map(fd, bytes) : nullptr;
  if (problem.empty() && !memory) problem = words("mapping shared memory");
  SharedSegment segment(memory ? memory + page : nullptr, data_bytes);
  const auto problems = control.exchange(problem);
  for (std::size_t r = 0; r < problems.size(); ++r)
    if (!problems[r].empty()) {
      why = control.name_of(static_cast<int>(r)) + ": " + problems[r];
      return std::nullopt;
    }
  return segment;
}

SharedSegment::~SharedSegment() {
  if (memory_) ::munmap(memory_ - page, bytes_ + page);
}

}  // namespace trainx::comm
