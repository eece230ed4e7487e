#include "launch/torch_folder.hpp"
#include "support/catch.hpp"

namespace torch_folder_test {

using trainx::launch::library_path;

TEST_CASE("workers look for LibTorch in the named folder first, and for its libraries beside it") {
  CHECK(library_path("/venv/torch", "") ==
        "/venv/torch/lib:/venv/nvidia/cu13/lib:/venv/nvidia/nccl/lib:/venv/nvidia/cudnn/lib");
  CHECK(library_path("/venv/torch", "/mine").ends_with("/nvidia/cudnn/lib:/mine"));
  CHECK(library_path("/venv/x/../torch/", "").find("/venv/nvidia/cu13/lib") != std::string::npos);
  CHECK(library_path("torch", "").front() == '/');
}

}  // namespace torch_folder_test
