#pragma once
#include "train/executor.hpp"

namespace trainx::train {

/// Where the buffers of a placed program lie in a device's memory.
class PlacedMemory {
 public:
  PlacedMemory(const plan::PlacedProgram& placed, std::byte* base) : placed_(&placed), base_(base) {}
  const plan::PlacedProgram& placed() const { return *placed_; }
  std::byte* address(const program::Use& u) const { return base_ + placed_->placement.base[static_cast<std::size_t>(u.buffer)] + u.range.begin; }
  /// What fills the slot of the instruction; null where nothing does.
  template <class T>
  T* find(const program::Instruction& i, program::Slot slot) const {
    const program::Use* u = find_use(i, slot);
    return u ? reinterpret_cast<T*>(address(*u)) : nullptr;
  }

 private:
  const plan::PlacedProgram* placed_;
  std::byte* base_;
};

}  // namespace trainx::train
