#pragma once
#include "data/source.hpp"
#include <string>
#include <vector>

namespace trainx::worker {

/// The file of a checkpoint that says which files its run was trained on.
constexpr const char* data_files_name = "data_files.json";
std::string data_files_text(const std::vector<data::DataFile>& files);

/// Throws UserError 78 if the run in `run_folder` began with files of other names, sizes or order
/// than `files`, as its checkpoint says; older checkpoints say nothing. Folders may differ: data
/// can be moved.
void require_same_files(const std::string& run_folder, const std::string& checkpoint,
                        const std::vector<data::DataFile>& files);

}  // namespace trainx::worker
