#include "launch/worker_data_source.hpp"
#include "launch/ask_worker.hpp"
#include "launch/worker_refusal.hpp"
#include "options/field_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {
namespace {

using nlohmann::json;

class CountedSource final : public DataSource {
 public:
  CountedSource(std::int64_t length, std::int64_t vocab_size)
      : length_(length), vocab_size_(vocab_size) {}
  std::int64_t length() const override { return length_; }
  std::int64_t vocab_size() const override { return vocab_size_; }
  void read(std::int64_t, Sample&) const override {
    throw InternalError("a launcher reads samples of the worker's own");
  }

 private:
  std::int64_t length_, vocab_size_;
};

}  // namespace

std::function<std::shared_ptr<const DataSource>(const std::vector<OptionField>&, DataSplit)>
asked_data_source(const std::string& worker, const std::string& name) {
  return [=](const std::vector<OptionField>& fields,
             DataSplit split) -> std::shared_ptr<const DataSource> {
    const json question{{"data", name},
                        {"options", options::values_to_json(fields)},
                        {"split", split == DataSplit::train ? "train" : "eval"}};
    const json said =
        json::parse(ask_worker_anew(worker, "--describe-data", question.dump()), nullptr, false);
    try {
      if (said.is_object() && said.contains("problem")) {
        const bool of_recipe = said.at("code") == static_cast<int>(ExitCode::invalid_recipe);
        throw UserError(of_recipe ? ExitCode::invalid_recipe : ExitCode::bad_data,
                        said.at("problem").get<std::string>());
      }
      if (said.is_object() && said.empty()) return nullptr;
      return std::make_shared<CountedSource>(said.at("length").get<std::int64_t>(),
                                             said.at("vocab_size").get<std::int64_t>());
    } catch (const json::exception&) {
      refuse_worker(worker,
                    "answers --describe-data otherwise than a worker of trainx does; build it "
                    "again");
    }
  };
}

}  // namespace trainx::launch
