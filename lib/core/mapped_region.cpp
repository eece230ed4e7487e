#include "core/mapped_region.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace trainx {
namespace {

/// A mapping that a signal handler can find. Never freed, but used again.
struct Mapping {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // both 0: not in use
  std::atomic<bool> broken{false};
  Mapping* next = nullptr;
  std::string path;
};

std::atomic<Mapping*> first_mapping{nullptr};
std::atomic<bool> any_broken{false};
std::mutex changes;  // of the list
struct sigaction earlier_action = {};
std::uintptr_t page_bytes = 0;

/// Zeros from the page that is gone to the mapping's end. Async-signal-safe: system calls and
/// lock-free atomics.
bool replace_rest(Mapping& mapping, std::uintptr_t at) {
  const std::uintptr_t begin = mapping.begin, end = mapping.end;
  if (at < begin || at >= end) return false;
  const std::uintptr_t page = at / page_bytes * page_bytes;
  if (::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  mapping.broken = true;
  any_broken = true;
  return true;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool by_fault = info->si_code > 0;
  for (Mapping* m = first_mapping; by_fault && m; m = m->next)
    if (replace_rest(*m, at)) {
      errno = error;
      return;
    }
  // No mapping of ours: whoever was asked before sees it, once the access is tried again.
  ::sigaction(signal, &earlier_action, nullptr);
  if (!by_fault) ::raise(signal);
}

void install_handler() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &earlier_action);
}

void enter_mapping(const void* data, std::size_t size, const std::string& path) {
  const std::lock_guard lock(changes);
  if (page_bytes == 0) install_handler();
  Mapping* mapping = first_mapping;
  while (mapping && mapping->end != 0) mapping = mapping->next;
  if (!mapping) {
    mapping = new Mapping;
    mapping->next = first_mapping;
    first_mapping = mapping;
  }
  mapping->path = path;
  mapping->broken = false;
  mapping->begin = reinterpret_cast<std::uintptr_t>(data);
  mapping->end = mapping->begin + size;
}

void leave_mapping(const void* data) {
  const std::lock_guard lock(changes);
  for (Mapping* m = first_mapping; m; m = m->next)
    if (m->end != 0 && m->begin == reinterpret_cast<std::uintptr_t>(data)) m->end = m->begin = 0;
}

}  // namespace

MappedRegion::MappedRegion(const Descriptor& file, const std::string& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    throw UserError(ExitCode::input_missing, path + " cannot be read: " + errno_words(errno));
  if (info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED)
    throw UserError(errno == ENOMEM ? ExitCode::out_of_memory : ExitCode::input_missing,
                    path + " cannot be mapped into memory: " + errno_words(errno));
  data_ = static_cast<const std::byte*>(mapped);
  size_ = size;
  enter_mapping(data_, size_, path);
}

MappedRegion::~MappedRegion() {
  if (!data_) return;
  leave_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedRegion::MappedRegion(MappedRegion&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedRegion& MappedRegion::operator=(MappedRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void require_whole_files() {
  if (!any_broken) return;
  const std::lock_guard lock(changes);
  for (const Mapping* m = first_mapping; m; m = m->next) {
    if (m->end == 0 || !m->broken) continue;
    const auto was = static_cast<std::int64_t>(m->end - m->begin);
    struct stat now {};
    const bool cut = ::stat(m->path.c_str(), &now) != 0 || now.st_size < was;
    throw cut
        ? UserError(ExitCode::bad_data, m->path + " was cut while it was read: it had " +
                                            std::to_string(was) + " bytes and has " +
                                            std::to_string(now.st_size) + "; give the file back")
        : UserError(ExitCode::io_error,
                    m->path + " cannot be read any more: its disk reports an error");
  }
}

}  // namespace trainx
