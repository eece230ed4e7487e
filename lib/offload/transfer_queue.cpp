#include "offload/transfer_queue.hpp"
#include "core/blocked_signals.hpp"
#include <chrono>

namespace trainx::offload {

TransferQueue::TransferQueue() {
  const BlockedSignals held;
  thread_ = std::thread([this] { run(); });
}

TransferQueue::~TransferQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_one();
  thread_.join();
}

std::uint64_t TransferQueue::add(std::function<void()> transfer) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(transfer));
  added_.notify_one();
  return ++added_count_;
}

void TransferQueue::wait_for(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return failure_ || done_count_ >= count; });
  if (failure_) std::rethrow_exception(failure_);
}

void TransferQueue::wait_for_all() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return failure_ || done_count_ == added_count_; });
  if (failure_) std::rethrow_exception(failure_);
}

double TransferQueue::busy_seconds() const {
  const std::lock_guard lock(mutex_);
  return busy_seconds_;
}

void TransferQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [this] { return stopping_ || (!waiting_.empty() && !failure_); });
    if (stopping_) return;
    const auto transfer = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    std::exception_ptr thrown;
    try {
      transfer();
    } catch (const std::exception&) {
      thrown = std::current_exception();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    lock.lock();
    busy_seconds_ += seconds;
    if (thrown) failure_ = thrown;
    ++done_count_;
    done_.notify_all();
  }
}

}  // namespace trainx::offload
