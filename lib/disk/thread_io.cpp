#include "disk/block_io.hpp"
#include "core/blocked_signals.hpp"
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace trainx::disk {
namespace {

constexpr int thread_count = 4;
constexpr std::int64_t thread_piece_bytes = std::int64_t{4} << 20;

int move_piece(const Transfer& t, std::int64_t at, std::int64_t bytes) {
  while (bytes > 0) {
    const auto n = static_cast<std::size_t>(bytes);
    const ssize_t moved = t.direction == Transfer::read
                              ? ::pread(t.file, t.memory + at, n, t.offset + at)
                              : ::pwrite(t.file, t.memory + at, n, t.offset + at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : EIO;
    at += moved;
    bytes -= moved;
  }
  return 0;
}

class ThreadIo final : public BlockIo {
 public:
  ThreadIo() {
    const BlockedSignals held;
    try {
      for (int k = 0; k < thread_count; ++k) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;  // fewer are slower
    }
  }
  ~ThreadIo() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  int move(const Transfer& transfer) override {
    std::unique_lock lock(mutex_);
    transfer_ = transfer;
    next_ = 0;
    error_ = 0;
    changed_.notify_all();
    done_.wait(lock, [this] { return !pieces_left() && moving_ == 0; });
    return error_;
  }
  std::string name() const override { return "threads"; }

 private:
  bool pieces_left() const { return error_ == 0 && next_ < transfer_.bytes; }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || pieces_left(); });
      if (stopping_) return;
      const Transfer t = transfer_;
      const std::int64_t at = next_, bytes = std::min(thread_piece_bytes, t.bytes - at);
      next_ += bytes;
      ++moving_;
      lock.unlock();
      const int error = move_piece(t, at, bytes);
      lock.lock();
      if (error_ == 0) error_ = error;
      if (--moving_ == 0 && !pieces_left()) done_.notify_one();
    }
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_, done_;
  Transfer transfer_;
  std::int64_t next_ = 0;  // where the next piece begins
  int moving_ = 0, error_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockIo> make_thread_io() { return std::make_unique<ThreadIo>(); }

}  // namespace trainx::disk
