#include "log/crash_ring.hpp"
#include "core/error.hpp"
#include "core/memory_limit.hpp"
#include "log/log.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>

namespace trainx::log {
namespace {

struct Slot {
  std::array<char, ring_line_bytes> text;
  std::size_t length;
};
std::array<Slot, ring_lines> ring;          // 260 KB, of which pages are touched as lines come
std::atomic<std::size_t> written{0};        // lines ever kept
std::array<char, 4096> crash_path{};        // ends with 0
std::array<char, 512> without_memory{};     // ends with 0
std::array<char, 64 * 1024> handler_stack;  // a handler cannot run on a stack that is full

/// `text`, or nothing where it does not fit.
void set_words(std::span<char> words, std::string_view text) {
  const std::size_t length = text.size() < words.size() ? text.size() : 0;
  std::memcpy(words.data(), text.data(), length);
  words[length] = 0;
}

void put(int fd, const char* text, std::size_t length) {
  while (length > 0) {
    const ssize_t n = ::write(fd, text, length);
    if (n <= 0) return;
    text += n;
    length -= static_cast<std::size_t>(n);
  }
}

const char* words_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "ended by signal SIGSEGV (invalid memory access)";
    case SIGBUS: return "ended by signal SIGBUS (memory behind a file is gone)";
    case SIGFPE: return "ended by signal SIGFPE (arithmetic)";
    case SIGILL: return "ended by signal SIGILL (unknown instruction)";
    default: return "ended by signal SIGABRT (abort)";
  }
}

void on_crash(int signal) {
  if ((signal == SIGABRT || signal == SIGSEGV) && limit_is_reached()) {
    write_ring("ended by a library that got no memory");
    put(STDERR_FILENO, without_memory.data(), std::strlen(without_memory.data()));
    ::_exit(static_cast<int>(ExitCode::out_of_memory));
  }
  write_ring(words_of(signal));
  ::raise(signal);  // pending until this returns; the default action then ends the process
}

void on_terminate() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    record(Level::error, std::string("uncaught exception: ") + e.what());
  }
  std::abort();
}

}  // namespace

void keep_in_ring(std::string_view line) {
  const std::size_t n = written.load(std::memory_order_relaxed);
  Slot& slot = ring[n % ring_lines];
  slot.length = std::min(line.size(), ring_line_bytes - 1);
  std::memcpy(slot.text.data(), line.data(), slot.length);
  if (slot.length == 0 || slot.text[slot.length - 1] != '\n') slot.text[slot.length++] = '\n';
  written.store(n + 1, std::memory_order_release);
}

void install_crash_handlers() {
  set_words(without_memory, "trainx: " + no_memory_sentence() + "\n");
  const stack_t stack{
      .ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = handler_stack.size()};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::sigaction(signal, &action, nullptr);
  std::set_terminate(on_terminate);
}

void set_crash_file(const std::string& path) { set_words(crash_path, path); }

bool write_ring(std::string_view reason) noexcept {
  if (crash_path[0] == 0) return false;
  const int fd = ::open(crash_path.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  constexpr std::string_view begin = "-- ", end = "; the last lines of the log:\n";
  put(fd, begin.data(), begin.size());
  put(fd, reason.data(), reason.size());
  put(fd, end.data(), end.size());
  const std::size_t n = written.load(std::memory_order_acquire);
  for (std::size_t i = n > ring_lines ? n - ring_lines : 0; i < n; ++i) {
    const Slot& slot = ring[i % ring_lines];
    put(fd, slot.text.data(), std::min(slot.length, ring_line_bytes));
  }
  ::close(fd);
  return true;
}

}  // namespace trainx::log
