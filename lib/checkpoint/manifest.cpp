#include "checkpoint/manifest.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>

namespace trainx::checkpoint {
namespace {

using nlohmann::json;
constexpr int version = 1;

// A whole number of `bytes` or `step`; -1 for anything else.
std::int64_t count_at(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_unsigned() || it->get<std::uint64_t>() > INT64_MAX)
    return -1;
  return it->get<std::int64_t>();
}

bool is_hash(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() == 32 &&
         value.get_ref<const std::string&>().find_first_not_of("0123456789abcdef") ==
             std::string::npos;
}

}  // namespace

bool is_file_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  const auto is_part = [](const std::string& part) {
    return !part.empty() && part.front() != '.' && part.find('/') == std::string::npos;
  };
  if (slash == std::string::npos) return is_part(name);
  return is_part(name.substr(0, slash)) && is_part(name.substr(slash + 1));
}

std::string to_json(const Manifest& manifest) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const auto& [name, file] : manifest.files)
    files[name] = {{"bytes", file.bytes}, {"xxh3_128", file.hash}};
  const nlohmann::ordered_json all = {
      {"version", version}, {"step", manifest.step}, {"files", files}};
  return all.dump(2) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw UserError(ExitCode::bad_data, path + " " + what);
  };
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) refuse("is not a JSON object");
  const std::int64_t written_by = count_at(all, "version");
  if (written_by > version)
    refuse("has version " + std::to_string(written_by) + ", newer than this trainx reads (" +
           std::to_string(version) + ")");
  Manifest manifest;
  manifest.step = count_at(all, "step");
  const auto files = all.find("files");
  if (written_by != version || manifest.step < 0 || files == all.end() || !files->is_object() ||
      files->empty())
    refuse("is damaged: version, step or files are missing");
  for (const auto& [name, entry] : files->items()) {
    if (!is_file_name(name)) refuse("is damaged: it names a file '" + name + "'");
    const std::int64_t bytes = entry.is_object() ? count_at(entry, "bytes") : -1;
    if (bytes < 0 || !entry.contains("xxh3_128") || !is_hash(entry["xxh3_128"]))
      refuse("is damaged: size or hash of " + name);
    manifest.files[name] = {bytes, entry["xxh3_128"].get<std::string>()};
  }
  return manifest;
}

}  // namespace trainx::checkpoint
