#pragma once
#include <optional>
#include <string>

namespace trainx::recipe {

/// The file's text, cut after the first byte beyond what a recipe may have. Nothing where it cannot
/// be read: `problem` then completes "PATH ..."
/// ("does not exist (did you mean 'configs/quickstart.yaml'?)").
std::optional<std::string> read_text_file(const std::string& path, std::string& problem);

}  // namespace trainx::recipe
