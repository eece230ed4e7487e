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
  return key;
}

}  // namespace

std::vector<std::string> remembered(const std::string& file, const std::string& key,
                                    const std::function<std::vector<std::string>()>& detect) {
  const auto kept = nlohmann::json::parse(text_of(file.c_str()), nullptr, false);
  if (kept.is_object() && kept.value("key", nlohmann::json()) == key) {
    const auto names = kept.find("gpus");
    if (names != kept.end() && names->is_array() &&
        std::ranges::all_of(*names, [](const auto& n) { return n.is_string(); }))
      return names->get<std::vector<std::string>>();
  }
  const auto names = detect();
  try {
    make_folders(folder_of(file));
    write_file_atomic(file, nlohmann::json{{"key", key}, {"gpus", names}}.dump(
                                -1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const UserError&) {
    return names;  // nowhere to keep it: asked again next time
  }
  return names;
}

std::vector<std::string> gpu_names() {
  // no driver, or one in another place: NVML says so at once
  if (!fs::exists("/proc/driver/nvidia/version")) return nvml_gpu_names();
  const std::string folder = cache_folder();
  return folder.empty() ? nvml_gpu_names()
                        : remembered(folder + "/gpus.json", machine_key(), nvml_gpu_names);
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
