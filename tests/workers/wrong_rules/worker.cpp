// Optimizers, schedules and data sources that are wrong in one way each. WRONG names one that is
// wrong already where it is added.
#include <trainx/data_source.hpp>
#include <trainx/optimizer.hpp>
#include <trainx/schedule.hpp>
#include <trainx/worker.hpp>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

using trainx::NoOptions;
using trainx::ScheduleStep;
using trainx::UpdateRange;

struct WordOptions {
  std::string weight_decay = "much";
};
template <class Visitor>
void visit_fields(Visitor& field, WordOptions& o) {
  field("weight_decay", o.weight_decay, trainx::anything(), "no number");
}
struct WarmupOptions {
  double warmup = 0;
};
template <class Visitor>
void visit_fields(Visitor& field, WarmupOptions& o) {
  field("warmup", o.warmup, trainx::anything(), "a key of the section");
}

void descend(const UpdateRange& range) {
  for (std::size_t i = 0; i < range.parameter.size(); ++i)
    range.parameter[i] -= static_cast<float>(range.lr) * range.gradient[i];
}
void plain(const NoOptions&, const UpdateRange& range) { descend(range); }
double one(const NoOptions&, const ScheduleStep&) { return 1; }

struct ShuffleOptions {
  bool shuffle = true;
};
template <class Visitor>
void visit_fields(Visitor& field, ShuffleOptions& o) {
  field("shuffle", o.shuffle, trainx::anything(), "a key of the section");
}

/// Rows of letters, some shorter than others.
class Letters : public trainx::DataSource {
 public:
  explicit Letters(std::string fault) : fault_(std::move(fault)) {}
  std::int64_t length() const override { return fault_ == "empty" ? 0 : 50; }
  std::int64_t vocab_size() const override { return 30; }
  void read(std::int64_t position, trainx::Sample& sample) const override {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < 5 + position % 12; ++i) ids.push_back((position + i) % 26);
    if (position == 7) {
      if (fault_ == "beyond") ids[3] = 30;
      if (fault_ == "long") ids.resize(17);
      if (fault_ == "reals") return sample.put("input_ids", std::vector<double>{0.5, 1});
      if (fault_ == "silent") return;
      if (fault_ == "fails") throw std::runtime_error("no such letter");
    }
    sample.put("input_ids", ids);
  }

 private:
  std::string fault_;
};

void add_letters(const std::string& fault) {
  trainx::add_data_source<NoOptions>(
      fault, "Letters",
      [=](const NoOptions&, trainx::DataSplit split) -> std::unique_ptr<trainx::DataSource> {
        if (fault == "unopened") throw std::runtime_error("no letters here");
        if (split == trainx::DataSplit::eval) return nullptr;
        return std::make_unique<Letters>(fault);
      });
}

void add_wrong(const std::string& wrong) {
  if (wrong == "taken") trainx::add_optimizer<NoOptions>("adamw", "", {}, plain);
  if (wrong == "twice") trainx::add_optimizer<NoOptions>("plain", "", {}, plain);
  if (wrong == "name") trainx::add_optimizer<NoOptions>("a b", "", {}, plain);
  if (wrong == "states") trainx::add_optimizer<NoOptions>("x", "", {{"m"}, {"m"}}, plain);
  if (wrong == "nan")
    trainx::add_optimizer<NoOptions>("x", "", {{"m", std::numeric_limits<double>::quiet_NaN()}},
                                     plain);
  if (wrong == "decay")
    trainx::add_optimizer<WordOptions>("x", "", {}, [](const WordOptions&, const UpdateRange&) {});
  if (wrong == "schedule") trainx::add_schedule<NoOptions>("cosine", "", one);
  if (wrong == "data")
    trainx::add_data_source<NoOptions>("jsonl", "", [](const NoOptions&, trainx::DataSplit) {
      return std::unique_ptr<Letters>();
    });
  if (wrong == "data_key")
    trainx::add_data_source<ShuffleOptions>("x", "", [](const ShuffleOptions&, trainx::DataSplit) {
      return std::unique_ptr<Letters>();
    });
  if (wrong == "key")
    trainx::add_schedule<WarmupOptions>(
        "x", "", [](const WarmupOptions&, const ScheduleStep&) { return 1; });
}

int main(int argc, char** argv) {
  trainx::add_optimizer<NoOptions>("plain", "Gradient descent without options", {}, plain);
  trainx::add_optimizer<NoOptions>("throws", "A rule that fails", {},
                                   [](const NoOptions&, const UpdateRange& range) {
                                     if (range.step == 3) throw std::runtime_error("no more");
                                     descend(range);
                                   });
  trainx::add_optimizer<NoOptions>("shapes", "A rule of which LibTorch fails", {},
                                   [](const NoOptions&, const UpdateRange& range) {
                                     range.parameter_view().add_(at::ones({7, 3}));
                                   });
  trainx::add_optimizer<NoOptions>("breaks", "A rule that makes a state nan", {{"m", 1}},
                                   [](const NoOptions&, const UpdateRange& range) {
                                     descend(range);
                                     if (range.step == 4)
                                       range.states[0].back() =
                                           std::numeric_limits<float>::quiet_NaN();
                                   });
  trainx::add_optimizer<NoOptions>("explodes", "A rule that makes weights infinite", {},
                                   [](const NoOptions&, const UpdateRange& range) {
                                     if (range.step == 4) range.parameter_view().div_(0.0);
                                   });
  trainx::add_optimizer<NoOptions>("neighbours", "A rule that divides by the range's norm", {},
                                   [](const NoOptions&, const UpdateRange& range) {
                                     auto weight = range.parameter_view();
                                     const auto gradient = range.gradient_view();
                                     weight.sub_(gradient / gradient.norm(), range.lr);
                                   });
  trainx::add_schedule<NoOptions>("plain", "A constant rate", one);
  trainx::add_schedule<NoOptions>(
      "negative", "A rate below 0",
      [](const NoOptions&, const ScheduleStep& step) { return 2.0 - step.applied; });
  trainx::add_schedule<NoOptions>("lost", "A function that fails",
                                  [](const NoOptions&, const ScheduleStep& step) -> double {
                                    if (step.applied == 2) throw std::runtime_error("lost");
                                    return 1;
                                  });
  for (const char* fault :
       {"letters", "empty", "beyond", "long", "reals", "silent", "fails", "unopened"})
    add_letters(fault);
  const char* const wrong = std::getenv("WRONG");
  add_wrong(wrong ? wrong : "");
  return trainx::worker_main(argc, argv);
}
