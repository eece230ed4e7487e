#include "core/work_queue.hpp"
#include "core/blocked_signals.hpp"
#include <system_error>

namespace trainx {

WorkQueue::WorkQueue() {
  const BlockedSignals held;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // add() does it
  }
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t WorkQueue::add(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  const std::uint64_t count = ++added_count_;
  waiting_.push_back(std::move(work));
  if (!thread_.joinable() && !failure_) do_first(lock);
  added_.notify_one();
  return count;
}

void WorkQueue::wait_for(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return failure_ || done_count_ >= count; });
  if (failure_) std::rethrow_exception(failure_);
}

void WorkQueue::wait_for_all() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return failure_ || done_count_ == added_count_; });
  if (failure_) std::rethrow_exception(failure_);
}

void WorkQueue::do_first(std::unique_lock<std::mutex>& lock) {
  const auto work = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  std::exception_ptr thrown;
  try {
    work();
  } catch (const std::exception&) { thrown = std::current_exception(); }
  lock.lock();
  if (thrown) failure_ = thrown;
  ++done_count_;
  done_.notify_all();
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [this] { return stopping_ || (!waiting_.empty() && !failure_); });
    if (stopping_) return;
    do_first(lock);
  }
}

}  // namespace trainx
