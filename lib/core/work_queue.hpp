// Work that a thread of its own does, one piece after the other, while whoever asked for it does
// something else.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace trainx {

/// Where no thread is to be had, the work is done by whoever asks for it.
class WorkQueue {
 public:
  WorkQueue();
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Returns at once: how many there have been with this one. All is done in the order of these
  /// calls; after one that threw none is.
  std::uint64_t add(std::function<void()> work);
  /// Until so many are done. Throws what one of them threw.
  void wait_for(std::uint64_t count);
  void wait_for_all();

 private:
  void run();
  void do_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards all below
  std::condition_variable added_, done_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t added_count_ = 0, done_count_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace trainx
