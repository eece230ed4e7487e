// A descriptor by which one thread wakes another from poll().
#pragma once
#include "core/error.hpp"
#include "core/descriptor.hpp"
#include <sys/eventfd.h>
#include <cstdint>

namespace trainx::comm {

class Wake {
 public:
  Wake() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_.is_open())
      throw UserError(
          ExitCode::unavailable,
          "no descriptor is left for waking a thread; raise the limit of open files (ulimit -n)");
  }
  int fd() const { return event_.get(); }
  void wake() { ::eventfd_write(event_.get(), 1); }
  void clear() {
    eventfd_t value = 0;
    ::eventfd_read(event_.get(), &value);
  }

 private:
  Descriptor event_;
};

}  // namespace trainx::comm
