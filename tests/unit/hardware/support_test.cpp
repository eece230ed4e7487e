// Which GPUs the kernels of a build run on.
#include "hardware/support.hpp"
#include "support/catch.hpp"

namespace support_test {

using trainx::hardware::why_unsupported;

namespace {

bool runs(int capability, std::string_view architectures) {
  return !why_unsupported("x", capability, architectures);
}

}  // namespace

TEST_CASE("code runs on later GPUs of its major capability, PTX on all later ones") {
  struct Row {
    const char* architectures;
    int capability;
    bool runs;
  };
  for (const Row& row : {Row{"90-real", 90, true},
                         {"90-real", 80, false},
                         {"90-real", 89, false},
                         {"90-real", 100, false},
                         {"80-real", 86, true},
                         {"86-real", 80, false},
                         {"80", 90, true},
                         {"80-virtual", 120, true},
                         {"80-virtual", 75, false},
                         {"90a-real", 90, true},
                         {"90a", 100, false},
                         {"100f-real", 103, true},
                         {"100f-real", 120, false},
                         {"80-real,90a-real,120-real,120-virtual", 121, true},
                         {"80-real,90a-real,120-real,120-virtual", 89, true},
                         {"80-real,90a-real,120-real,120-virtual", 100, false}}) {
    CAPTURE(row.architectures, row.capability);
    CHECK(runs(row.capability, row.architectures) == row.runs);
  }
}

TEST_CASE("what is not known is not refused") {
  CHECK(runs(0, "90-real"));
  CHECK(runs(80, ""));  // built without CUDA
}

TEST_CASE("the refusal names the GPU, the build's capabilities and what mends it") {
  const auto no = why_unsupported("NVIDIA A10", 86, "90-real,120-real");
  REQUIRE(no);
  for (const char* word : {"NVIDIA A10", "8.6", "9.0", "12.0"})
    CHECK(no->problem.find(word) != std::string::npos);
  CHECK(no->remedy.find("86-real") != std::string::npos);
  // CUDA 13 cannot be told to compile for it
  const auto old = why_unsupported("V100", 70, "75-real");
  REQUIRE(old);
  CHECK(old->problem.find("7.5") != std::string::npos);
  CHECK(old->remedy.find("TRAINX_CUDA_ARCHITECTURES") == std::string::npos);
}

TEST_CASE("GPUs that no build computes on are known without a build") {
  using trainx::hardware::why_never_supported;
  for (const int capability : {37, 70, 75}) {
    CAPTURE(capability);
    REQUIRE(why_never_supported("a GPU", capability));
    CHECK(why_never_supported("a GPU", capability)->remedy.find("ARCHITECTURES") ==
          std::string::npos);
  }
  for (const int capability : {0, 80, 90, 120}) CHECK_FALSE(why_never_supported("x", capability));
}

}  // namespace support_test
