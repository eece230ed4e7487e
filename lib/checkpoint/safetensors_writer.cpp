#include "checkpoint/safetensors_writer.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "core/error.hpp"
#include "core/file_writer.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <set>

namespace trainx::checkpoint {
namespace {

std::int64_t bytes_of(const TensorSource& t) {
  std::int64_t bytes = size_of(t.dtype);
  for (const std::int64_t d : t.dims)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) throw InternalError("tensor " + t.name + " cannot be saved with its shape");
  return bytes;
}

// Widest elements first, as the format's own library does: with a header padded to 8 bytes every tensor is then aligned for its elements.
std::vector<const TensorSource*> in_file_order(const std::vector<TensorSource>& tensors) {
  std::vector<const TensorSource*> order;
  std::set<std::string> names{"__metadata__"};
  for (const TensorSource& t : tensors) {
    if (!names.insert(t.name).second) throw InternalError("two tensors named " + t.name + " in one file");
    order.push_back(&t);
  }
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return size_of(a->dtype) > size_of(b->dtype); });
  return order;
}

}  // namespace

WrittenFile write_safetensors_file(const std::string& path, const std::vector<TensorSource>& tensors, const std::map<std::string, std::string>& metadata) {
  const auto order = in_file_order(tensors);
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  header["__metadata__"].emplace("format", "pt");   // transformers refuses files that do not name a framework
  std::int64_t data_bytes = 0, largest = 0;
  for (const TensorSource* t : order) {
    const std::int64_t bytes = bytes_of(*t);
    header[t->name] = {{"dtype", safetensors_name(t->dtype)}, {"shape", t->dims}, {"data_offsets", {data_bytes, data_bytes + bytes}}};
    data_bytes += bytes;
    largest = std::max(largest, bytes);
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  if (length > header_limit_bytes) throw InternalError("too many tensors for one safetensors file");

  FileWriter file(path, static_cast<std::int64_t>(sizeof length + length) + data_bytes);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  std::vector<std::byte> buffer(static_cast<std::size_t>(largest));
  for (const TensorSource* t : order) {
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(bytes_of(*t)));
    t->fill(bytes);
    file.write(bytes);
  }
  file.commit();
  return {file.bytes(), file.hash()};
}

void write_safetensors(const std::string& path, const std::vector<TensorSource>& tensors, const std::map<std::string, std::string>& metadata) {
  write_safetensors_file(path, tensors, metadata);
  fsync_folder(folder_of(path));
}

}  // namespace trainx::checkpoint
