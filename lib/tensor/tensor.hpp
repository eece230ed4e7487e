// A tensor as operations see it: a typed view of memory that somebody else owns, with the place
// where that memory lies. No LibTorch: see tensor/torch_view.hpp.
#pragma once
#include "core/dtype.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace trainx {

/// Whose memory it is: which processor may read it.
enum class Place : std::uint8_t { host, gpu };

/// Sizes or strides, at most `most` of them.
class Dims {
 public:
  static constexpr int most = 6;

  Dims() = default;
  // NOLINTBEGIN(google-explicit-constructor): written as lists, declared as vectors
  Dims(std::initializer_list<std::int64_t> dims) { assign(dims.begin(), dims.size()); }
  Dims(const std::vector<std::int64_t>& dims) { assign(dims.data(), dims.size()); }
  // NOLINTEND(google-explicit-constructor)

  int count() const { return count_; }
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return dims_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + count_; }
  void push_back(std::int64_t dim);
  void erase(int i);
  bool operator==(const Dims& other) const;

 private:
  void assign(const std::int64_t* dims, std::size_t count);

  std::array<std::int64_t, most> dims_{};
  int count_ = 0;
};

std::string to_string(const Dims& dims);  // "[2, 3]"

/// Copies are views of the same memory. One without dims is undefined: an operand that is not
/// there. InternalError where a view does not fit.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Dims dims;
  Dims strides;  // in elements
  Place place = Place::host;

  Tensor() = default;
  /// The same memory, which stays LibTorch's (tensor/torch_view.cpp).
  Tensor(const at::Tensor& t);  // NOLINT(google-explicit-constructor): modules compute with both
  Tensor(at::Tensor&& t) = delete;  // of a temporary nothing is left

  bool defined() const { return dims.count() > 0; }
  int dim() const { return dims.count(); }
  std::int64_t size(int i) const { return dims[i]; }
  std::int64_t numel() const;
  std::int64_t nbytes() const { return numel() * size_of(dtype); }
  bool is_contiguous() const;  // row-major, without gaps

  /// T is the element's type, or void.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  /// [first, first + count) of one dimension.
  Tensor narrow(int dimension, std::int64_t first, std::int64_t count) const;
  /// One index of a dimension, which goes.
  Tensor select(int dimension, std::int64_t index) const;
  Tensor transpose(int a, int b) const;
  /// Other dims over as many elements of a contiguous tensor; one of them may be -1: what is left.
  Tensor view(const Dims& new_dims) const;
};

/// A row-major tensor. The memory outlives it and is aligned to its element.
Tensor make_tensor(void* memory, DType dtype, const Dims& dims, Place place = Place::host);

}  // namespace trainx
