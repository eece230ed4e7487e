// Transfers that are made one after the other by a thread of their own, while whoever asked for them does something else.
#pragma once
#include "offload/disk.hpp"
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace trainx::offload {

class TransferQueue {
 public:
  TransferQueue();
  ~TransferQueue();
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  /// Returns at once: how many there have been with this one. Of several they are made in the order of these calls; after one that threw none is.
  std::uint64_t add(std::function<void()> transfer);
  /// Until so many are done. Throws what one of them threw.
  void wait_for(std::uint64_t count);
  void wait_for_all();
  /// That transfers took, so far.
  double busy_seconds() const;

 private:
  void run();

  mutable std::mutex mutex_;            // guards all below
  std::condition_variable added_, done_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t added_count_ = 0, done_count_ = 0;
  double busy_seconds_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace trainx::offload
