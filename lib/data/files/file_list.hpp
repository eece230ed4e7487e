// Which files a source of data is made of.
#pragma once
#include "data/source.hpp"
#include "options/data/options.hpp"
#include <string>
#include <vector>

namespace trainx::data {

/// The files of a list in its order; a glob (*, ?, [...]) stands for what it matches, sorted by
/// name byte by byte. A path that is there is itself, whatever characters it has; one without such
/// characters is itself also where it is missing. A folder with files of several splits
/// (files_of_split) stands for those of `split`. Throws UserError 66 for a glob that matches
/// nothing, 78 for a file named twice.
std::vector<std::string> expand(const options::FileList& files, Split split = Split::train);

/// Throws as `expand` does for the files of all sources, and UserError 78 for a file that is both
/// trained on and held out.
void check_files(const options::DataOptions& options);

}  // namespace trainx::data
