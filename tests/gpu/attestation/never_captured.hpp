// A sabotage: a GPU whose steps are never captured. Each is the first one of an executor of its
// own, which launches it instruction by instruction.
#pragma once
#include "core/error.hpp"
#include "execute/device.hpp"
#include <cstdint>

namespace trainx::train::test {

class NeverCaptured final : public execute::Device {
 public:
  explicit NeverCaptured(std::unique_ptr<execute::Device> device) : device_(std::move(device)) {}
  execute::Arena& residents() override { return device_->residents(); }
  std::byte* host() const override { return device_->host(); }
  disk::Disk* disk() const override { return device_->disk(); }
  bool steps_change_residents() const override { return device_->steps_change_residents(); }
  void upload(const execute::NotUploaded& parts) override { device_->upload(parts); }
  void download() override { device_->download(); }
  std::byte* memory() override { return device_->memory(); }
  void compute(const std::function<void()>& work) override { device_->compute(work); }
  std::unique_ptr<execute::Executor> make_executor(const std::vector<plan::PlacedProgram>& programs,
                                                   execute::ExecutorParts parts) override {
    return std::make_unique<Steps>(*device_, programs, std::move(parts));
  }
  std::int64_t arena_bytes() const override { return device_->arena_bytes(); }
  std::int64_t peak_bytes() const override { return device_->peak_bytes(); }
  std::int64_t process_bytes() const override { return device_->process_bytes(); }
  std::string name() const override { return device_->name(); }

 private:
  class Steps final : public execute::Executor {
   public:
    Steps(execute::Device& device, const std::vector<plan::PlacedProgram>& programs,
          execute::ExecutorParts parts)
        : device_(device), programs_(programs), parts_(std::move(parts)) {}
    void prepare_weights() override { device_.make_executor(programs_, parts_)->prepare_weights(); }
    void submit_step() override {
      executor_ = device_.make_executor(programs_, parts_);
      executor_->submit_step();
      executor_->wait_idle();
      ++parts_.first_step;
    }
    void wait_for_step(std::int64_t) override {}
    void wait_idle() override {}
    void time_next(std::int64_t, execute::OnTimes) override {
      throw InternalError("steps that are never captured are not timed");
    }
    const std::vector<execute::CapturedKernels>& captured_kernels() const override {
      return executor_ ? executor_->captured_kernels() : execute::Executor::captured_kernels();
    }

   private:
    execute::Device& device_;
    const std::vector<plan::PlacedProgram>& programs_;
    execute::ExecutorParts parts_;
    std::unique_ptr<execute::Executor> executor_;
  };

  std::unique_ptr<execute::Device> device_;
};

}  // namespace trainx::train::test
