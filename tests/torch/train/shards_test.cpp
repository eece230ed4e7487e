#include "small_run.hpp"
#include "checkpoint/weights_folder.hpp"
#include "comm/part_control.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include "support/limited_file_size.hpp"
#include "support/temporary_folder.hpp"
#include "train/checkpoints.hpp"
#include "execute/device.hpp"
#include "plan/rank_groups.hpp"
#include "state/resident_state.hpp"
#include "state/shared_save.hpp"
#include <ATen/Parallel.h>
#include <cstdio>
#include <cstring>
#include <random>

namespace shards_test {

using namespace trainx;
using state::ResidentState;

namespace {

struct Cut {
  int world_size;
  std::string mode;
  int shard_ranks = 0;
};  // 0: all

plan::RunPlan plan_of(const Cut& cut, const std::string& precision, const std::string& optimizer) {
  // A vocabulary that is padded, biases and norms that no border may take for granted.
  const std::string text =
      "run: {name: shards, seed: 5, duration: 10 steps}\nmodel: {type: gpt2, options: {num_layers: "
      "2, num_heads: 2, hidden_size: 24, max_positions: 12, vocab_size: 301}}\n"
      "data: {type: stories, sequence_length: 12, samples: 64, eval_samples: 7}\nbatch: "
      "{global_batch_size: 12, micro_batch_size: 1}\nprecision: " +
      precision + "\noptimizer: " + optimizer + "\nparallel: {mode: " + cut.mode +
      ", world_size: " + std::to_string(cut.world_size) +
      (cut.shard_ranks > 0 ? ", shard_ranks: " + std::to_string(cut.shard_ranks) : "") + "}\n";
  return plan::make_run_plan(recipe::parse_recipe(text, "shards").recipe, train::small_facts());
}

/// One rank's memory, with the ranks that it belongs to.
struct Rank {
  plan::RunPlan plan;
  std::unique_ptr<comm::Control> control;
  std::unique_ptr<comm::Communicator> communicator;
  std::map<program::AxisSet, comm::Part> groups;
  execute::ProgressDescription progress;
  execute::Ranks ranks;
  std::unique_ptr<execute::Device> device;
  ResidentState resident;

  Rank(const comm::Membership& m, plan::RunPlan p)
      : plan(std::move(p)),
        control(m.world_size > 1 ? comm::Control::join(m, {}) : nullptr),
        communicator(control ? comm::make_communicator(*control) : nullptr),
        groups(make_groups()),
        ranks(control ? execute::Ranks(control.get(), communicators(), &progress)
                      : execute::Ranks()),
        device(execute::open_device(plan)),
        resident(plan.role().train.front(), device->residents(), plan.update.states, ranks) {
    std::memset(device->residents().data(), 0xFF,
                static_cast<std::size_t>(device->residents().bytes()));
  }

  std::map<program::AxisSet, comm::Part> make_groups() const {
    std::map<program::AxisSet, comm::Part> made;
    for (const program::AxisSet along : plan::rank_groups_of(plan.program_set))
      made[along] = comm::make_part(*control, plan.mesh.peers(along, control->rank()),
                                    communicator->transport());
    return made;
  }
  execute::Communicators communicators() const {
    std::map<program::AxisSet, comm::Communicator*> by_set;
    for (const auto& [along, part] : groups) by_set[along] = part.communicator.get();
    return {communicator.get(), plan.mesh, std::move(by_set)};
  }
  checkpoint::Contents contents() const {
    checkpoint::Contents c = train::checkpoint_contents(plan, resident, {}, 1, {});
    c.text_files["trainer_state.json"] = "{}";  // says how the run was cut
    return c;
  }
  std::string save(const std::string& run_folder, std::int64_t step) {
    checkpoint::Store store(run_folder);
    if (plan.zero_stage() > 0) {
      const auto all = contents();
      state::SharedSave save(ranks, ranks.is_first() ? &store : nullptr, step, all);
      if (step % 2 == 0) {  // beside training, which goes on
        save.gather(all);
        std::vector<std::byte> before(device->residents().data(),
                                      device->residents().data() + device->residents().bytes());
        std::memset(device->residents().data(), 0x7F, before.size());
        std::thread([&] { save.write_gathered(); }).join();
        std::ranges::copy(before, device->residents().data());
      } else {
        save.write(all);
      }
      return save.finish(9, false);
    }
    return ranks.is_first() ? store.save(step, contents(), 9, false) : "";
  }
  void load(const std::string& folder) {
    resident.initialize(7);  // what is not loaded shows
    resident.load_weights(folder, plan.dims);
    resident.load_states(folder);
  }
};

/// Runs on every rank of a cut; each says what `body` returns.
template <class Body>
void axis(const Cut& cut, const std::string& precision, const std::string& optimizer,
          const Body& body) {
  ForkedRanks forked(cut.world_size, [&](const comm::Membership& m) {
    at::set_num_threads(1);
    Rank rank(m, plan_of(cut, precision, optimizer));
    const std::string said = body(rank);
    if (rank.control) rank.control->leave();
    return said;
  });
  for (const RankEnd& end : forked.wait(60)) {
    INFO(cut.mode << " of " << cut.world_size << ": " << end.said);
    CHECK(end.code == 0);
    CHECK(end.said == "");
  }
}

std::map<std::string, std::string> tensors_of(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const char* stem : {"model", "optimizer"}) {
    const checkpoint::WeightsFolder files(folder, stem);
    for (const auto& [name, tensor] : files.tensors()) {
      std::string text = std::string(name_of(tensor.entry->dtype));
      for (const std::int64_t d : tensor.entry->dims) text += " " + std::to_string(d);
      out[std::string(stem) + " " + name] =
          text + " " +
          std::string(reinterpret_cast<const char*>(tensor.entry->data.data()),
                      tensor.entry->data.size());
    }
  }
  return out;
}

/// A checkpoint whose every bit of every tensor is something of its own.
void write_random_checkpoint(const std::string& run_folder, const std::string& precision,
                             const std::string& optimizer, unsigned seed) {
  axis({1, "single"}, precision, optimizer, [&](Rank& rank) {
    std::mt19937 random(seed);
    rank.resident.initialize(seed);
    auto contents = rank.contents();
    for (auto& [file, tensors] : contents.tensor_files)
      for (checkpoint::TensorSource& t : tensors) {
        t.fill = [dtype = t.dtype, &random](std::span<std::byte> bytes) {
          if (dtype == DType::f32) {
            for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
              const float x = std::ldexp(static_cast<float>(random()) * 0x1p-32f - 0.5f,
                                         static_cast<int>(random() % 8) - 4);
              std::memcpy(bytes.data() + i, &x, 4);
            }
          } else {
            // a bf16 that is no NaN
            for (std::size_t i = 0; i < bytes.size(); ++i)
              bytes[i] = static_cast<std::byte>(random() % (i % 2 == 1 ? 0x40 : 256));
          }
        };
      }
    checkpoint::Store(run_folder).save(0, contents, 9, false);
    return std::string();
  });
}

}  // namespace

TEST_CASE(
    "a checkpoint written in any world and mode is the same, and is loaded by any other to the "
    "bit") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  struct Kind {
    std::string precision, optimizer;
  };
  for (const Kind& kind :
       {Kind{"fp32", "{type: adamw, lr: 1e-2}"}, Kind{"bf16", "{type: adamw, lr: 1e-2}"},
        Kind{"{compute: bf16, master: fp32}", "{type: lion, lr: 1e-2}"},
        Kind{"fp16", "{type: sgd, lr: 1e-2}"},
        Kind{"fp32", "{type: adamw_8bit, lr: 1e-2, options: {min_8bit_size: 1000}}"},
        Kind{"bf16", "{type: lamb, lr: 1e-2}"},
        Kind{"fp32", "{type: adafactor, options: {beta1: 0.9}}"},
        Kind{"{compute: bf16, master: none}",
             "{type: adamw_anyprecision, lr: 1e-2, options: {momentum_dtype: bf16, "
             "use_kahan_summation: true}}"}}) {
    INFO(kind.precision << " " << kind.optimizer);
    const TemporaryFolder folder;
    write_random_checkpoint(folder.path(), kind.precision, kind.optimizer, seed);
    std::string from = folder.path() + "/checkpoint-0";
    // fp16 and bf16 without a master round what is loaded: what the first loader saves is what
    // there is from then on.
    axis({1, "single"}, kind.precision, kind.optimizer,
         [&](Rank& rank) { return rank.load(from), rank.save(folder.path(), 1), std::string(); });
    from = folder.path() + "/checkpoint-1";
    const auto want = tensors_of(from);
    CHECK(want.size() > 20);
    std::int64_t step = 1;
    // Each loads what the one before wrote: with all of them equal to the first, any may follow
    // any.
    for (const Cut& cut : {Cut{2, "zero1"}, Cut{3, "zero2"}, Cut{2, "ddp"}, Cut{4, "zero3"},
                           Cut{1, "single"}, Cut{3, "zero1"}, Cut{2, "zero3"}, Cut{4, "zero2"},
                           Cut{4, "zero3", 2}, Cut{4, "zero1", 2}, Cut{3, "zero2"}}) {
      ++step;
      axis(cut, kind.precision, kind.optimizer, [&](Rank& rank) {
        return rank.load(from), rank.save(folder.path(), step), std::string();
      });
      from = folder.path() + "/checkpoint-" + std::to_string(step);
      CAPTURE(cut.mode, cut.world_size);
      CHECK(checkpoint::Store(folder.path()).verify(from) == "");
      const auto got = tensors_of(from);
      REQUIRE(got.size() == want.size());
      for (const auto& [name, bytes] : want) {
        CAPTURE(name);
        CHECK(got.contains(name));
        CHECK((got.contains(name) && got.at(name) == bytes));
      }
    }
  }
}

TEST_CASE("a rank whose disk takes no more fails the save on all ranks, and leaves nothing of it") {
  const TemporaryFolder folder;
  const Cut cut{3, "zero3"};
  write_random_checkpoint(folder.path(), "fp32", "{type: adamw, lr: 1e-2}", 3);
  axis(cut, "fp32", "{type: adamw, lr: 1e-2}", [&](Rank& rank) {
    rank.load(folder.path() + "/checkpoint-0");
    std::string problem = "no problem";
    {
      std::optional<LimitedFileSize> limited;
      if (rank.ranks.rank() == 1) limited.emplace(20'000);
      try {
        rank.save(folder.path(), 1);
      } catch (const UserError& e) {
        problem = e.code() == ExitCode::io_error &&
                          std::string(e.what()).find("cannot be written") != std::string::npos
                      ? ""
                      : e.what();
      }
    }
    if (!problem.empty()) return problem;
    rank.save(folder.path(), 2);  // and the next one is whole
    return std::string();
  });
  const checkpoint::Store store(folder.path());
  const auto found = store.list();
  REQUIRE(found.size() == 2);
  CHECK(found.back().step == 2);
  CHECK(store.verify(found.back().path) == "");
  CHECK(tensors_of(found.back().path) == tensors_of(found.front().path));
}

TEST_CASE("a shard of a checkpoint that is missing or altered is found") {
  const TemporaryFolder folder;
  write_random_checkpoint(folder.path(), "fp32", "{type: adamw, lr: 1e-2}", 3);
  axis({2, "zero1"}, "fp32", "{type: adamw, lr: 1e-2}", [&](Rank& rank) {
    return rank.load(folder.path() + "/checkpoint-0"), rank.save(folder.path(), 1),
           rank.save(folder.path(), 2), std::string();
  });
  const checkpoint::Store store(folder.path());
  const std::string shard = folder.path() + "/checkpoint-2/optimizer-00002-of-00002.safetensors";
  {
    std::FILE* file = std::fopen(shard.c_str(), "r+b");
    REQUIRE(file);
    std::fseek(file, -3, SEEK_END);
    std::fputc(0x5a, file);
    std::fclose(file);
  }
  CHECK(store.verify(folder.path() + "/checkpoint-2")
            .find("optimizer-00002-of-00002.safetensors is damaged") != std::string::npos);
  CHECK(store.newest_valid(nullptr).step == 1);
  std::remove((folder.path() + "/checkpoint-1/model-00001-of-00002.safetensors").c_str());
  CHECK(store.verify(folder.path() + "/checkpoint-1") != "");
  CHECK(store.newest_valid(nullptr).step == 0);
}

}  // namespace shards_test
