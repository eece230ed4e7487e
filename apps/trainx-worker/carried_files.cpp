#include "carried_files.hpp"
#include "checkpoint/carried_files.hpp"
#include "corpus/about_file.hpp"
#include "data/files/file_list.hpp"
#include "tokenizer/tokenizer.hpp"
#include <filesystem>
#include <optional>

namespace trainx::worker {
namespace {

struct DataTokenizer {
  std::string data;  // the file that says so
  corpus::AboutFile about;
};

/// The tokenizer of all training data; nothing where a source does not say, or two differ.
std::optional<DataTokenizer> tokenizer_of(const options::DataOptions& data) {
  std::optional<DataTokenizer> found;
  bool agree = true;
  options::for_each_source(data, [&](const auto& source) {
    if constexpr (requires { source.train; }) {
      for (const std::string& file : data::expand(source.train)) {
        DataTokenizer one{file, corpus::read_about(file)};
        agree = agree && !one.about.tokenizer.empty() &&
                (!found || found->about.tokenizer == one.about.tokenizer);
        found = std::move(one);
      }
    } else {
      agree = false;
    }
  });
  return agree ? found : std::nullopt;
}

}  // namespace

std::map<std::string, std::string> carried_files(const std::string& began_from,
                                                 const plan::RunPlan& plan,
                                                 metrics::Console* console) {
  auto files = began_from.empty() ? std::map<std::string, std::string>()
                                  : checkpoint::read_carried_files(began_from);
  if (!began_from.empty() && tokenizer::has_tokenizer(began_from)) return files;
  const auto made_with = tokenizer_of(plan.recipe.data.source);
  if (!made_with) return files;
  const auto& [data, about] = *made_with;
  const auto leave_out = [&](const std::string& why) {
    if (console)
      console->warning(data + " was made with " + about.tokenizer + ", " + why +
                       ": checkpoints are written without a tokenizer");
    return files;
  };
  if (!std::filesystem::is_regular_file(about.tokenizer)) return leave_out("which is not there");
  if (about.vocab_size > architectures::vocab_size(plan.dims))
    return leave_out("which has " + std::to_string(about.vocab_size) +
                     " tokens, but model.options.vocab_size is " +
                     std::to_string(architectures::vocab_size(plan.dims)));
  auto more = checkpoint::read_tokenizer_files(about.tokenizer);
  files.merge(more);
  return files;
}

std::string tokenizer_beside(const std::string& began_from, const plan::RunPlan& plan) {
  if (!began_from.empty() && tokenizer::has_tokenizer(began_from)) return began_from;
  const auto made_with = tokenizer_of(plan.recipe.data.source);
  const bool fits = made_with && std::filesystem::is_regular_file(made_with->about.tokenizer) &&
                    made_with->about.vocab_size <= architectures::vocab_size(plan.dims);
  return fits ? made_with->about.tokenizer : "";
}

}  // namespace trainx::worker
