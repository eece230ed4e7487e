#include "imports/import.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include "imports/adapters.hpp"
#include "imports/document.hpp"
#include "imports/interpolate.hpp"
#include "imports/readers.hpp"
#include "imports/registry.hpp"
#include "imports/tool.hpp"
#include "imports/write.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <array>

namespace trainx::imports {
namespace {

/// What is gathered for `key`, of batch's parts, up to what a recipe may say.
std::optional<std::int64_t> part(const Draft& draft, const std::string& key) {
  const Value* value = draft.find(key);
  if (!value) return std::nullopt;
  const auto x = parse_decimal(value->text);
  if (!x || *x < 1 || *x > 1 << 30 || *x != static_cast<double>(static_cast<std::int64_t>(*x)))
    throw UserError(ExitCode::bad_data, yaml::to_string(value->where) + ": " + value->origin +
                                            ": must be a whole number from 1 to 1073741824, not " +
                                            value->text);
  return static_cast<std::int64_t>(*x);
}

class Finish {
 public:
  Finish(Draft& draft, const Choices& choices) : draft_(draft), choices_(choices) {}

  void run() {
    batch();
    optimizer();
    model();
    finish_adapter(draft_, choices_.model_type);
    data();
    evaluation();
    for (const auto& [key, what] :
         {std::pair{"run.duration", "how long to train: 2000 steps, 3 epochs, 2B tokens"},
          {"optimizer.lr", "peak learning rate"}})
      if (!draft_.find(key)) draft_.ask(key, what);
    leave_out_defaults();
  }

 private:
  void chosen(const std::string& key, std::string yaml, const std::string& origin) {
    draft_.remove(key);
    draft_.set(key, {std::move(yaml), {}, origin});
  }

  /// global_batch = rank_batch * accumulation * world; any one of them that is missing follows, or
  /// is 1.
  void batch() {
    const auto global = part(draft_, "global_batch"), rank = part(draft_, "rank_batch"),
               steps = part(draft_, "accumulation");
    auto world = choices_.world ? choices_.world : part(draft_, "world");
    if (!global && !rank) {
      draft_.ask("batch.global_batch_size", "samples of an optimizer step");
      draft_.ask("batch.micro_batch_size", "samples of one forward");
      return;
    }
    const std::int64_t accumulation = steps.value_or(1);
    if (!world)
      world = global && rank && steps && *global % (*rank * accumulation) == 0
                  ? *global / (*rank * accumulation)
                  : 1;
    std::int64_t product = 0;
    const bool too_many = __builtin_mul_overflow(accumulation, *world, &product) ||
                          __builtin_mul_overflow(product, rank.value_or(1), &product) ||
                          product > 1 << 30;
    if (too_many || (global && rank && steps && *global != product) ||
        (global && *global % product != 0)) {
      const Value* at = draft_.find(global ? "global_batch" : "rank_batch");
      throw UserError(ExitCode::bad_data,
                      yaml::to_string(at->where) + ": " + at->origin + " (" + at->text +
                          ") does not go with " + std::to_string(rank.value_or(1)) +
                          " samples a process, " + std::to_string(accumulation) +
                          " micro-steps and " + std::to_string(*world) +
                          " processes: --world N says how many there are");
    }
    const std::string cut = std::to_string(accumulation) +
                            (accumulation == 1 ? " micro-step of " : " micro-steps of ") +
                            std::to_string(*world) + (*world == 1 ? " process" : " processes");
    if (rank)
      chosen("batch.global_batch_size", std::to_string(global.value_or(product)),
             std::to_string(*rank) + " samples in " + cut);
    else
      chosen("batch.global_batch_size", std::to_string(*global), "train_batch_size");
    chosen("batch.micro_batch_size", std::to_string(rank.value_or(*global / product)),
           rank ? draft_.find("rank_batch")->origin : "in " + cut);
    const Value* processes = draft_.find("world");
    if (*world > 1 && processes && processes->where.line > 0)
      draft_.leave({processes->where, processes->origin, processes->text,
                    "the number of ranks is said at launch: --nproc-per-node; "
                    "batch.global_batch_size stays"});
  }

  /// Options that the optimizer of the recipe does not have.
  void optimizer() {
    const bool asks = draft_.asked().contains("optimizer.type");
    if (asks) draft_.remove("optimizer.type");
    const Value* type = draft_.find("optimizer.type");
    const std::string name = type ? type->text : "adamw";
    std::vector<std::string> gone;
    for (const auto& [key, value] : draft_.values()) {
      constexpr std::string_view options = "optimizer.options.";
      if (!key.starts_with(options) ||
          (!asks && has_option(name, std::string_view(key).substr(options.size()))))
        continue;
      gone.push_back(key);
      if (value.weight == Weight::said)
        draft_.leave({value.where, value.origin, value.text,
                      asks ? "belongs to an optimizer that is not chosen yet"
                           : "is no option of optimizer " + name});
    }
    for (const std::string& key : gone) draft_.remove(key);
    if (draft_.asked().contains("schedule.type")) draft_.remove("schedule.type");
  }

  void model() {
    if (choices_.init_from)
      chosen("model.init_from", recipe::write_value(*choices_.init_from), "--model");
    if (choices_.model_type)
      chosen("model.type", recipe::write_value(*choices_.model_type), "--model");
    else
      draft_.ask("model.init_from", "a Hugging Face folder; or set model.type and model.size");
    for (const auto& [key, value] : choices_.folder_values) draft_.set(key, value);
    for (const Leftover& leftover : choices_.folder_leftovers) draft_.leave(leftover);
    task();
  }

  /// A task that the model cannot learn; without a model its type follows from the task.
  void task() {
    const Value* task = draft_.find("model.options.task");
    if (!task) return;
    if (!choices_.model_type) {
      // the first of those that do
      const std::vector<std::string> types = model_types();
      const auto learns = [](const std::string& type) { return has_model_option(type, "task"); };
      if (const auto type = std::ranges::find_if(types, learns); type != types.end())
        draft_.set("model.type", {*type, {}, "trains " + task->text});
    } else if (!has_model_option(*choices_.model_type, "task")) {
      draft_.leave({task->where, task->origin, task->text,
                    *choices_.model_type + " does not learn this task", true});
      draft_.remove("model.options.task");
      draft_.remove("model.options.num_labels");
    }
  }

  void data() {
    if (choices_.data_type) {
      chosen("data.type", *choices_.data_type, "--data");
      if (choices_.train) chosen("data.train", recipe::write_value(*choices_.train), "--data");
      if (choices_.eval) chosen("data.eval", recipe::write_value(*choices_.eval), "--eval-data");
    } else {
      draft_.ask("data.type", "tokens | text | jsonl | csv | stories | mixture");
      draft_.ask("data.train", "the file to train on");
    }
    if (choices_.sequence_length) {
      chosen("data.sequence_length", std::to_string(*choices_.sequence_length),
             "--sequence-length");
    } else if (!draft_.find("data.sequence_length")) {
      constexpr std::int64_t longest = 1024;
      if (choices_.max_positions)
        chosen("data.sequence_length", std::to_string(std::min(*choices_.max_positions, longest)),
               "the model's positions, at most 1024: --sequence-length says another");
      else
        draft_.ask("data.sequence_length", "tokens of a sample");
    }
    const Value* grouped = draft_.find("data.group_by_length");
    const bool fills_rows = choices_.data_type && *choices_.data_type != "jsonl" &&
                            *choices_.data_type != "csv";
    if (grouped && fills_rows) {
      draft_.leave({grouped->where, grouped->origin, grouped->text,
                    "samples of type " + *choices_.data_type + " all have one length"});
      draft_.remove("data.group_by_length");
    }
  }

  /// What a file says of evaluations can have no effect without held-out data.
  void evaluation() {
    const bool is_builtin = choices_.data_type && *choices_.data_type == "stories";
    const Value* part = draft_.find("data.held_out");
    if (part && (choices_.eval || is_builtin)) {
      draft_.leave(
          {part->where, part->origin, part->text,
           "the held-out data is " + (is_builtin ? std::string("built in") : *choices_.eval)});
      draft_.remove("data.held_out");
    }
    if (choices_.eval || is_builtin || draft_.find("data.held_out")) return;
    std::vector<std::string> gone;
    for (const auto& [key, value] : draft_.values()) {
      if (!key.starts_with("eval.")) continue;
      gone.push_back(key);
      if (value.weight == Weight::said)
        draft_.leave(
            {value.where, value.origin, value.text,
             "no held-out data is named: give --eval-data, or " + key + " beside data.eval"});
    }
    for (const std::string& key : gone) draft_.remove(key);
  }

  /// What a tool does anyway, and trainx too.
  void leave_out_defaults() {
    std::vector<std::string> same;
    const Value* optimizer = draft_.find("optimizer.type");
    const std::string type = optimizer ? optimizer->text : "adamw";
    for (const auto& [key, value] : draft_.values()) {
      const std::string usual = default_text(key, type);
      const auto ours = parse_decimal(usual), theirs = parse_decimal(value.text);
      if (value.weight == Weight::assumed && (value.text == usual || (ours && ours == theirs)))
        same.push_back(key);
    }
    for (const std::string& key : same) draft_.remove(key);
  }

  Draft& draft_;
  const Choices& choices_;
};

}  // namespace

Imported import_settings(const std::vector<SourceFile>& files, const Choices& choices) {
  struct Parsed {
    Tool tool;
    yaml::Node root;
  };
  std::array<std::optional<Parsed>, tool_names.size()> parsed;
  std::array<std::string, tool_names.size()> names;
  std::string heading = "From ";
  for (const SourceFile& file : files) {
    yaml::Node root = read_document(file.text, file.name);
    const Tool tool = tool_of(root, file.name);
    const auto which = static_cast<std::size_t>(tool);
    const std::string name(tool_names[which]);
    if (parsed[which])
      throw UserError(ExitCode::usage, "import: " + names[which] + " and " + file.name +
                                           " are both of " + name + "; give one of them");
    names[which] = file.name;
    heading += (&file == &files.front() ? "" : ", ") + file.name + " (" + name + ")";
    parsed[which] = Parsed{tool, std::move(root)};
  }
  Draft draft;
  const auto of = [&](Tool tool) -> auto& { return parsed[static_cast<std::size_t>(tool)]; };
  const auto &deepspeed = of(Tool::deepspeed), &accelerate = of(Tool::accelerate);
  auto &axolotl = of(Tool::axolotl), &torchtune = of(Tool::torchtune);
  constexpr std::pair<Tool, ArgumentsOf> dialects[]{
      {Tool::training_arguments, ArgumentsOf::transformers},
      {Tool::trl, ArgumentsOf::trl},
      {Tool::llama_factory, ArgumentsOf::llama_factory}};
  const auto arguments = std::ranges::count_if(
      dialects, [&](const auto& dialect) { return of(dialect.first).has_value(); });
  if (arguments + axolotl.has_value() + torchtune.has_value() > 1)
    throw UserError(ExitCode::usage,
                    "import: TrainingArguments, TRL, LLaMA-Factory, Axolotl and torchtune each "
                    "describe a whole run; give one of them");
  draft.has_training_arguments = arguments > 0 || axolotl;
  if (accelerate) {
    Settings settings(accelerate->root, draft);
    read_accelerate(settings, deepspeed.has_value());
  }
  if (deepspeed) {
    Settings settings(deepspeed->root, draft);
    read_deepspeed(settings);
  }
  for (const auto& [tool, whose] : dialects) {
    if (!of(tool)) continue;
    Settings settings(of(tool)->root, draft);
    read_training_arguments(settings, whose, deepspeed.has_value());
  }
  if (axolotl) {
    Settings settings(axolotl->root, draft);
    read_axolotl(settings, deepspeed.has_value());
  }
  if (torchtune) {
    interpolate(torchtune->root);
    Settings settings(torchtune->root, draft);
    read_torchtune(settings);
  }
  if (const auto& peft = of(Tool::peft)) {
    Settings settings(peft->root, draft);
    read_peft(settings);
  }
  Finish(draft, choices).run();
  return {write_recipe(draft, heading + ", by trainx import."),
          draft.leftovers(),
          {draft.asked().begin(), draft.asked().end()}};
}

}  // namespace trainx::imports
