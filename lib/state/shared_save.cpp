#include "state/shared_save.hpp"
#include "checkpoint/twice.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>

namespace trainx::state {
namespace {

using nlohmann::json;

/// What `act` makes, or why it could not write, for the other ranks.
template <class Act>
json outcome_of(const Act& act) {
  try {
    return {{"made", act()}};
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
    return {{"failed", e.what()}};
  }
}

json require_made(const std::string& text) {
  const json j = json::parse(text);
  if (j.contains("failed")) throw UserError(ExitCode::io_error, j.at("failed").get<std::string>());
  return j.at("made");
}

template <class Act>
json on_first(const execute::Ranks& ranks, const Act& act) {
  return require_made(ranks.from_first(ranks.is_first() ? outcome_of(act).dump() : ""));
}

json files_of(const std::map<std::string, checkpoint::WrittenFile>& written) {
  json files = json::object();
  for (const auto& [name, file] : written) files[name] = {file.bytes, file.hash};
  return files;
}

}  // namespace

SharedSave::SharedSave(const execute::Ranks& ranks, checkpoint::Store* store, std::int64_t step,
                       const checkpoint::Contents& contents)
    : ranks_(ranks), store_(store), text_files_(contents.text_files) {
  folder_ = on_first(ranks_, [&] {
    checkpoint::twice([&] { pending_.emplace(store_->folder(), step); });
    return pending_->path();
  });
  text_files_.merge(checkpoint::shared_indices(contents, ranks.world_size()));
}

void SharedSave::write(const checkpoint::Contents& contents) {
  outcome_ = outcome_of([&] {
               return files_of(
                   checkpoint::write_shared(folder_, contents, ranks_.rank(), ranks_.world_size()));
             }).dump();
}

void SharedSave::gather(const checkpoint::Contents& contents) {
  share_ = checkpoint::gather_share(contents, ranks_.rank(), ranks_.world_size());
}

void SharedSave::write_gathered() {
  outcome_ = outcome_of([&] {
               return files_of(
                   checkpoint::twice([&] { return checkpoint::write_share(folder_, share_); }));
             }).dump();
}

std::string SharedSave::finish(std::int64_t keep_last, bool is_best) {
  std::vector<json> written;
  for (const std::string& text : ranks_.exchange(outcome_)) written.push_back(require_made(text));
  return on_first(ranks_, [&] {
    for (const json& of_rank : written)
      for (const auto& [name, file] : of_rank.items())
        pending_->add(name, {file.at(0), file.at(1)});
    for (const auto& [name, text] : text_files_)
      checkpoint::twice([&] { pending_->write_text(name, text); });
    return store_->finish(*pending_, keep_last, is_best);
  });
}

}  // namespace trainx::state
