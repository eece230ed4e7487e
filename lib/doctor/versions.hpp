#pragma once
#include "facts/lines.hpp"
#include "facts/roots.hpp"
#include "facts/section_json.hpp"

namespace trainx::doctor {

using namespace facts;

/// Of what trainx stands on.
struct VersionFacts {
  std::optional<std::string> kernel, glibc;
  std::optional<std::string> nvcc, nccl;  // empty: not found, which is no fault
  std::string nvcc_path, nccl_path;
  Unread unread;
};

/// `libtorch`: path of LibTorch's library, empty where unknown; the wheels keep NCCL near it.
VersionFacts detect_versions(const Roots& roots, const std::string& libtorch);
Json to_json(const VersionFacts& facts);
Lines describe(const VersionFacts& facts);

/// Of `nvcc --version`: "13.0.88". Empty where it says none.
std::string nvcc_version(const std::string& said);
/// 22304 -> "2.23.4".
std::string nccl_version(int number);

}  // namespace trainx::doctor
