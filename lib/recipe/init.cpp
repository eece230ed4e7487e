// The recipes of `trainx init`: a few settings each; everything else is shown as a comment with its
// default and description.
#include "core/suggest.hpp"
#include "recipe/key_path.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <sstream>
#include <utility>

namespace trainx::recipe {
namespace {

struct Template {
  std::string name, purpose;
  std::vector<std::string> settings;  // key=value, as on the command line
  InitSteps before = {};
};

const std::vector<Template>& templates() {
  static const std::vector<Template> all{
      {"quickstart",
       "a small GPT-2 on built-in stories: minutes on two CPU cores, needs no files",
       {"run.duration=600 steps", "model.type=gpt2",
        "model.options={num_layers: 2, num_heads: 4, hidden_size: 128, max_positions: 128, "
        "initializer_range: 0.06}",
        "data.type=stories", "data.samples=65536", "data.eval_samples=256",
        "data.sequence_length=128", "batch.global_batch_size=24", "optimizer.type=adamw",
        "optimizer.lr=3e-3", "optimizer.options.beta2=0.99", "optimizer.options.weight_decay=0.01",
        "schedule.type=cosine", "schedule.warmup=50 steps", "schedule.final_ratio=0.05",
        "checkpoint.every=200 steps", "eval.every=200 steps", "eval.batches=16"}},
      {"gpt2",
       "GPT-2 124M on token files of your own text",
       {"run.duration=2000 steps", "model.type=gpt2", "model.size=124m", "data.type=tokens",
        "data.train=data/train.bin", "data.eval=data/val.bin", "data.sequence_length=1024",
        "batch.global_batch_size=48", "precision.compute=bf16", "optimizer.type=adamw",
        "optimizer.lr=6e-4", "optimizer.options.beta2=0.95", "optimizer.options.weight_decay=0.1",
        "schedule.type=cosine", "schedule.warmup=100 steps", "schedule.final_ratio=0.1",
        "checkpoint.every=500 steps", "eval.every=250 steps"},
       {"text files in corpus/train and corpus/held_out",
        {"trainx data tokenize corpus/train --tokenizer data/bpe --train-vocab 32000 --out "
         "data/train.bin",
         "trainx data tokenize corpus/held_out --tokenizer data/bpe --out data/val.bin"}}},
      {"text",
       "a small GPT-2 on your own UTF-8 text, one token a byte",
       {"run.duration=2000 steps", "model.type=gpt2",
        "model.options={num_layers: 4, num_heads: 4, hidden_size: 256, max_positions: 256}",
        "data.type=text", "data.train=corpus/train", "data.eval=corpus/held_out",
        "data.sequence_length=256", "batch.global_batch_size=24", "optimizer.type=adamw",
        "optimizer.lr=1e-3", "optimizer.options.beta2=0.95", "optimizer.options.weight_decay=0.1",
        "schedule.type=cosine", "schedule.warmup=100 steps", "schedule.final_ratio=0.1",
        "checkpoint.every=500 steps", "eval.every=250 steps"},
       {"text files in corpus/train and corpus/held_out", {}}},
      {"bert",
       "BERT base as a classifier of sentence pairs; model.init_from takes a pretrained folder in "
       "place of model.size",
       {"run.duration=1000 steps", "model.type=bert", "model.size=base",
        "model.options={task: classification, num_labels: 2, dropout: 0.1}", "data.type=jsonl",
        "data.train=data/train.jsonl", "data.eval=data/held_out.jsonl", "data.sequence_length=512",
        "data.group_by_length=true", "batch.global_batch_size=24", "optimizer.type=adamw",
        "optimizer.lr=3e-5", "schedule.type=linear", "schedule.warmup=100 steps",
        "checkpoint.every=500 steps", "eval.every=250 steps"},
       {"tables corpus/train.tsv and corpus/held_out.tsv with columns text, text_pair and label",
        {"trainx data tokenize corpus/train.tsv --tokenizer data/wordpiece --train-vocab 30522 "
         "--kind wordpiece --out data/train.jsonl",
         "trainx data tokenize corpus/held_out.tsv --tokenizer data/wordpiece --out "
         "data/held_out.jsonl"}}},
      {"chat-lora",
       "LoRA of a chat model (Qwen3-0.6B) on conversations of your own; model.init_from takes any "
       "other Hugging Face folder, and model.type its type",
       {"run.duration=500 steps", "model.type=qwen3", "model.init_from=base",
        "model.adapter={type: lora, rank: 16, alpha: 32, targets: all_linear}", "data.type=jsonl",
        "data.packed=true", "data.train=data/train.jsonl", "data.eval=data/held_out.jsonl",
        "data.sequence_length=1024", "batch.global_batch_size=24", "batch.micro_batch_size=auto",
        "precision.compute=bf16", "optimizer.type=adamw", "optimizer.lr=2e-4",
        "schedule.type=cosine", "schedule.warmup=20 steps", "checkpoint.every=250 steps",
        "eval.every=100 steps"},
       {"conversations in chats/train.jsonl and chats/held_out.jsonl, a line {\"messages\": [...]} "
        "each",
        {"hf download Qwen/Qwen3-0.6B --local-dir base",
         "trainx data tokenize chats/train.jsonl --tokenizer base --out data/train_ids.jsonl",
         "trainx data tokenize chats/held_out.jsonl --tokenizer base --out data/held_out_ids.jsonl",
         "trainx data pack data/train_ids.jsonl --sequence-length 1024 --out data/train.jsonl",
         "trainx data pack data/held_out_ids.jsonl --sequence-length 1024 --out "
         "data/held_out.jsonl"}}},
  };
  return all;
}

const Template& template_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Template& t : templates()) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  throw UserError(ExitCode::usage, "there is no recipe '" + name + "' to start from: " +
                                       joined(names, ", ") + did_you_mean(name, names));
}

constexpr std::size_t widest_line = 100;
constexpr std::size_t comment_column = 40;

/// Words of `text` in lines of at most `width` characters.
std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
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
    if (OfOptionalList<Entry> && entries.empty()) return;
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

  /// Comments stand beside their key, and go on below in the same column.
  std::string text() const {
    std::string out;
    for (const Line& line : lines_) {
      if (line.depth == 0) out += '\n';
      // Inside a section that is commented out as a whole the '#' stands in front, so that removing
      // "# " leaves the indentation.
      const std::string indent(2 * line.depth, ' ');
      std::string written = (line.set ? indent : "# " + indent) + line.text;
      if (line.doc.empty()) {
        out += written + '\n';
        continue;
      }
      written.resize(std::max(written.size() + 2, comment_column), ' ');
      const std::size_t room = widest_line - std::min(written.size(), comment_column + 20) - 2;
      const std::vector<std::string> comment = lines_of(line.doc, room);
      for (std::size_t i = 0; i < comment.size(); ++i)
        out += (i == 0 ? written : std::string(written.size(), ' ')) + "# " + comment[i] + '\n';
    }
    return out;
  }

 private:
  struct Line {
    bool set = false;
    std::size_t depth = 0;
    std::string text, doc;
  };
  template <class T>
  static std::string choices(const T& value) {
    if constexpr (NamedEnum<T>)
      return " (" + type_text(value) + ")";
    else
      return "";
  }
  template <class T>
  static std::string choices(const options::Auto<T>& value) {
    if constexpr (NamedEnum<T>)
      return " (" + type_text(value) + ")";
    else
      return "";
  }

  /// Whether any key that starts with `prefix` is set.
  bool is_set(const std::string& prefix) const {
    for (auto it = origins_.lower_bound(prefix);
         it != origins_.end() && it->first.starts_with(prefix); ++it)
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
    push_line(origin != origins_.end() && origin->second != "default",
              std::string(key) + ": " + value, std::move(doc));
  }
  /// The first line of a list's item stands behind its dash, and is there whether set or not.
  void push_line(bool set, const std::string& text, std::string doc) {
    if (std::exchange(starts_item_, false))
      lines_.push_back({true, path_.depth() - 1, "- " + text, std::move(doc)});
    else
      lines_.push_back({set, path_.depth(), text, std::move(doc)});
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

const InitSteps& init_steps(const std::string& name) { return template_of(name).before; }

std::string commented_recipe(const std::string& name, const std::string& run_name) {
  const Template& t = template_of(name);
  LoadOptions options;
  options.overrides = t.settings;
  options.overrides.push_back("run.name=" + write_value(run_name.empty() ? name : run_name));
  LoadedRecipe loaded = parse_recipe("{}", name, options);
  CommentedWriter writer(loaded.origins);
  walk(writer, loaded.recipe);
  std::string head =
      "# " + t.purpose +
      ".\n# A commented key shows its default. `trainx validate FILE` checks the recipe.\n";
  if (!t.before.needs.empty()) head += "# It needs " + t.before.needs + ".\n";
  for (const std::string& command : t.before.commands) head += "# $ " + command + "\n";
  return head + writer.text();
}

}  // namespace trainx::recipe
