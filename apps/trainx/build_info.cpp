#include "build_info.hpp"
#include "core/version.hpp"

namespace trainx::app {

extern const char* const build_commit;  // cmake/WriteCommit.cmake

const std::map<std::string, std::string>& build_info() {
  static const std::map<std::string, std::string> info{
      {"version", std::string(version)}, {"commit", build_commit},
      {"build_type", TRAINX_BUILD_TYPE}, {"compiler", TRAINX_COMPILER},
      {"cuda", TRAINX_CUDA_VERSION},     {"libtorch", TRAINX_LIBTORCH_VERSION}};
  return info;
}

std::string build_words() {
  const auto& b = build_info();
  return "trainx " + b.at("version") + " (commit " + b.at("commit") + ", " + b.at("build_type") +
         ", " + b.at("compiler") + ", " +
         (b.at("cuda").empty() ? "no CUDA" : "CUDA " + b.at("cuda")) + ", LibTorch " +
         b.at("libtorch") + ")";
}

}  // namespace trainx::app
