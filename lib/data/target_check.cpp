#include "data/target_check.hpp"
#include "core/error.hpp"

namespace trainx::data {
namespace {

std::string share(std::int64_t count, const FileFindings& of) {
  return std::to_string(count) + " of " + std::to_string(of.samples) + " samples";
}

}  // namespace

std::vector<std::string> check_targets(const Source& source, Split split) {
  const auto files = source.findings([](std::int64_t) { return true; });
  std::vector<std::string> sentences;
  std::int64_t samples = 0, without = 0;
  for (const FileFindings& file : files) {
    samples += file.samples;
    without += file.without_target;
    if (file.cut > 0)
      sentences.push_back(file.path + ": data.truncate cuts " + share(file.cut, file));
    if (file.without_target > 0)
      sentences.push_back(file.path + ": " + share(file.without_target, file) +
                          " have no target, so that nothing is learned of them: all labels are "
                          "-100, or cut off, or there is one token alone");
  }
  if (samples > 0 && without == samples)
    throw UserError(ExitCode::bad_data,
                    files.front().path + (files.size() > 1 ? " and the other files have" : " has") +
                        " no target in " + std::to_string(samples) + " samples, so that " +
                        (split == Split::train ? "nothing would be learned"
                                               : "no held-out loss can be computed") +
                        ": all labels are -100, or cut off by data.truncate, or there is one token "
                        "a sample; `trainx data inspect FILE` shows what is in the loss");
  return sentences;
}

}  // namespace trainx::data
