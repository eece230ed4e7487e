#pragma once
#include "tensor/tensor.hpp"
#include "execute/executor.hpp"

namespace trainx::execute {

/// Where the buffers of a placed program lie in memory.
class PlacedMemory {
 public:
  /// `base`: the device's arena, at `place`. `host`: memory of buffers on the host (beside a GPU
  /// pinned), null where there are none.
  PlacedMemory(const plan::PlacedProgram& placed, std::byte* base, std::byte* host, Place place)
      : placed_(&placed), base_(base), host_(host), place_(place) {}
  const plan::PlacedProgram& placed() const { return *placed_; }
  const program::Buffer& buffer(const program::Use& u) const {
    return placed_->program.buffers[static_cast<std::size_t>(u.buffer)];
  }
  std::byte* address(const program::Use& u) const {
    return (buffer(u).space == program::Space::host ? host_ : base_) +
           placed_->placement.base[static_cast<std::size_t>(u.buffer)];
  }
  program::Bytes bytes(const program::Use& u) const { return buffer(u).bytes(); }
  /// All elements of the use's buffer.
  Tensor tensor(const program::Use& u) const {
    const program::Buffer& b = buffer(u);
    return make_tensor(address(u), b.dtype, {b.elements},
                       b.space == program::Space::host ? Place::host : place_);
  }
  /// The operand that fills the slot of the instruction.
  Tensor tensor(const program::Instruction& i, program::Slot slot) const {
    return tensor(use_of(i, slot));
  }
  /// The number, or the first of several, that fills it.
  template <class T>
  T& scalar(const program::Instruction& i, program::Slot slot) const {
    return *reinterpret_cast<T*>(address(use_of(i, slot)));
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
  Place place_;
};

}  // namespace trainx::execute
