#include "checkpoint/safetensors_writer.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <set>

namespace trainx::checkpoint {

/// The length of the text that follows it, and that: the beginning of a file.
struct SafetensorsFile::Header {
  std::string text;
  std::int64_t data_bytes = 0;
};

SafetensorsFile::Header SafetensorsFile::header_of(
    const std::vector<const TensorSource*>& order,
    const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  // transformers refuses files that do not name a framework
  header["__metadata__"].emplace("format", "pt");
  Header out;
  for (const TensorSource* t : order) {
    const std::int64_t bytes = bytes_of(*t);
    header[t->name] = {{"dtype", safetensors_name(t->dtype)},
                       {"shape", t->dims},
                       {"data_offsets", {out.data_bytes, out.data_bytes + bytes}}};
    out.data_bytes += bytes;
  }
  out.text = header.dump();
  out.text.resize((out.text.size() + 7) / 8 * 8, ' ');
  if (out.text.size() > header_limit_bytes)
    throw InternalError("too many tensors for one safetensors file");
  const std::uint64_t length = out.text.size();
  out.text.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  return out;
}

std::int64_t bytes_of(const TensorSource& t) {
  std::int64_t bytes = size_of(t.dtype);
  for (const std::int64_t d : t.dims)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes))
      throw InternalError("tensor " + t.name + " cannot be saved with its shape");
  return bytes;
}

std::vector<const TensorSource*> in_file_order(const std::vector<TensorSource>& tensors) {
  std::vector<const TensorSource*> order;
  std::set<std::string> names{"__metadata__"};
  for (const TensorSource& t : tensors) {
    if (!names.insert(t.name).second)
      throw InternalError("two tensors named " + t.name + " in one file");
    order.push_back(&t);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return size_of(a->dtype) > size_of(b->dtype); });
  return order;
}

SafetensorsFile::SafetensorsFile(const std::string& path,
                                 const std::vector<const TensorSource*>& order,
                                 const std::map<std::string, std::string>& metadata)
    : SafetensorsFile(path, header_of(order, metadata)) {}

SafetensorsFile::SafetensorsFile(const std::string& path, const Header& header)
    : file_(path, static_cast<std::int64_t>(header.text.size()) + header.data_bytes) {
  file_.write(std::as_bytes(std::span(header.text)));
}

void SafetensorsFile::append(const TensorSource& tensor) {
  const auto bytes = static_cast<std::size_t>(bytes_of(tensor));
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  tensor.fill(std::span(buffer_).first(bytes));
  file_.write(std::span(buffer_).first(bytes));
}

WrittenFile SafetensorsFile::commit() {
  file_.commit();
  return {file_.bytes(), file_.hash()};
}

WrittenFile write_safetensors_file(const std::string& path,
                                   const std::vector<TensorSource>& tensors,
                                   const std::map<std::string, std::string>& metadata) {
  const auto order = in_file_order(tensors);
  SafetensorsFile file(path, order, metadata);
  for (const TensorSource* t : order) {
    if (t->prepare) t->prepare();
    file.append(*t);
  }
  return file.commit();
}

void write_safetensors(const std::string& path, const std::vector<TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_safetensors_file(path, tensors, metadata);
  fsync_folder(folder_of(path));
}

}  // namespace trainx::checkpoint
