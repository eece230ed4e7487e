#include "facts/gpus.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "facts/cache.hpp"
#include "facts/nvml.hpp"
#include "facts/nvml_library.hpp"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainx::facts {
namespace {

namespace fs = std::filesystem;

std::string text_of(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// This boot, this driver, these devices.
std::string machine_key() {
  std::vector<std::string> devices;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/dev", unreadable))
    if (const std::string name = entry.path().filename().string(); name.starts_with("nvidia"))
      devices.push_back(name);
  std::ranges::sort(devices);
  std::string key = text_of("/proc/sys/kernel/random/boot_id") +
                    text_of("/proc/driver/nvidia/version") +
                    environment_variable("NVIDIA_VISIBLE_DEVICES");
  for (const std::string& device : devices) key += " " + device;
  return key + " with links";
}

}  // namespace

nlohmann::json to_json(const Gpu& gpu) {
  return {{"name", gpu.name},
          {"compute_capability", gpu.compute_capability},
          {"memory_bytes", gpu.memory_bytes},
          {"cores", gpu.cores},
          {"clock_mhz", gpu.clock_mhz},
          {"memory_bytes_per_s", gpu.memory_bytes_per_s},
          {"address", gpu.address},
          {"links",
           {{"pcie_generation", gpu.links.pcie_generation},
            {"pcie_width", gpu.links.pcie_width},
            {"nvlink_bytes_per_s", gpu.links.nvlink_bytes_per_s},
            {"nvlinks", gpu.links.nvlinks},
            {"reaches", gpu.links.reaches}}}};
}

namespace {

/// Not told where they are missing or something else.
GpuLinks links_from_json(const nlohmann::json& gpu) {
  const auto found = gpu.find("links");
  if (found == gpu.end()) return {};
  try {
    return {found->at("pcie_generation"), found->at("pcie_width"), found->at("nvlink_bytes_per_s"),
            found->at("nvlinks"), found->at("reaches")};
  } catch (const nlohmann::json::exception&) { return {}; }
}

}  // namespace

std::optional<std::vector<Gpu>> gpus_from_json(const nlohmann::json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<Gpu> gpus;
  for (const nlohmann::json& g : list) {
    const auto has = [&](const char* key, bool (nlohmann::json::*is)() const noexcept) {
      return g.is_object() && g.contains(key) && (g.at(key).*is)();
    };
    const auto has_integers = [&](auto... keys) {
      return (has(keys, &nlohmann::json::is_number_integer) && ...);
    };
    if (!has("name", &nlohmann::json::is_string) || !has("address", &nlohmann::json::is_string) ||
        !has_integers("compute_capability", "memory_bytes", "cores", "clock_mhz",
                      "memory_bytes_per_s"))
      return std::nullopt;
    gpus.push_back({g.at("name"), g.at("compute_capability"), g.at("memory_bytes"), g.at("cores"),
                    g.at("clock_mhz"), g.at("memory_bytes_per_s"), g.at("address"),
                    links_from_json(g)});
  }
  return gpus;
}

std::vector<Gpu> remembered(const std::string& file, const std::string& key,
                            const std::function<std::vector<Gpu>()>& detect) {
  const auto kept = nlohmann::json::parse(text_of(file.c_str()), nullptr, false);
  if (kept.is_object() && kept.value("key", nlohmann::json()) == key)
    if (auto gpus = gpus_from_json(kept.value("gpus", nlohmann::json()))) return *std::move(gpus);
  const std::vector<Gpu> gpus = detect();
  nlohmann::json list = nlohmann::json::array();
  for (const Gpu& gpu : gpus) list.push_back(to_json(gpu));
  try {
    make_folders(folder_of(file));
    write_file_atomic(file, nlohmann::json{{"key", key}, {"gpus", list}}.dump(
                                -1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const UserError&) {
    return gpus;  // nowhere to keep it: asked again next time
  }
  return gpus;
}

std::vector<Gpu> visible_gpus() {
  // no driver, or one in another place: NVML says so at once
  if (!fs::exists("/proc/driver/nvidia/version")) return nvml_gpus();
  const std::string folder = cache_folder();
  return folder.empty() ? nvml_gpus() : remembered(folder + "/gpus.json", machine_key(), nvml_gpus);
}

std::string why_no_gpu() {
  std::string problem;
  if (!fs::exists("/proc/driver/nvidia/version") && !NvmlLibrary::open(problem))
    return "there is no NVIDIA driver on this machine";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible && (!*visible || std::string_view(visible) == "-1"))
    return "CUDA_VISIBLE_DEVICES hides all GPUs";
  return "";
}

}  // namespace trainx::facts
