// Saved tensors by the parameters' names, each to be taken once.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include <cstdint>

namespace trainx::state {

/// All that is missing, extra or misshapen throws UserError 65 that names it.
class NamedTensors {
 public:
  /// `where` is the folder or file that a missing tensor is missing in.
  explicit NamedTensors(std::string where) : where_(std::move(where)) {}
  /// `entry` must outlive this. `saved_name`: the tensor's in its file; two of one parameter (tied
  /// ones) are equal.
  void add(const std::string& name, const checkpoint::TensorEntry& entry, const std::string& file,
           const std::string& saved_name);
  void add(const std::string& name, const checkpoint::TensorEntry& entry, const std::string& file) {
    add(name, entry, file, name);
  }
  bool has(const std::string& name) const { return left_.contains(name); }
  std::vector<float> take(const std::string& name, const std::vector<std::int64_t>& dims);
  /// The tensor's bytes, which must be of this type.
  std::span<const std::byte> take_bytes(const std::string& name,
                                        const std::vector<std::int64_t>& dims, DType dtype);
  /// The same of a tensor that may have more entries of the first dimension.
  const checkpoint::TensorEntry& take_padded(const std::string& name,
                                             const std::vector<std::int64_t>& dims, DType dtype);
  /// The same of any dimensions.
  const checkpoint::TensorEntry& take_entry(const std::string& name, DType dtype);
  /// Counts the parameter's tensors as taken, in mxfp4 too, whether they are there or not.
  void pass_over(const std::string& name);
  void require_all_taken() const;
  const std::string& where() const { return where_; }

 private:
  struct Saved {
    const checkpoint::TensorEntry* entry;
    std::string file, name;
  };
  Saved take_saved(const std::string& name, const std::vector<std::int64_t>& dims);
  Saved take_any(const std::string& name);
  [[noreturn]] static void refuse_dims(const Saved& saved, const std::string& name,
                                       const std::vector<std::int64_t>& dims);
  static void require_dtype(const Saved& saved, const std::string& name, DType dtype);
  std::string where_;
  std::map<std::string, Saved> left_;
};

}  // namespace trainx::state
