#include "state/disk_window.hpp"
#include "core/error.hpp"

namespace trainx::state {

const std::byte* DiskWindow::view(std::int64_t offset, std::size_t bytes) {
  if (offset == offset_ && static_cast<std::int64_t>(bytes) == bytes_) return memory_.data();
  if (!disk_ || bytes > memory_.size())
    throw InternalError("there is no memory for a part of " + std::to_string(bytes) +
                        " bytes of what lies on the disk");
  store();
  offset_ = -1;  // where reading fails
  disk_->read(offset, memory_.data(), static_cast<std::int64_t>(bytes));
  offset_ = offset;
  bytes_ = static_cast<std::int64_t>(bytes);
  return memory_.data();
}

std::byte* DiskWindow::edit(std::int64_t offset, std::size_t bytes, bool anew) {
  if (anew && disk_ && bytes <= memory_.size() && offset != offset_) {
    store();
    offset_ = offset;
    bytes_ = static_cast<std::int64_t>(bytes);
  } else {
    view(offset, bytes);
  }
  changed_ = true;
  return memory_.data();
}

void DiskWindow::store() {
  if (offset_ >= 0 && changed_) disk_->write(offset_, memory_.data(), bytes_);
  changed_ = false;
}

}  // namespace trainx::state
