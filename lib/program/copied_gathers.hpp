// Which gathers of a launch a rank may make alone, by copies from the others' memory.
#pragma once
#include "program/program.hpp"
#include <vector>

namespace trainx::program {

/// For each instruction of `steady`: is it a gather of shards that rest while the ranks copy them?
/// They lie on the device from launch to launch. Among the same ranks one collective comes before
/// it, so that each has ended the launch before, which may have written its shard; another comes
/// after it, so that no rank ends its launch, or writes the shard in it, while another still reads
/// it. Both are in the gather's lane. The first gather and those of shards that the launch has
/// written (stages 1 and 2) are not.
std::vector<bool> copied_gathers(const StepProgram& p);

}  // namespace trainx::program
