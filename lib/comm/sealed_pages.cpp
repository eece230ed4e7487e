#include "comm/sealed_pages.hpp"
#include "comm/bytes.hpp"
#include "comm/proof.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

namespace trainx::comm {
namespace {

constexpr int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string path_of(const Descriptor& file) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
}

/// Without the right to write: only such a descriptor of a sealed file can be mapped on every
/// Linux.
Descriptor open_to_read(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// A process id means another process in another PID namespace, and a file without seals can
/// change: neither is mapped.
bool is_sealed_file(const Descriptor& file, std::size_t data_bytes, const std::string& mark) {
  struct stat s {};
  std::string found(mark.size(), '\0');
  return ::fstat(file.get(), &s) == 0 && S_ISREG(s.st_mode) &&
         static_cast<std::size_t>(s.st_size) == data_bytes + mark.size() &&
         (::fcntl(file.get(), F_GET_SEALS) & seals) == seals &&
         ::pread(file.get(), found.data(), found.size(), static_cast<off_t>(data_bytes)) ==
             static_cast<ssize_t>(found.size()) &&
         found == mark;
}

}  // namespace

bool SealedPages::begin(std::string& why) {
  mark_ = make_nonce();
  file_ = Descriptor(::memfd_create("trainx-weights", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto refused = [&](const char* what) {
    why = std::string(what) + ": " + errno_words(errno);
    make_private();
    return false;
  };
  if (!file_.is_open() || ::ftruncate(file_.get(), static_cast<off_t>(data_bytes())) != 0 ||
      ::pwrite(file_.get(), mark_.data(), mark_.size(), static_cast<off_t>(data_bytes())) !=
          static_cast<ssize_t>(mark_.size()))
    return refused("making a memory file");
  // a page that the system cannot give is told here, and is no SIGBUS later
  for (const PageRange& range : ranges_)
    if (::fallocate(file_.get(), 0, static_cast<off_t>(range.begin),
                    static_cast<off_t>(range.bytes)) != 0)
      return refused("reserving memory");
  if (!map(file_, Access::write)) return refused("mapping a memory file");
  return true;
}

std::optional<std::string> SealedPages::seal(std::string& why) {
  const Descriptor to_read = open_to_read(path_of(file_));
  if (!to_read.is_open() || !map(to_read, Access::read) ||
      ::fcntl(file_.get(), F_ADD_SEALS, seals) != 0) {
    why = "sealing a memory file: " + errno_words(errno);
    if (!map(file_, Access::write))
      throw UserError(ExitCode::out_of_memory,
                      why + "; the machine refuses its pages: " + errno_words(errno));
    return std::nullopt;
  }
  return ByteWriter().put(path_of(file_)).put(mark_).take();
}

bool SealedPages::take(const std::string& offer, std::string& why) {
  ByteReader in(offer);
  const std::string path = in.text(), mark = in.text();
  const Descriptor file = open_to_read(path);
  if (!file.is_open()) {
    why = path + ": " + errno_words(errno);
    return false;
  }
  if (!is_sealed_file(file, data_bytes(), mark)) {
    why = path + " is another process's";
    return false;
  }
  if (map(file, Access::read)) return true;
  why = "mapping " + path + ": " + errno_words(errno);
  make_private();
  return false;
}

bool SealedPages::map(const Descriptor& file, Access access) {
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  for (const PageRange& range : ranges_) {
    std::byte* const at = base_ + range.begin;
    if (::mmap(at, range.bytes, protection, MAP_SHARED | MAP_FIXED, file.get(),
               static_cast<off_t>(range.begin)) == MAP_FAILED)
      return false;
    // as Arena asks for its pages; a refusal does not matter
    ::madvise(at, range.bytes, MADV_HUGEPAGE);
  }
  return true;
}

void SealedPages::make_private() {
  for (const PageRange& range : ranges_)
    if (::mmap(base_ + range.begin, range.bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      throw UserError(ExitCode::out_of_memory,
                      "the machine refuses memory for frozen weights: " + errno_words(errno));
}

}  // namespace trainx::comm
