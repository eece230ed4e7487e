#include "core/work_queue.hpp"
#include "core/blocked_signals.hpp"

namespace trainx {

WorkQueue::WorkQueue() {
  const BlockedSignals held;
  thread_ = std::thread([this] { run(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_one();
  thread_.join();
}

std::uint64_t WorkQueue::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  added_.notify_one();
  return ++added_count_;
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

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [this] { return stopping_ || (!waiting_.empty() && !failure_); });
    if (stopping_) return;
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
}

}  // namespace trainx
