#pragma once
#include "tensor/tensor.hpp"
#include "execute/executor.hpp"

namespace trainx::execute {

/// Where the buffers of a placed program lie in a device's memory.
class PlacedMemory {
 public:
  /// `host`: pinned memory of its buffers on the host, null where it has none.
  PlacedMemory(const plan::PlacedProgram& placed, std::byte* base, std::byte* host = nullptr)
      : placed_(&placed), base_(base), host_(host) {}
  const plan::PlacedProgram& placed() const { return *placed_; }
  std::byte* address(const program::Use& u) const {
    const auto b = static_cast<std::size_t>(u.buffer);
    return (placed_->program.buffers[b].space == program::Space::host ? host_ : base_) +
           placed_->placement.base[b] + u.range.begin;
  }
  /// All elements of the use's buffer.
  Tensor tensor(const program::Use& u) const {
    const program::Buffer& b = placed_->program.buffers[static_cast<std::size_t>(u.buffer)];
    return make_tensor(address(u), b.dtype, {b.elements},
                       b.space == program::Space::host ? Place::host : Place::gpu);
  }
  /// What fills the slot of the instruction; null where nothing does.
  template <class T>
  T* find(const program::Instruction& i, program::Slot slot) const {
    const program::Use* u = find_use(i, slot);
    return u ? reinterpret_cast<T*>(address(*u)) : nullptr;
  }

 private:
  const plan::PlacedProgram* placed_;
  std::byte* base_;
  std::byte* host_;
};

}  // namespace trainx::execute
