#include "state/named_tensors.hpp"
#include "checkpoint/float_elements.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::state {
namespace {

std::string text_of(const std::vector<std::int64_t>& dims) {
  std::string s = "[";
  for (const std::int64_t d : dims) s += (s.size() > 1 ? ", " : "") + std::to_string(d);
  return s + "]";
}

}  // namespace

void NamedTensors::add(const std::string& name, const checkpoint::TensorEntry& entry,
                       const std::string& file, const std::string& saved_name) {
  const auto [at, is_new] = left_.try_emplace(name, Saved{&entry, file, saved_name});
  if (is_new) return;
  const checkpoint::TensorEntry& first = *at->second.entry;
  if (first.dtype != entry.dtype || first.dims != entry.dims ||
      !std::ranges::equal(first.data, entry.data))
    throw UserError(ExitCode::bad_data,
                    file + ": tensors '" + at->second.name + "' and '" + saved_name +
                        "' differ, and the model has one for both; where they are embeddings and "
                        "a head, set tie_word_embeddings to false in config.json");
}

std::vector<float> NamedTensors::take(const std::string& name,
                                      const std::vector<std::int64_t>& dims) {
  const Saved saved = take_saved(name, dims);
  return checkpoint::to_floats(*saved.entry, saved.file + ": tensor '" + name + "'");
}

std::span<const std::byte> NamedTensors::take_bytes(const std::string& name,
                                                    const std::vector<std::int64_t>& dims,
                                                    DType dtype) {
  const Saved saved = take_saved(name, dims);
  require_dtype(saved, name, dtype);
  return saved.entry->data;
}

const checkpoint::TensorEntry& NamedTensors::take_padded(const std::string& name,
                                                         const std::vector<std::int64_t>& dims,
                                                         DType dtype) {
  const Saved saved = take_any(name);
  const std::vector<std::int64_t>& has = saved.entry->dims;
  if (has.size() != dims.size() || has.front() < dims.front() ||
      !std::equal(has.begin() + 1, has.end(), dims.begin() + 1))
    refuse_dims(saved, name, dims);
  require_dtype(saved, name, dtype);
  return *saved.entry;
}

const checkpoint::TensorEntry& NamedTensors::take_entry(const std::string& name, DType dtype) {
  const Saved saved = take_any(name);
  require_dtype(saved, name, dtype);
  return *saved.entry;
}

void NamedTensors::pass_over(const std::string& name) {
  for (const char* of_format : {"", "_blocks", "_scales"}) left_.erase(name + of_format);
}

void NamedTensors::require_all_taken() const {
  if (left_.empty()) return;
  const auto& [name, saved] = *left_.begin();
  throw UserError(ExitCode::bad_data,
                  saved.file + ": tensor '" + name +
                      "' is not part of the model; the weights are of another model");
}

NamedTensors::Saved NamedTensors::take_saved(const std::string& name,
                                             const std::vector<std::int64_t>& dims) {
  const Saved saved = take_any(name);
  if (saved.entry->dims != dims) refuse_dims(saved, name, dims);
  return saved;
}

NamedTensors::Saved NamedTensors::take_any(const std::string& name) {
  const auto found = left_.find(name);
  if (found == left_.end())
    throw UserError(ExitCode::bad_data, where_ + ": tensor '" + name +
                                            "' is missing; the weights are of another model");
  const Saved saved = found->second;
  left_.erase(found);
  return saved;
}

void NamedTensors::refuse_dims(const Saved& saved, const std::string& name,
                               const std::vector<std::int64_t>& dims) {
  throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' has shape " +
                                          text_of(saved.entry->dims) + ", the model needs " +
                                          text_of(dims));
}

void NamedTensors::require_dtype(const Saved& saved, const std::string& name, DType dtype) {
  if (saved.entry->dtype != dtype)
    throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' is " +
                                            std::string(name_of(saved.entry->dtype)) +
                                            " and must be " + std::string(name_of(dtype)));
}

}  // namespace trainx::state
