// Names inside a run's folder, and the atomic ways to change them.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include <cstdint>
#include <optional>

namespace trainx::checkpoint {

/// "checkpoint-60"
std::string checkpoint_name(std::int64_t step);
/// The step of exactly such a name.
std::optional<std::int64_t> step_of(const std::string& name);

/// Removes what killed processes left: partial folders and links. Only for the holder of the
/// folder's lock.
void remove_leftovers(const std::string& folder);
/// Puts a finished folder under its name in one step; one that was there is then gone.
void put_in_place(const std::string& folder, const std::string& partial, const std::string& name);
/// Points `folder/link` at `name` in one step.
void point_link(const std::string& folder, const std::string& link, const std::string& name);
/// What a link points at; empty where there is none.
std::string target_of_link(const std::string& folder, const std::string& link);
/// First takes the name away, then the bytes, so that a kill in between leaves no half of a
/// checkpoint under a checkpoint's name.
void remove_checkpoint(const std::string& folder, const std::string& name);

}  // namespace trainx::checkpoint
