#pragma once
#include "facts/finding.hpp"
#include "facts/lines.hpp"
#include "facts/section_json.hpp"

namespace trainx::doctor {

using namespace facts;

/// What the build decided; trainx's own binary tells.
struct BuildFacts {
  std::string type, compiler;
  // version of the toolkit that the CUDA parts were built with; empty: built without
  std::string cuda;
};

/// trainx itself: the command, its worker, and the LibTorch that the worker computes with.
struct InstallationFacts {
  std::string version;
  BuildFacts build;
  std::string worker;  // path
  bool worker_present = false;
  std::optional<std::string> worker_version;  // as it answers --describe
  std::string worker_problem;                 // why it does not
  std::optional<std::string> libtorch;        // path of the library that the worker loads
  // that the worker needs and the loader does not find
  std::vector<std::string> missing_libraries;
  Unread unread;
};

InstallationFacts detect_installation(const std::string& worker, const BuildFacts& build);
Findings findings_of(const InstallationFacts& facts);
Json to_json(const InstallationFacts& facts);
Lines describe(const InstallationFacts& facts);

/// From what the loader lists ("libc10.so => /path/libc10.so (0x...)", "libc10.so => not found").
void read_loaded_libraries(const std::string& listing, InstallationFacts& facts);

}  // namespace trainx::doctor
