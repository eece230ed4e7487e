#pragma once
#include <map>
#include <string>

namespace trainx::app {

/// version, commit ("unknown" outside git; "+dirty" with changes), build_type, compiler, cuda
/// (empty: built without), libtorch.
const std::map<std::string, std::string>& build_info();
/// "trainx 0.1.0 (commit 0123456789ab, Release, GNU 12.2.0, no CUDA, LibTorch 2.11.0)"
std::string build_words();

}  // namespace trainx::app
