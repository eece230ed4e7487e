// What the spec declares against what the blocks do: slots that recomputing takes, matrix products,
// bytes that libraries allocate.
#include "bert_cases.hpp"
#include "cases.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "architectures/library_bytes.hpp"
#include "tensor/allocator_meter.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <cstring>
#include <functional>
#include <set>
#include "support/catch.hpp"

namespace declared_test {

using namespace trainx;
using model::BlockContext;
using model::test::bert_cases;
using model::test::cases;
using model::test::PlainRun;
using program::How;
using program::Op;
using program::Slot;

namespace {

/// A case of either architecture.
struct AnyCase {
  std::string name;
  std::function<PlainRun(DType compute, std::int64_t threads)> make;
  architectures::ModelDims dims;
};
AnyCase gpt2_case(const model::test::Case& t) {
  return {t.name,
          [t](DType compute, std::int64_t threads) {
            return make_run(t,
                            architectures::graph_of(t.dims, t.batch, t.length, compute,
                                                    architectures::GraphOptions::on_cpu(threads)));
          },
          t.dims};
}
AnyCase bert_case(const model::test::BertCase& t) {
  return {t.name,
          [t](DType compute, std::int64_t threads) {
            return make_run(t, compute, architectures::GraphOptions::on_cpu(threads));
          },
          t.dims};
}

/// With products in fp8.
AnyCase fp8_case(const model::test::Case& t) {
  return {t.name + std::string(" in fp8"),
          [t](DType compute, std::int64_t threads) {
            architectures::GraphOptions graph_options =
                architectures::GraphOptions::on_cpu(threads);
            graph_options.passes.fp8.layers = graph::Fp8Layers::all;
            return make_run(
                t, architectures::graph_of(t.dims, t.batch, t.length, compute, graph_options));
          },
          t.dims};
}
/// 100 and more: of BERT; 200 and more: in fp8.
AnyCase any_case(int which) {
  const auto at = static_cast<std::size_t>(which % 100);
  return which >= 200   ? fp8_case(cases().at(at))
         : which >= 100 ? bert_case(bert_cases().at(at))
                        : gpt2_case(cases().at(at));
}

/// Operands of a block's operation by slot, as the run holds them.
std::vector<Tensor> operands_of(PlainRun& run, int block, Op op) {
  const program::BlockSpec& spec = run.graph.blocks[block];
  std::vector<Tensor> operands(spec.slots.size());
  for (const auto& i : run.program.steady)
    if (i.op == op && i.block == block)
      for (const auto& u : i.uses) {
        const program::TensorSpec& t = spec.slots[u.slot].tensor;
        operands[u.slot] = make_tensor(run.memory.at(run.program.buffers[u.buffer].name).data_ptr(),
                                       t.dtype, t.dims);
      }
  return operands;
}

bool bit_equal(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() &&
         std::memcmp(a.data, b.data, static_cast<std::size_t>(a.nbytes())) == 0;
}

/// Outputs of one kernel, which a pass drops and recomputes together.
std::vector<Slot> computed_with(const program::BlockSpec& spec, Slot s) {
  std::vector<Slot> together;
  for (Slot other = 0; other < static_cast<Slot>(spec.slots.size()); ++other)
    if (spec.slots[other].role == program::Role::saved &&
        spec.slots[s].role == program::Role::saved && spec.slots[other].from == spec.slots[s].from)
      together.push_back(other);
  return together.empty() ? std::vector<Slot>{s} : together;
}

std::multiset<std::vector<std::int64_t>> declared(const program::Phase& phase) {
  std::multiset<std::vector<std::int64_t>> gemms;
  for (const auto& g : phase.gemms)
    for (std::int64_t i = 0; i < g.count; ++i) gemms.insert({g.m, g.n, g.k});
  return gemms;
}

}  // namespace

TEST_CASE("each forward output follows from the slots it declares, bit for bit") {
  const AnyCase t = any_case(GENERATE(0, 1, 3, 100, 101, 102, 105, 106, 200, 203));
  const DType compute = GENERATE(DType::f32, DType::bf16, DType::f16);
  INFO(t.name << " " << name_of(compute));
  PlainRun run = t.make(compute, 2);
  run.run();
  for (int k = 0; k + 1 < static_cast<int>(run.graph.blocks.size()); ++k) {
    const program::BlockSpec& spec = run.graph.blocks[k];
    const std::vector<Tensor> kept = operands_of(run, k, Op::forward);
    // of the operation as a whole
    const auto is_workspace = [&](Slot s) {
      return spec.slots[s].role == program::Role::scratch && spec.slots[s].from.empty() &&
             std::ranges::none_of(spec.slots, [&](const program::SlotSpec& other) {
               return std::ranges::find(other.from, s) != other.from.end();
             });
    };
    for (const auto& use : spec.phases.at(Op::forward).uses) {
      // counts are those of all operations of all blocks
      if (use.how == How::read || is_workspace(use.slot) ||
          spec.slots[use.slot].role == program::Role::metric)
        continue;
      INFO(spec.name << " " << spec.slots[use.slot].name);
      std::vector<Tensor> operands(spec.slots.size());
      std::vector<How> how(spec.slots.size(), How::read);
      for (Slot from : spec.slots[use.slot].from) operands[from] = kept[from];
      for (const auto& other : spec.phases.at(Op::forward).uses)
        if (is_workspace(other.slot)) operands[other.slot] = kept[other.slot];
      std::vector<at::Tensor> outputs;
      for (Slot s : computed_with(spec, use.slot)) {
        operands[s] = outputs.emplace_back(at::empty_like(tensor::torch_view(kept[s])));
        how[s] = How::overwrite;
      }
      const Tensor made = operands[use.slot];
      BlockContext c(run.graph, spec, std::move(operands), std::move(how), model::Mode::train,
                     run.seed, run.loss_seed);
      run.blocks[k]->forward(c);
      CHECK(bit_equal(made, kept[use.slot]));
    }
  }
}

TEST_CASE("the matrix products of the spec are those that are issued") {
  const AnyCase t = any_case(GENERATE(0, 2, 6, 100, 103, 104, 108, 200, 202));
  const DType compute = GENERATE(DType::f32, DType::bf16, DType::f16);
  INFO(t.name << " " << name_of(compute));
  PlainRun train = t.make(compute, 2);
  std::vector<std::pair<PlainRun*, Op>> runs{{&train, Op::loss}};
  PlainRun evaluation(t.dims, train.graph,
                      program::forward_program(train.program, train.graph, Op::evaluate));
  PlainRun prediction(t.dims, train.graph,
                      program::forward_program(train.program, train.graph, Op::predict));
  runs.push_back({&evaluation, Op::evaluate});
  runs.push_back({&prediction, Op::predict});
  for (auto& [run, last] : runs) {
    if (run != &train) {
      for (const auto& group : train.graph.groups)
        run->memory.at("w." + group.name).copy_(train.memory.at("w." + group.name));
      for (const auto& field : train.graph.batch)
        run->memory.at(field.name).copy_(train.memory.at(field.name));
    }
    if (last == Op::predict) run->buffer("targets", DType::i32).zero_();
    if (last != Op::loss) run->mode = model::Mode::eval;
    std::multiset<std::vector<std::int64_t>> want, got;
    for (const auto& block : run->graph.blocks)
      for (Op op : {Op::forward, Op::backward, last})
        if (block.phases.count(op) && !(op == Op::backward && last != Op::loss))
          want.merge(declared(block.phases.at(op)));
    operations::IssuedGemms issued;
    run->run();
    for (const auto& g : issued.gemms) got.insert({g.m, g.n, g.k});
    CHECK(got == want);
    CHECK(!got.empty());
  }
}

TEST_CASE("the kernels of the spec are the operations that are computed") {
  const AnyCase t = any_case(GENERATE(0, 1, 3, 103, 104, 200, 203));
  const auto* bert = std::get_if<architectures::BertDims>(&t.dims);
  if (bert && bert->task != architectures::Task::classification)
    return;  // a batch decides how often
  INFO(t.name);
  PlainRun run = t.make(DType::f32, 1);
  std::map<Work, std::int64_t> declared_of, computed;
  const std::map<program::KernelFamily, Work> works{
      {program::KernelFamily::norm_forward, Work::norm},
      {program::KernelFamily::norm_backward, Work::norm},
      {program::KernelFamily::activation, Work::activation},
      {program::KernelFamily::column_sum, Work::sum},
      {program::KernelFamily::dropout, Work::dropout},
      {program::KernelFamily::cross_entropy, Work::loss}};
  for (const auto& block : run.graph.blocks)
    for (const Op op : {Op::forward, Op::loss, Op::backward})
      if (const auto phase = block.phases.find(op); phase != block.phases.end())
        for (const auto& k : phase->second.kernels)
          if (const auto work = works.find(k.family); work != works.end())
            declared_of[work->second] += k.count;
  operations::WorkTimes times;
  run.run();
  for (const auto& span : times.spans)
    if (std::ranges::any_of(works, [&](const auto& w) { return w.second == span.work; }))
      ++computed[span.work];
  for (const auto& [family, work] : works) {
    INFO(name_of(work));
    CHECK(computed[work] == declared_of[work]);
  }
  CHECK(computed[Work::norm] > 0);
}

TEST_CASE(
    "libraries allocate no more than the graph says, and the graph does not say far too much") {
  tensor::install_allocator_meter();
  const int threads_before = at::get_num_threads();
  const int threads = GENERATE(1, 2);
  const DType compute = GENERATE(DType::f32, DType::bf16, DType::f16);
  const int which = GENERATE(0, 1, 2, 3, 98, 7, 99, 100, 103, 104, 106, 198, 109, 199, 200, 299);
  const model::test::Case wide{"wide",
                               {.num_layers = 1,
                                .num_heads = 4,
                                .hidden_size = 256,
                                .intermediate_size = 512,
                                .max_positions = 256,
                                .vocab_size = 300},
                               4,
                               200};
  const model::test::BertCase wide_bert{"wide BERT",
                                        {.num_layers = 1,
                                         .num_heads = 4,
                                         .hidden_size = 256,
                                         .intermediate_size = 512,
                                         .max_positions = 256,
                                         .vocab_size = 300},
                                        4,
                                        200};
  // a vocabulary whose rows are no narrower than what is declared for
  model::test::Case large_head = cases().at(6);
  model::test::BertCase large_masked_head = bert_cases().at(8);
  large_head.dims.hidden_size = large_masked_head.dims.hidden_size = 64;
  const AnyCase t = which == 98    ? gpt2_case(large_head)
                    : which == 198 ? bert_case(large_masked_head)
                    : which == 99  ? gpt2_case(wide)
                    : which == 199 ? bert_case(wide_bert)
                    : which == 299 ? fp8_case(wide)
                                   : any_case(which);
  at::set_num_threads(threads);
  PlainRun run = t.make(compute, threads);
  const std::int64_t before = tensor::allocator_bytes().current;
  tensor::reset_allocator_peak();
  run.run();
  const std::int64_t peak = tensor::allocator_bytes().peak - before;
  at::set_num_threads(threads_before);
  INFO(t.name << " " << name_of(compute) << " threads " << threads << " peak " << peak
              << " declared " << run.graph.library_bytes);
  CHECK(peak <= run.graph.library_bytes);
  CHECK(run.graph.library_bytes <=
        2 * peak + threads * std::max<std::int64_t>(256 * 1024,
                                                    architectures::product_scratchpad_bytes(
                                                        compute, which == 98 || which == 198
                                                                     ? large_head.dims.vocab_size
                                                                     : 0)));
  CHECK(tensor::allocator_bytes().current == before);
}

}  // namespace declared_test
