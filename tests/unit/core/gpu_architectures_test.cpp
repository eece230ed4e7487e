#include "core/gpu_architectures.hpp"
#include "support/catch.hpp"
#include <algorithm>

using trainx::GpuArchitectures;
using trainx::read_gpu_architectures;

TEST_CASE("machine code runs on later GPUs of its major number, PTX on all later ones") {
  const GpuArchitectures release =
      read_gpu_architectures("80-real,86-real,89-real,90-real,100-real,120-real,120-virtual");
  CHECK(release.code == std::vector<int>{80, 86, 89, 90, 100, 120});
  CHECK(release.ptx == std::vector<int>{120});
  for (const int capability : {80, 86, 87, 89, 90, 100, 103, 120, 121, 130})
    CHECK(release.run_on(capability));
  for (const int capability : {0, 60, 70, 75, 110}) CHECK_FALSE(release.run_on(capability));
  CHECK(release.words() == "8.0, 8.6, 8.9, 9.0, 10.0, 12.0 and later");

  const GpuArchitectures hopper = read_gpu_architectures("90-real");
  CHECK(hopper.words() == "9.0");
  CHECK(hopper.run_on(90));
  for (const int capability : {80, 89, 100, 120}) CHECK_FALSE(hopper.run_on(capability));
  CHECK_FALSE(read_gpu_architectures("89-real").run_on(86));

  const GpuArchitectures ptx = read_gpu_architectures("80-virtual");
  CHECK(ptx.code.empty());
  for (const int capability : {80, 86, 90, 120}) CHECK(ptx.run_on(capability));
  CHECK_FALSE(ptx.run_on(75));
  CHECK(ptx.words() == "8.0 and later");
}

TEST_CASE("architectures are read in any order, and what is none is left out") {
  const GpuArchitectures all = read_gpu_architectures("90a-real,86,real,,80-real,90-else");
  CHECK(all.code == std::vector<int>{80, 86, 90});
  CHECK(all.ptx == std::vector<int>{86});
  const GpuArchitectures none = read_gpu_architectures("");
  CHECK(none.words().empty());
  CHECK_FALSE(none.run_on(90));
}
