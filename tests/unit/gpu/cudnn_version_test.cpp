#include "gpu/cudnn_version.hpp"
#include "gpu/gpu_error.hpp"
#include "support/catch.hpp"

namespace cudnn_version_test {

using namespace trainx;
using namespace trainx::gpu;

TEST_CASE(
    "a cuDNN older than the one that trainx computes with is refused, with file and version") {
  REQUIRE_NOTHROW(require_cudnn_version(least_cudnn_version, "/a/libcudnn.so.9"));
  REQUIRE_NOTHROW(require_cudnn_version(92100, "/a/libcudnn.so.9"));
  for (const auto& [number, version] :
       {std::pair<std::size_t, std::string>{91400, "9.14.0"}, {91806, "9.18.6"}, {90101, "9.1.1"}})
    try {
      require_cudnn_version(number, "/a/libcudnn.so.9");
      FAIL(version << " was taken");
    } catch (const GpuError& error) {
      const std::string words = error.what();
      CHECK(error.code() == ExitCode::unavailable);
      for (const std::string& named : {std::string("/a/libcudnn.so.9"), version,
                                       cudnn_version(least_cudnn_version), std::string("torch")})
        CHECK(words.find(named) != std::string::npos);
    }
}

}  // namespace cudnn_version_test
