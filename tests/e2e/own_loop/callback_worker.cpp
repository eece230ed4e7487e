// A worker with callbacks, for tests/e2e/own_loop_test.py: each adds a line to $CALLBACKS, and the
// one that $THROWS names throws. A step takes $STEP_MS longer while the file $SLOW exists, for
// tests that hurt a run while it is under way.
#include "trainx/callbacks.hpp"
#include "trainx/worker_main.hpp"
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void tell(const std::string& callback, std::int64_t step, const std::string& what) {
  std::ofstream(variable("CALLBACKS"), std::ios::app)
      << callback << " " << step << " " << what << std::endl;
  if (variable("THROWS") == callback) throw std::runtime_error("own-words");
}

void wait_a_moment() {
  const std::string slow = variable("SLOW");
  if (!slow.empty() && std::filesystem::exists(slow))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(variable("STEP_MS"))));
}

}  // namespace

int main(int argc, char** argv) {
  trainx::on_step([](const trainx::StepReport& r) {
    tell("on_step", r.step, std::to_string(r.loss));
    wait_a_moment();
  });
  trainx::on_evaluation([](const trainx::EvaluationReport& r) {
    tell("on_evaluation", r.step, std::to_string(r.loss));
  });
  trainx::on_save([](const trainx::SaveReport& r) { tell("on_save", r.step, r.folder); });
  return trainx::worker_main(argc, argv);
}
