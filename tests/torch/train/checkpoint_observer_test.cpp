#include "train/checkpoint_observer.hpp"
#include "small_run.hpp"
#include "support/catch.hpp"

namespace trainx::train::checkpoint_observer_test {
namespace {

/// A CPU that counts what is prepared for downloads, and says of its steps what it is told to.
class CountingDevice final : public execute::Device {
 public:
  CountingDevice(std::unique_ptr<execute::Device> device, bool steps_change_residents)
      : device_(std::move(device)), steps_change_residents_(steps_change_residents) {}
  execute::Arena& residents() override { return device_->residents(); }
  std::byte* host() const override { return device_->host(); }
  disk::Disk* disk() const override { return device_->disk(); }
  bool steps_change_residents() const override { return steps_change_residents_; }
  void upload(const execute::NotUploaded& parts) override { device_->upload(parts); }
  void download() override { device_->download(); }
  void expect_downloads() override { ++expected; }
  std::byte* memory() override { return device_->memory(); }
  void compute(const std::function<void()>& work) override { device_->compute(work); }
  std::unique_ptr<execute::Executor> make_executor(const std::vector<plan::PlacedProgram>& programs,
                                                   execute::ExecutorParts parts) override {
    return device_->make_executor(programs, std::move(parts));
  }
  std::int64_t arena_bytes() const override { return device_->arena_bytes(); }
  std::int64_t peak_bytes() const override { return device_->peak_bytes(); }
  std::int64_t process_bytes() const override { return device_->process_bytes(); }
  std::string name() const override { return device_->name(); }

  int expected = 0;

 private:
  std::unique_ptr<execute::Device> device_;
  bool steps_change_residents_;
};

}  // namespace

TEST_CASE(
    "memory for downloads is prepared by what saves beside training, where steps leave what is "
    "read as it is") {
  for (const bool asynchronous : {true, false})
    for (const bool change : {true, false}) {
      CAPTURE(asynchronous, change);
      plan::RunPlan plan = small_plan({});
      plan.recipe.checkpoint.asynchronous = {asynchronous};
      TrainingParts parts(plan, open_split(plan, data::Split::train), nullptr);
      auto counting = std::make_unique<CountingDevice>(std::move(parts.device), change);
      const CountingDevice& device = *counting;
      parts.device = std::move(counting);
      parts.resident.initialize(5);
      parts.start({});
      CHECK(device.expected == 0);  // so far this could be a benchmark, which saves nothing
      metrics::Console console({});
      const CheckpointObserver observer(parts, nullptr, console, std::nullopt, 1, {}, {});
      CHECK(device.expected == (asynchronous && !change ? 1 : 0));
    }
}

}  // namespace trainx::train::checkpoint_observer_test
