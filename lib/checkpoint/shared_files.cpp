#include "checkpoint/shared_files.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <memory>
#include <optional>

namespace trainx::checkpoint {
namespace {

/// Which rank writes each tensor: in the order of the file whoever has the fewest bytes so far, and
/// all of an empty file, or of a whole one, rank 0.
std::vector<int> writers_of(const std::vector<const TensorSource*>& order, int world_size,
                            bool whole) {
  if (whole) return std::vector<int>(order.size());
  std::vector<std::int64_t> load(static_cast<std::size_t>(world_size));
  std::vector<int> out;
  for (const TensorSource* t : order) {
    const auto least = std::ranges::min_element(load);
    *least += bytes_of(*t);
    out.push_back(static_cast<int>(least - load.begin()));
  }
  return out;
}

std::string stem_of(const std::string& file) { return file.substr(0, file.rfind(".safetensors")); }

/// Shards that hold something, and the name of each rank's.
std::vector<std::string> names_of(const std::string& file, const std::vector<int>& writers,
                                  int world_size) {
  std::vector<std::string> names(static_cast<std::size_t>(world_size));
  // ranks get their first tensor in order
  const auto holding =
      static_cast<std::size_t>(writers.empty() ? 1 : 1 + *std::ranges::max_element(writers));
  for (std::size_t r = 0; r < holding; ++r) names[r] = shard_name(stem_of(file), r + 1, holding);
  return names;
}

}  // namespace

std::map<std::string, WrittenFile> write_shared(const std::string& folder, const Contents& contents,
                                                int rank, int world_size) {
  std::map<std::string, WrittenFile> written;
  std::optional<UserError> failed;
  for (const auto& [file, tensors] : contents.tensor_files) {
    const auto order = in_file_order(tensors);
    const std::vector<int> writers =
        writers_of(order, world_size, contents.whole_files.contains(file));
    const std::string name = names_of(file, writers, world_size)[static_cast<std::size_t>(rank)];
    std::vector<const TensorSource*> mine;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (writers[k] == rank) mine.push_back(order[k]);
    std::optional<SafetensorsFile> out;
    const auto attempt = [&](const auto& act) {
      if (failed || name.empty()) return;
      try {
        act();
      } catch (const UserError& e) {
        failed = e;
        out.reset();
      }
    };
    attempt([&] { out.emplace(folder + "/" + name, mine, std::map<std::string, std::string>{}); });
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (order[k]->prepare) order[k]->prepare();
      if (writers[k] == rank) attempt([&] { out->append(*order[k]); });
    }
    attempt([&] { written[name] = out->commit(); });
  }
  if (failed) throw *failed;
  return written;
}

Share gather_share(const Contents& contents, int rank, int world_size) {
  Share share;
  for (const auto& [file, tensors] : contents.tensor_files) {
    const auto order = in_file_order(tensors);
    const std::vector<int> writers =
        writers_of(order, world_size, contents.whole_files.contains(file));
    const std::string name = names_of(file, writers, world_size)[static_cast<std::size_t>(rank)];
    if (!name.empty()) share[name];
    for (std::size_t k = 0; k < order.size(); ++k) {
      const TensorSource& tensor = *order[k];
      if (tensor.prepare) tensor.prepare();
      if (writers[k] != rank) continue;
      const auto bytes =
          std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes_of(tensor)));
      tensor.fill(*bytes);
      share[name].push_back(
          {tensor.name,
           tensor.dtype,
           tensor.dims,
           [bytes](std::span<std::byte> out) { std::ranges::copy(*bytes, out.begin()); },
           {}});
    }
  }
  return share;
}

std::map<std::string, WrittenFile> write_share(const std::string& folder, const Share& share) {
  std::map<std::string, WrittenFile> written;
  for (const auto& [name, tensors] : share)
    written[name] = write_safetensors_file(folder + "/" + name, tensors, {});
  return written;
}

std::map<std::string, std::string> shared_indices(const Contents& contents, int world_size) {
  std::map<std::string, std::string> out;
  for (const auto& [file, tensors] : contents.tensor_files) {
    const auto order = in_file_order(tensors);
    const std::vector<int> writers =
        writers_of(order, world_size, contents.whole_files.contains(file));
    const std::vector<std::string> names = names_of(file, writers, world_size);
    if (names.size() < 2 || names[1].empty()) continue;  // one file, as ever
    WeightMap files;
    std::int64_t total = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      files[order[k]->name] = names[static_cast<std::size_t>(writers[k])];
      total += bytes_of(*order[k]);
    }
    out[index_name(stem_of(file))] = weights_index_text(files, total);
  }
  return out;
}

}  // namespace trainx::checkpoint
