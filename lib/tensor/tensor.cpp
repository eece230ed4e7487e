#include "tensor/tensor.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <utility>

namespace trainx {
namespace {

void require(bool holds, const char* what, const Tensor& of) {
  if (!holds) throw InternalError(std::string("tensor ") + to_string(of.dims) + ": " + what);
}

std::int64_t product(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

Dims row_major(const Dims& dims) {
  Dims strides = dims;
  std::int64_t step = 1;
  for (int i = dims.count(); i-- > 0;) strides[i] = std::exchange(step, step * dims[i]);
  return strides;
}

}  // namespace

void Dims::assign(const std::int64_t* dims, std::size_t count) {
  if (count > dims_.size())
    throw InternalError("a tensor of " + std::to_string(count) + " dimensions");
  std::copy_n(dims, count, dims_.begin());
  count_ = static_cast<int>(count);
}

void Dims::push_back(std::int64_t dim) {
  if (count_ == most) throw InternalError("a tensor of too many dimensions");
  dims_[static_cast<std::size_t>(count_++)] = dim;
}

void Dims::erase(int i) {
  std::copy(begin() + i + 1, end(), dims_.begin() + i);
  --count_;
}

bool Dims::operator==(const Dims& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Dims& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += (out.empty() ? "" : ", ") + std::to_string(d);
  return "[" + out + "]";
}

std::int64_t Tensor::numel() const { return defined() ? product(dims) : 0; }

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  for (int i = dim(); i-- > 0; step *= dims[i])
    if (dims[i] != 1 && strides[i] != step) return numel() == 0;
  return true;
}

Tensor Tensor::narrow(int dimension, std::int64_t first, std::int64_t count) const {
  require(dimension >= 0 && dimension < dim() && first >= 0 && count >= 0 &&
              first + count <= dims[dimension],
          "a range beyond it", *this);
  Tensor out = *this;
  out.dims[dimension] = count;
  out.data = static_cast<std::byte*>(data) + first * strides[dimension] * size_of(dtype);
  return out;
}

Tensor Tensor::select(int dimension, std::int64_t index) const {
  Tensor out = narrow(dimension, index, 1);
  out.dims.erase(dimension);
  out.strides.erase(dimension);
  if (out.dim() == 0) out.dims = {1}, out.strides = {1};
  return out;
}

Tensor Tensor::transpose(int a, int b) const {
  require(std::max(a, b) < dim() && std::min(a, b) >= 0, "no such dimension", *this);
  Tensor out = *this;
  std::swap(out.dims[a], out.dims[b]);
  std::swap(out.strides[a], out.strides[b]);
  return out;
}

Tensor Tensor::view(const Dims& new_dims) const {
  require(is_contiguous(), "viewed in other dimensions without being contiguous", *this);
  Tensor out = *this;
  out.dims = new_dims;
  const auto open = std::find(new_dims.begin(), new_dims.end(), -1);
  if (open != new_dims.end()) {
    const std::int64_t others = -product(new_dims);
    require(others > 0 && numel() % others == 0, "not divisible into the dimensions of a view",
            *this);
    out.dims[static_cast<int>(open - new_dims.begin())] = numel() / others;
  }
  require(product(out.dims) == numel(), "viewed as another number of elements", *this);
  out.strides = row_major(out.dims);
  return out;
}

Tensor make_tensor(void* memory, DType dtype, const Dims& dims, Place place) {
  if (reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(size_of(dtype)) != 0)
    throw InternalError("a tensor's memory is not aligned to its element");
  Tensor t;
  t.data = memory;
  t.dtype = dtype;
  t.dims = dims;
  t.strides = row_major(dims);
  t.place = place;
  return t;
}

}  // namespace trainx
