// Something that processes come to, which others wait for: forked from the test that has it.
#pragma once
#include <poll.h>
#include <unistd.h>
#include <chrono>
#include <stdexcept>

class Milestone {
 public:
  Milestone() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Milestone() { ::close(ends_[0]), ::close(ends_[1]); }
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;

  void reach() const {
    if (::write(ends_[1], "", 1) != 1) throw std::runtime_error("nobody is told");
  }
  /// Waits until so many have come to it. False: not all did within the limit.
  bool wait_for(int processes, double limit_seconds = 30) const {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(limit_seconds);
    for (int reached = 0; reached < processes; ++reached) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      pollfd p{ends_[0], POLLIN, 0};
      char one = 0;
      if (left.count() <= 0 || ::poll(&p, 1, static_cast<int>(left.count())) != 1 ||
          ::read(ends_[0], &one, 1) != 1)
        return false;
    }
    return true;
  }

 private:
  int ends_[2] = {-1, -1};
};
