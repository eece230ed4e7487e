#pragma once
#include <string>

namespace trainx::checkpoint {

/// Holds a folder against its manifest: sizes, hashes, and that the manifest is as trainx wrote it
/// and leaves out nothing that is read. Empty, or what is wrong.
std::string problem_of_folder(const std::string& folder);

/// Does that where the folder has a manifest: a checkpoint, also one that was copied elsewhere, or
/// an export. A folder of another program's has none, and is what it is. Throws UserError 65.
void require_sound(const std::string& folder);

}  // namespace trainx::checkpoint
