#include "doctor/versions.hpp"
#include "core/process.hpp"
#include "doctor/program_output.hpp"
#include "facts/nvml_library.hpp"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <unistd.h>
#include <filesystem>
#include <memory>
#include <sstream>

namespace trainx::doctor {

using namespace facts;
namespace {

std::string find_nvcc() {
  std::istringstream folders(environment_variable("PATH") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string path = folder + "/nvcc";
        !folder.empty() && ::access(path.c_str(), X_OK) == 0)
      return path;
  return {};
}

void find_nccl(const std::string& libtorch, VersionFacts& facts) {
  std::vector<std::string> candidates;
  // <site>/torch/lib/libtorch_cpu.so and <site>/nvidia/nccl/lib/libnccl.so.2
  if (!libtorch.empty()) {
    const auto site = std::filesystem::path(libtorch).parent_path().parent_path().parent_path();
    candidates.push_back((site / "nvidia/nccl/lib/libnccl.so.2").string());
  }
  candidates.emplace_back("libnccl.so.2");  // wherever the loader looks
  for (const std::string& path : candidates) {
    const std::unique_ptr<void, CloseLibrary> library(
        ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL));
    if (!library) continue;
    const auto version_of =
        reinterpret_cast<int (*)(int*)>(::dlsym(library.get(), "ncclGetVersion"));
    int number = 0;
    if (!version_of || version_of(&number) != 0) {
      facts.unread["nccl"] = path + " does not tell its version";
      continue;
    }
    facts.unread.erase("nccl");
    facts.nccl = nccl_version(number);
    facts.nccl_path = path;
    return;
  }
}

}  // namespace

// "Cuda compilation tools, release 13.0, V13.0.88"
std::string nvcc_version(const std::string& said) {
  const auto at = said.rfind(", V");
  if (at == std::string::npos) return {};
  const auto end = said.find_first_not_of("0123456789.", at + 3);
  return said.substr(at + 3, end == std::string::npos ? end : end - at - 3);
}

std::string nccl_version(int number) {
  // up to 2.8 the major number stood before three digits
  const int digits = number < 10000 ? 1000 : 10000;
  return std::to_string(number / digits) + "." + std::to_string(number % digits / 100) + "." +
         std::to_string(number % 100);
}

VersionFacts detect_versions(const Roots& roots, const std::string& libtorch) {
  VersionFacts facts;
  facts.kernel = text_of(roots.proc + "/sys/kernel/osrelease", "kernel", facts.unread);
  facts.glibc = ::gnu_get_libc_version();
  if (facts.nvcc_path = find_nvcc(); !facts.nvcc_path.empty()) {
    const ProgramOutput said = run_program(facts.nvcc_path, {"--version"}, {}, 3);
    if (const std::string number = nvcc_version(said.out); said.fine() && !number.empty())
      facts.nvcc = number;
    else
      facts.unread["nvcc"] = facts.nvcc_path + ": " +
                             (said.problem.empty() ? "it does not tell its version" : said.problem);
  }
  find_nccl(libtorch, facts);
  return facts;
}

Json to_json(const VersionFacts& facts) {
  Json j = Json::object();
  put(j, "kernel", facts.kernel);
  put(j, "glibc", facts.glibc);
  if (facts.nvcc) j["nvcc"] = {{"version", *facts.nvcc}, {"path", facts.nvcc_path}};
  if (facts.nccl) j["nccl"] = {{"version", *facts.nccl}, {"path", facts.nccl_path}};
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const VersionFacts& facts) {
  Lines lines{joined({facts.kernel ? "Linux " + *facts.kernel : "",
                      facts.glibc ? "glibc " + *facts.glibc : "",
                      facts.nvcc ? "nvcc " + *facts.nvcc : "no nvcc",
                      facts.nccl ? "NCCL " + *facts.nccl : "no NCCL"})};
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor
