#include "train/save_checkpoint.hpp"
#include "checkpoint/pending.hpp"
#include "checkpoint/shared_files.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>
#include <optional>

namespace trainx::train {
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

}  // namespace

std::string save_together(const Ranks& ranks, checkpoint::Store* store, std::int64_t step, const checkpoint::Contents& contents, std::int64_t keep_last, bool is_best) {
  std::optional<checkpoint::Pending> pending;
  const auto on_first = [&](const auto& act) { return require_made(ranks.from_first(ranks.is_first() ? outcome_of(act).dump() : "")); };
  const std::string folder = on_first([&] {
    pending.emplace(store->folder(), step);
    return pending->path();
  });
  const std::vector<std::string> told = ranks.exchange(outcome_of([&] {
                                                         json files = json::object();
                                                         for (const auto& [name, file] : checkpoint::write_shared(folder, contents, ranks.rank(), ranks.world_size())) files[name] = {file.bytes, file.hash};
                                                         return files;
                                                       }).dump());
  std::vector<json> written;
  for (const std::string& text : told) written.push_back(require_made(text));
  return on_first([&] {
    for (const json& of_rank : written)
      for (const auto& [name, file] : of_rank.items()) pending->add(name, {file.at(0), file.at(1)});
    for (const auto& [name, text] : checkpoint::shared_indices(contents, ranks.world_size())) pending->write_text(name, text);
    for (const auto& [name, text] : contents.text_files) pending->write_text(name, text);
    return store->finish(*pending, keep_last, is_best);
  });
}

}  // namespace trainx::train
