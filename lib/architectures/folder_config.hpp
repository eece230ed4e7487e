// What configs of decoders and of encoder-decoders have in common: lists of families by name, and a
// folder's config.json with what a recipe decided.
#pragma once
#include "core/dtype.hpp"
#include "core/error.hpp"
#include "architectures/transformer.hpp"
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::architectures {

/// Null if none of the families has the name.
template <class Family>
const Family* family_or_null(const std::vector<Family>& families, std::string_view name) {
  const auto found = std::ranges::find(families, name, &Family::name);
  return found == families.end() ? nullptr : &*found;
}

template <class Family>
const Family& family_named(const std::vector<Family>& families, std::string_view name) {
  if (const Family* f = family_or_null(families, name)) return *f;
  throw InternalError("no family is called " + std::string(name));
}

/// Published sizes by family; read(family, text, path) reads a config.json.
template <class Dims, class Family, class Read>
std::map<std::string, Sizes<Dims>, std::less<>> sizes_by_family(const std::vector<Family>& families,
                                                                Read read) {
  std::map<std::string, Sizes<Dims>, std::less<>> out;
  for (const Family& f : families)
    for (const auto& [name, text] : f.sizes)
      out[std::string(f.name)].emplace_back(
          name, read(std::string(f.name), std::string(text), "published sizes"));
  return out;
}

/// A config.json with other values. Keys keep the spelling that the file has.
class FolderConfig {
 public:
  explicit FolderConfig(const std::string& text) : config_(nlohmann::json::parse(text)) {}

  bool has(const char* key) const { return config_.contains(key); }
  nlohmann::json& values() { return config_; }
  /// The older spelling if the file has it.
  const char* spelled(const char* older, const char* usual) const {
    return has(older) ? older : usual;
  }
  /// Null: the family has no key for the value.
  void put(const char* key, std::int64_t value) {
    if (key && (!has(key) || config_[key] != value)) config_[key] = value;
  }
  /// A dropout that differs from what the file says, or means by saying nothing.
  void put_dropout(const char* key, double said, double decided) {
    if (key && said != decided) config_[key] = decided;
  }
  /// Of the family, whose weights are saved as `saved`.
  void finish(const std::string& family, DType saved);
  std::string text() const { return config_.dump(2) + "\n"; }

 private:
  nlohmann::json config_;
};

}  // namespace trainx::architectures
