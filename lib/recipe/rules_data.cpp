// Data: sources, held-out files, shares of a mixture, rows.
#include "recipe/rule_set.hpp"
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>

namespace trainx::recipe {
namespace {

class DataRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    // key of the source that names it, by path
    std::map<std::string, std::string> trained_on;
    for_each_source([&](const std::string& prefix, const auto& source) {
      if constexpr (requires { source.train; })
        for (const std::string& name : source.train.names)
          trained_on.emplace(name, prefix + "train");
    });
    for_each_source([&](const std::string& prefix, const auto& source) {
      if constexpr (requires { source.packed; }) packed(prefix, source);
      if constexpr (requires { source.train; }) {
        same_files(prefix, source.train, source.eval, trained_on);
        refuse(
            source.held_out && source.eval, prefix + "held_out", {prefix + "type", prefix + "eval"},
            "cannot go together with eval, which names held-out data already: remove one of them");
      }
      refuse(source.fills_rows && options::has_labels(options::task(r_.model.options)),
             prefix + "type", {"model.type", "model.options.task"},
             "gives no class to learn: classification takes type jsonl or csv");
      refuse(source.fills_rows && options::task(r_.model.options) == options::Task::seq2seq,
             prefix + "type", {"model.type", "model.options.task"},
             "gives no text to write: seq2seq takes type jsonl or csv, with input_ids and labels");
    });
    if (const auto* mixture = std::get_if<options::MixtureOptions>(&r_.data.source))
      shares(*mixture);
    padding();
    // a folder may say which type it is
    refuse(r_.data.target_length && !r_.model.init_from &&
               options::task(r_.model.options) != options::Task::seq2seq,
           "data.target_length", {"model.type", "model.options.task"},
           "can have no effect with " + alternative_name(r_.model.options) +
               ", whose targets are the tokens' own text: leave it out");
  }

 private:
  void packed(const std::string& prefix, const options::JsonlOptions& source) {
    refuse(source.packed && !options::packs(r_.model.options), prefix + "packed",
           {prefix + "type", "model.type"},
           "keeps documents of a row apart, which " + alternative_name(r_.model.options) +
               " cannot: leave it out, and give a document a line");
    refuse(source.packed && source.truncate, prefix + "packed",
           {prefix + "type", prefix + "truncate"},
           "cannot go together with truncate, which would cut documents: `trainx data pack` cuts "
           "them");
  }

  /// As far as names tell: what globs match is looked up with the data.
  void same_files(const std::string& prefix, const options::FileList& train,
                  const std::optional<options::FileList>& eval,
                  const std::map<std::string, std::string>& trained_on) {
    const std::string key = prefix + "eval";
    if (!eval) return;
    refuse(eval->empty(), key, {prefix + "type"}, "must not be empty (did you mean null?)");
    if (eval->empty()) return;
    refuse(*eval == train, key, {prefix + "type", prefix + "train"},
           "is the training data itself: held-out data must differ from it");
    if (*eval == train) return;
    for (const std::string& name : eval->names) {
      const auto found = trained_on.find(name);
      if (found == trained_on.end()) continue;
      refuse(true, key, {prefix + "type", found->second},
             "has " + yaml::excerpt(name) + ", which " + found->second +
                 " names too: held-out data must differ from what is trained on");
      return;
    }
  }

  void shares(const options::MixtureOptions& mixture) {
    constexpr std::size_t most_sources = 256;
    // a block of a mixture has 1024 samples at most, one of each source at least
    constexpr double least_share = 1.0 / 1024;
    refuse(mixture.sources.size() > most_sources, "data.sources", {},
           "must be at most " + std::to_string(most_sources) + ", not " +
               std::to_string(mixture.sources.size()));
    const auto first_bad = reading_.bad.lower_bound("data.sources");
    if (first_bad != reading_.bad.end() && first_bad->starts_with("data.sources")) return;
    double sum = 0;
    bool words = false, bytes = false;
    for (const options::MixtureEntry& entry : mixture.sources) {
      sum += entry.weight;
      words = words || std::holds_alternative<options::StoriesOptions>(entry.source);
      bytes = bytes || std::holds_alternative<options::TextOptions>(entry.source);
    }
    refuse(words && bytes, "data.sources", {},
           "cannot be both stories and text: the same token id is a word of the one and a byte of "
           "the other");
    for (std::size_t i = 0; i < mixture.sources.size(); ++i) {
      refuse(!(mixture.sources[i].weight >= least_share * sum),
             "data.sources[" + std::to_string(i) + "].weight", {"data.sources"},
             "must be at least 1/1024 of the sum of all weights (" + write_value(sum) + "), not " +
                 write_value(mixture.sources[i].weight));
    }
  }

  void padding() {
    const auto& pad_to = r_.data.pad_to.value;
    const std::int64_t longest = r_.data.sequence_length;
    const bool padded = !options::always_fills_rows(r_.data.source);
    const std::initializer_list<std::string> also{"data.type", "data.sources",
                                                  "data.sequence_length"};
    const std::string no_effect = "can have no effect: samples of type " +
                                  alternative_name(r_.data.source) + " always fill their row";
    refuse(!padded && r_.data.group_by_length, "data.group_by_length", also, no_effect);
    refuse(padded && r_.data.group_by_length && !r_.data.shuffle, "data.group_by_length",
           {"data.type", "data.sources", "data.shuffle"},
           "rearranges samples, which shuffle: false forbids: leave one of them out");
    if (!pad_to) return;
    const bool ascending =
        !pad_to->empty() &&
        std::adjacent_find(pad_to->begin(), pad_to->end(), std::greater_equal<>()) == pad_to->end();
    refuse(!ascending, "data.pad_to", also,
           pad_to->empty() ? "must not be empty; auto lets trainx pick"
                           : "must be ascending, each length once, not " + write_value(*pad_to));
    if (!ascending) return;
    refuse(!padded && *pad_to != std::vector{longest}, "data.pad_to", also, no_effect);
    refuse(padded && pad_to->back() != longest, "data.pad_to", also,
           "must end with sequence_length (" + std::to_string(longest) + "), not with " +
               std::to_string(pad_to->back()) + ": some batch may hold a sample as long as that");
  }
};

}  // namespace

void check_data_rules(const RuleContext& context) { DataRules(context).check(); }

}  // namespace trainx::recipe
