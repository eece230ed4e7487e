#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/git_lfs.hpp"
#include <bit>
#include <cstring>

namespace trainx::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian and are mapped as they lie");

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path, UnreadTensors unread)
    : path_(path), file_(open_regular_file(path), path) {
  refuse_git_lfs_pointer(file_.bytes(), path);
  const std::byte* const bytes = file_.bytes().data();
  const std::size_t size = file_.bytes().size();
  constexpr std::size_t length_bytes = 8;
  if (size < length_bytes)
    throw UserError(ExitCode::bad_data, path + ": the file is truncated: " + std::to_string(size) +
                                            " bytes, not even the length of a header (byte 0)");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes, length_bytes);
  if (header_bytes > header_limit_bytes)
    throw UserError(
        ExitCode::bad_data,
        path + ": a header of " + std::to_string(header_bytes) +
            " bytes, more than the format allows (byte 0): this is no safetensors file");
  if (header_bytes > size - length_bytes)
    throw UserError(ExitCode::bad_data,
                    path + ": the file is truncated: its header has " +
                        std::to_string(header_bytes) + " bytes, the file only " +
                        std::to_string(size - length_bytes) + " after the length (byte 8)");
  const std::size_t data_start = length_bytes + header_bytes;
  SafetensorsHeader header = parse_safetensors_header(
      {reinterpret_cast<const char*>(bytes) + length_bytes, header_bytes}, path,
      static_cast<std::int64_t>(length_bytes), static_cast<std::int64_t>(size - data_start));
  for (auto& [name, t] : header.tensors) {
    if (t.unread) {
      unread_.emplace(name, t.unread->name);
      if (unread == UnreadTensors::refused) refuse_unread(name);
      continue;
    }
    tensors_[name] = {t.dtype,
                      std::move(t.dims),
                      {bytes + data_start + t.begin, static_cast<std::size_t>(t.end - t.begin)}};
  }
  metadata_ = std::move(header.metadata);
}

void SafetensorsReader::refuse_unread(const std::string& name) const {
  throw UserError(ExitCode::bad_data, path_ + ": tensor " + in_quotes(name) + " has dtype " +
                                          in_quotes(unread_.at(name)) +
                                          ", which trainx does not read (it reads " +
                                          safetensors_dtype_names() + ")");
}

}  // namespace trainx::checkpoint
