#include "core/error.hpp"
#include "tensor/allocator_meter.hpp"
#include "tensor/random_key.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/empty.h>
#include <thread>
#include "support/catch.hpp"

namespace tensor_test {

using namespace trainx;

TEST_CASE("Philox gives the known answers of Random123") {
  using Counter = std::array<std::uint32_t, 4>;
  CHECK(tensor::philox({0, 0, 0, 0}, {0, 0}) ==
        Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(tensor::philox({ones, ones, ones, ones}, {ones, ones}) ==
        Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(
      tensor::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
      Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("tensors are views: narrowed, selected, transposed, in other dimensions") {
  float memory[24];
  for (int i = 0; i < 24; ++i) memory[i] = static_cast<float>(i);
  const Tensor t = make_tensor(memory, DType::f32, {2, 3, 4});
  CHECK(t.numel() == 24);
  CHECK(t.nbytes() == 96);
  CHECK(t.is_contiguous());
  CHECK(*t.narrow(1, 1, 2).select(0, 1).as<float>() == 16);
  CHECK(t.narrow(1, 1, 2).dims == Dims{2, 2, 4});
  CHECK_FALSE(t.narrow(1, 1, 2).is_contiguous());
  CHECK(t.narrow(0, 1, 1).is_contiguous());
  CHECK(t.transpose(0, 2).dims == Dims{4, 3, 2});
  CHECK(t.transpose(0, 2).strides == Dims{1, 4, 12});
  CHECK(t.view({-1, 6}).dims == Dims{4, 6});
  CHECK(t.view({24}).select(0, 5).dims == Dims{1});
  CHECK_FALSE(Tensor().defined());
  CHECK(Tensor().numel() == 0);
  CHECK(make_tensor(nullptr, DType::i64, {0}).defined());
  CHECK_THROWS_AS(t.narrow(2, 3, 2), InternalError);
  CHECK_THROWS_AS(t.narrow(3, 0, 1), InternalError);
  CHECK_THROWS_AS(t.view({5, -1}), InternalError);
  CHECK_THROWS_AS(t.view({25}), InternalError);
  CHECK_THROWS_AS(t.transpose(0, 2).view({24}), InternalError);
  CHECK_THROWS_AS(make_tensor(reinterpret_cast<char*>(memory) + 1, DType::f32, {1}), InternalError);
  CHECK_THROWS_AS(Dims({1, 1, 1, 1, 1, 1, 1}), InternalError);
}

TEST_CASE("LibTorch sees the same memory, type, strides and device, and hands it back") {
  alignas(8) float memory[6] = {0, 1, 2, 3, 4, 5};
  const Tensor t = make_tensor(memory, DType::f32, {2, 3});
  const at::Tensor v = tensor::torch_view(t);
  CHECK(v.data_ptr() == memory);
  CHECK(v.sizes() == at::IntArrayRef({2, 3}));
  CHECK(v.device() == at::Device(at::kCPU));
  tensor::torch_view(t.transpose(0, 1).select(0, 2)).fill_(7);
  CHECK(memory[2] == 7);
  CHECK(memory[5] == 7);
  CHECK_FALSE(tensor::torch_view(Tensor()).defined());
  const at::Tensor turned = v.t();
  const Tensor back = turned;
  CHECK(back.data == memory);
  CHECK(back.dims == Dims{3, 2});
  CHECK(back.strides == Dims{1, 3});
  CHECK(back.place == Place::host);
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                      DType::i16, DType::u16, DType::u8}) {
    CHECK(tensor::dtype(tensor::scalar_type(dtype)) == dtype);
    CHECK(static_cast<std::int64_t>(c10::elementSize(tensor::scalar_type(dtype))) ==
          size_of(dtype));
  }
  CHECK_THROWS_AS(tensor::dtype(at::kBool), InternalError);
}

TEST_CASE("the meter counts what ATen allocates, on all threads, and its peak") {
  tensor::install_allocator_meter();
  tensor::install_allocator_meter();  // once
  const auto before = tensor::allocator_bytes();
  tensor::reset_allocator_peak();
  {
    const at::Tensor a = at::empty({1000}, at::kFloat);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data_ptr()) % 64 == 0);
    CHECK(tensor::allocator_bytes().current == before.current + 4000);
    std::thread([] { at::empty({500}, at::kDouble); }).join();
    CHECK(tensor::allocator_bytes().current == before.current + 4000);
    const at::Tensor grown = at::empty({0}, at::kFloat);
    grown.resize_({10});
    CHECK(tensor::allocator_bytes().current == before.current + 4040);
  }
  const auto after = tensor::allocator_bytes();
  CHECK(after.current == before.current);
  CHECK(after.peak == before.current + 8000);
  CHECK(after.allocations >= before.allocations + 3);
  tensor::reset_allocator_peak();
  CHECK(tensor::allocator_bytes().peak == after.current);
}

}  // namespace tensor_test
