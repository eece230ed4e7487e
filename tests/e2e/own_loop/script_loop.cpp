// A loop that does what it is told, for tests/e2e/own_loop_test.py:
//   script-loop RECIPE OUT COMMANDS [SETTINGS ...]
// COMMANDS: separated by ','. "R:COMMAND" is for rank R alone. What they answer goes to OUT.R, a
// JSON object a line; a caught error as {"error": code}.
#include "trainx/callbacks.hpp"
#include "trainx/run.hpp"
#include "trainx/worker.hpp"
#include <nlohmann/json.hpp>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using nlohmann::json;

// A model with a loss and a metric of its own.

struct LineOptions {};
template <class Visitor>
void visit_fields(Visitor&, LineOptions&) {}

struct LineLossImpl : torch::nn::Module {
  trainx::Loss forward(const at::Tensor& guess, const at::Tensor& y) {
    const at::Tensor error = guess.squeeze(1) - y;
    return {error.square().sum(), torch::full({}, y.size(0)), {{"error", error.abs().sum()}}};
  }
};
TORCH_MODULE(LineLoss);

trainx::Graph build_line(const LineOptions&, const trainx::ModelShape&) {
  trainx::Graph graph;
  graph.field("x", {3});
  graph.field("y", {});
  graph.add("line", torch::nn::Linear(3, 1), {"x"}, {"guess"});
  graph.add("loss", LineLoss(), {"guess", "y"});
  return graph;
}

json to_json(const trainx::StepReport& r) {
  return {{"step", r.step}, {"loss", r.loss},     {"grad_norm", r.grad_norm},
          {"lr", r.lr},     {"tokens", r.tokens}, {"metrics", r.metrics}};
}

std::string hex(const at::Tensor& t) {
  std::ostringstream out;
  const auto* bytes = static_cast<const unsigned char*>(t.const_data_ptr());
  for (std::size_t i = 0; i < t.nbytes(); ++i)
    out << "0123456789abcdef"[bytes[i] >> 4] << "0123456789abcdef"[bytes[i] & 15];
  return out.str();
}

class Script {
 public:
  Script(trainx::Run& run, const std::string& out)
      : run_(run), out_(out + "." + std::to_string(run.rank()), std::ios::app) {}

  /// False: the loop is to be left.
  bool execute(std::string command) {
    if (const auto colon = command.find(':'); colon != std::string::npos) {
      if (std::stoi(command) != run_.rank()) return true;
      command = command.substr(colon + 1);
    }
    const auto equals = command.find('=');
    const std::string what = command.substr(0, equals),
                      value = equals == std::string::npos ? "" : command.substr(equals + 1);
    try {
      return execute(what, value);
    } catch (const trainx::RunError& e) {
      if (!catches_) throw;
      write({{"error", e.exit_code()}, {"sentence", e.what()}});
      return true;
    }
  }

 private:
  bool execute(const std::string& what, const std::string& value) {
    if (what == "step") steps(value.empty() ? 1 : std::stoll(value));
    if (what == "all") steps(-1);
    // a schedule of its own, by finished steps
    if (what == "scheduled") do
        run_.set_lr(1e-3 * static_cast<double>(10 + run_.finished_steps() % 7));
      while (steps(1));
    if (what == "lr") run_.set_lr(value == "none" ? std::nullopt : std::optional(std::stod(value)));
    if (what == "evaluate") {
      const auto r = run_.evaluate();
      write({{"step", r.step}, {"eval_loss", r.loss}, {"metrics", r.metrics}});
    }
    if (what == "save") write({{"saved", run_.save()}});
    if (what == "parameters") {
      json all = json::object();
      for (const auto& [name, tensor] : run_.parameters())
        all[name] = {{"shape", tensor.sizes().vec()}, {"data", hex(tensor)}};
      write({{"parameters", all}});
    }
    if (what == "about")
      write({{"arguments", run_.arguments()},
             {"rank", run_.rank()},
             {"world_size", run_.world_size()},
             {"finished", run_.finished_steps()},
             {"total", run_.total_steps().value_or(-1)}});
    if (what == "callbacks") add_callbacks(value);
    if (what == "catch") catches_ = true;
    if (what == "throw") throw std::runtime_error("own-words");
    if (what == "exit") std::exit(std::stoi(value));
    if (what == "sleep")
      std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(value)));
    if (what == "close") write({{"closed", run_.close()}});
    return what != "leave";
  }

  bool steps(std::int64_t count) {
    for (; count != 0; --count) {
      const auto report = run_.step();
      write(report ? to_json(*report) : json{{"end", run_.finished_steps()}});
      if (!report) return false;
    }
    return true;
  }

  /// `thrower`: the one that throws, after step 3.
  void add_callbacks(const std::string& thrower) {
    const auto tell = [this, thrower](const char* name, std::int64_t step) {
      write({{"callback", name}, {"of", step}});
      if (thrower == name && step >= 3) throw std::runtime_error("own-words");
    };
    trainx::on_step([tell](const trainx::StepReport& r) { tell("on_step", r.step); });
    trainx::on_evaluation(
        [tell](const trainx::EvaluationReport& r) { tell("on_evaluation", r.step); });
    trainx::on_save([tell](const trainx::SaveReport& r) { tell("on_save", r.step); });
  }

  void write(const json& line) { out_ << line.dump() << std::endl; }

  trainx::Run& run_;
  std::ofstream out_;
  bool catches_ = false;
};

int loop(int argc, char** argv) {
  trainx::add_model<LineOptions>("line", "a line through points", build_line);
  const bool given = argc > 3;
  trainx::Run run(
      argc, argv, given ? argv[1] : "",
      given ? std::vector<std::string>(argv + 4, argv + argc) : std::vector<std::string>());
  Script script(run, run.arguments().at(2));
  std::istringstream commands(run.arguments().at(3));
  for (std::string command; std::getline(commands, command, ',');)
    if (!script.execute(command)) return 0;
  return run.close();
}

}  // namespace

// SCRIPT_CATCHES: an exception leaves the Run's scope, and not main.
int main(int argc, char** argv) {
  if (!std::getenv("SCRIPT_CATCHES")) return loop(argc, argv);
  try {
    return loop(argc, argv);
  } catch (const std::runtime_error&) { return 0; }
}
