// The recipes of `trainx init`: a few settings each; everything else is shown as a comment with its default and description.
#include "core/suggest.hpp"
#include "recipe/key_path.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <utility>

namespace trainx::recipe {
namespace {

struct Template {
  std::string name, purpose;
  std::vector<std::string> settings;    // key=value, as on the command line
};

const std::vector<Template>& templates() {
  static const std::vector<Template> all{
      {"quickstart",
       "a small GPT-2 on built-in stories: minutes on two CPU cores, needs no files",
       {"run.name=quickstart", "run.duration=400 steps", "model.type=gpt2", "model.options={num_layers: 2, num_heads: 4, hidden_size: 128, max_positions: 128}", "data.type=stories",
        "data.sequence_length=64", "batch.global_batch_size=32", "batch.micro_batch_size=16", "optimizer.type=adamw", "optimizer.lr=3e-3", "optimizer.options.beta2=0.95",
        "optimizer.options.weight_decay=0.1", "schedule.type=cosine", "schedule.warmup=40 steps", "schedule.final_ratio=0.1", "checkpoint.every=200 steps", "eval.every=100 steps"}},
      {"gpt2",
       "GPT-2 124m on token files, as in its reproductions",
       {"run.name=gpt2-124m", "run.duration=1 epoch", "model.type=gpt2", "model.size=124m", "data.type=tokens", "data.train=data/train.bin", "data.eval=data/val.bin",
        "data.sequence_length=1024", "batch.global_batch_size=512", "batch.micro_batch_size=8", "precision.compute=bf16", "optimizer.type=adamw", "optimizer.lr=6e-4",
        "optimizer.options.beta2=0.95", "optimizer.options.weight_decay=0.1", "schedule.type=cosine", "schedule.warmup=700 steps", "schedule.final_ratio=0.1",
        "checkpoint.every=500 steps", "eval.every=250 steps"}},
      {"text",
       "a small GPT-2 on your own UTF-8 text, one token a byte",
       {"run.name=text", "run.duration=2000 steps", "model.type=gpt2", "model.options={num_layers: 4, num_heads: 4, hidden_size: 256, max_positions: 256}", "data.type=text",
        "data.train=data/train.txt", "data.sequence_length=256", "batch.global_batch_size=32", "batch.micro_batch_size=8", "optimizer.type=adamw", "optimizer.lr=1e-3",
        "optimizer.options.beta2=0.95", "optimizer.options.weight_decay=0.1", "schedule.type=cosine", "schedule.warmup=100 steps", "schedule.final_ratio=0.1",
        "checkpoint.every=500 steps"}},
      {"bert",
       "BERT base as a classifier of labelled JSON lines of token ids; model.init_from takes a pretrained folder in place of model.size",
       {"run.name=bert-classifier", "run.duration=3 epochs", "model.type=bert", "model.size=base", "model.options={task: classification, num_labels: 2, dropout: 0.1}",
        "data.type=jsonl", "data.train=data/train.jsonl", "data.eval=data/eval.jsonl", "data.sequence_length=512", "data.group_by_length=true",
        "batch.global_batch_size=32", "batch.micro_batch_size=8", "optimizer.type=adamw", "optimizer.lr=3e-5", "schedule.type=linear", "schedule.warmup=100 steps",
        "checkpoint.every=500 steps", "eval.every=250 steps"}},
  };
  return all;
}

/// Writes what is set, and the rest as comments.
class CommentedWriter {
 public:
  explicit CommentedWriter(const Origins& origins) : origins_(origins) {}

  void begin(std::string_view key) { open(key, ""); }
  void end() { path_.pop(); }

  template <class T>
  void operator()(std::string_view key, T& value, const Limits&, std::string_view doc) {
    add(key, write_value(value), std::string(doc) + choices(value));
  }
  template <class Entry>
  void list(std::string_view key, std::vector<Entry>& entries, std::string_view doc) {
    open(key, std::string(doc));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      path_.push_item(i);
      starts_item_ = true;
      walk_entry(*this, entries[i]);
      path_.pop();
    }
    path_.pop();
  }
  template <class Variant>
  void type(Variant& variant) {
    add("type", alternative_name(variant), joined(alternative_names(variant), " | "));
  }
  template <class Variant>
  void alternative(Variant& variant) {
    std::visit([&](auto& options) { visit_fields(*this, options); }, variant);
  }

  std::string text() const {
    constexpr std::size_t widest = 46;
    std::string out;
    for (const Line& line : lines_) {
      if (line.depth == 0) out += '\n';
      // Inside a section that is commented out as a whole the '#' stands in front, so that removing "# " leaves the indentation.
      std::string written = (line.set ? std::string(2 * line.depth, ' ') : "# " + std::string(2 * line.depth, ' ')) + line.text;
      if (!line.doc.empty()) written += std::string(written.size() < widest ? widest - written.size() : 0, ' ') + "  # " + line.doc;
      out += written + '\n';
    }
    return out;
  }

 private:
  struct Line { bool set = false; std::size_t depth = 0; std::string text, doc; };
  template <class T>
  static std::string choices(const T& value) {
    if constexpr (NamedEnum<T>) return " (" + type_text(value) + ")";
    else return "";
  }
  template <class T>
  static std::string choices(const spec::Auto<T>& value) {
    if constexpr (NamedEnum<T>) return " (" + type_text(value) + ")";
    else return "";
  }

  /// Whether any key that starts with `prefix` is set.
  bool is_set(const std::string& prefix) const {
    for (auto it = origins_.lower_bound(prefix); it != origins_.end() && it->first.starts_with(prefix); ++it)
      if (it->second != "default") return true;
    return false;
  }
  /// A key with what is in it.
  void open(std::string_view key, std::string doc) {
    const std::string path = path_.child(key);
    push_line(is_set(path + ".") || is_set(path + "["), std::string(key) + ":", std::move(doc));
    path_.push(key);
  }
  void add(std::string_view key, const std::string& value, std::string doc) {
    const auto origin = origins_.find(path_.child(key));
    push_line(origin != origins_.end() && origin->second != "default", std::string(key) + ": " + value, std::move(doc));
  }
  /// The first line of a list's item stands behind its dash, and is there whether set or not.
  void push_line(bool set, const std::string& text, std::string doc) {
    if (std::exchange(starts_item_, false)) lines_.push_back({true, path_.depth() - 1, "- " + text, std::move(doc)});
    else lines_.push_back({set, path_.depth(), text, std::move(doc)});
  }

  const Origins& origins_;
  KeyPath path_;
  bool starts_item_ = false;
  std::vector<Line> lines_;
};

}  // namespace

const std::vector<std::pair<std::string, std::string>>& init_names() {
  static const std::vector<std::pair<std::string, std::string>> names = [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const Template& t : templates()) out.emplace_back(t.name, t.purpose);
    return out;
  }();
  return names;
}

std::string commented_recipe(const std::string& name) {
  std::vector<std::string> names;
  for (const Template& t : templates()) {
    if (t.name != name) {
      names.push_back(t.name);
      continue;
    }
    LoadOptions options;
    options.overrides = t.settings;
    LoadedRecipe loaded = parse_recipe("{}", name, options);
    CommentedWriter writer(loaded.origins);
    walk(writer, loaded.recipe);
    return "# " + t.purpose + ".\n# What is commented out shows its default. `trainx validate FILE` checks, `trainx show FILE` says where each value comes from.\n" +
           writer.text();
  }
  throw UserError(ExitCode::usage, "there is no recipe '" + name + "' to start from: " + joined(names, ", ") + did_you_mean(name, names));
}

}  // namespace trainx::recipe
