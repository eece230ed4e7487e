#include "plain_run.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <random>

namespace trainx::model::test {

using program::Op;

PlainRun::PlainRun(const architectures::ModelDims& dims, program::ModelGraph g,
                   program::StepProgram p)
    : graph(std::move(g)), program(std::move(p)), blocks(build_blocks(dims, graph)) {
  for (const program::Buffer& b : program.buffers) {
    at::Tensor bytes = at::empty({std::max<std::int64_t>(b.bytes(), 1)}, at::kByte);
    bytes.fill_(0xff);  // NaN in every floating type
    by_buffer_.push_back(bytes);
    memory[b.name] = bytes;
    if (b.name == "loss_scale") buffer("loss_scale", DType::f64).fill_(loss_scale());
  }
}

at::Tensor PlainRun::buffer(const std::string& name, DType dtype) {
  const at::Tensor& bytes = memory.at(name);
  return tensor::torch_view(make_tensor(bytes.data_ptr(), dtype, {bytes.numel() / size_of(dtype)}));
}

void PlainRun::fill_parameters(std::uint64_t parameter_seed) {
  for (const auto& group : graph.groups) {
    std::vector<float> exact(group.elements);
    initialize_parameters(group, parameter_seed, exact.data());
    std::mt19937_64 random(parameter_seed + 17);
    std::normal_distribution<float> normal;
    for (const auto& p : group.parameters)
      for (std::int64_t i = 0; i < p.elements(); ++i)
        if (p.dims.size() == 1)
          exact[p.offset + i] += 0.1f * normal(random);
        else
          exact[p.offset + i] *= 5;
    buffer("w." + group.name, graph.compute)
        .copy_(tensor::torch_view(make_tensor(exact.data(), DType::f32, {group.elements})));
  }
}

void PlainRun::fill_batch(std::uint64_t batch_seed, std::int64_t vocab_size,
                          double share_without_target) {
  std::mt19937_64 random(batch_seed);
  const at::Tensor tokens = buffer("tokens", DType::i32), targets = buffer("targets", DType::i32),
                   positions = buffer("positions", DType::i64);
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    tokens.data_ptr<std::int32_t>()[i] = static_cast<std::int32_t>(random() % vocab_size);
    const bool none = static_cast<double>(random() % 1000) < 1000 * share_without_target;
    targets.data_ptr<std::int32_t>()[i] = none ? -100
                                               : static_cast<std::int32_t>(random() % vocab_size);
  }
  for (std::int64_t i = 0; i < positions.numel(); ++i)
    positions.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(1000 + 7 * i) +
                                            (std::int64_t{1} << 33);
  for (const auto& field : graph.batch) {
    if (field.name != "token_types" && field.name != "lengths" && field.name != "labels") continue;
    const at::Tensor ids = buffer(field.name, DType::i32);
    // of the last value, logits
    const std::int64_t limit = field.name == "labels" ? graph.values.back().dims.at(1) : 2;
    for (std::int64_t i = 0; i < ids.numel(); ++i)
      ids.data_ptr<std::int32_t>()[i] =
          field.name == "lengths" ? static_cast<std::int32_t>(tokens.numel() / ids.numel())
                                  : static_cast<std::int32_t>(random() % limit);
  }
}

void PlainRun::run() {
  std::vector<void*> addresses;
  for (const at::Tensor& bytes : by_buffer_) addresses.push_back(bytes.data_ptr());
  run_at(addresses, Place::host);
}

void PlainRun::run_at(const std::vector<void*>& addresses, Place place) {
  for (const program::Instruction& i : program.steady) {
    const bool of_block = i.op == Op::forward || i.op == Op::recompute || i.op == Op::loss ||
                          i.op == Op::backward || i.op == Op::evaluate || i.op == Op::predict;
    if (!of_block) continue;
    const program::BlockSpec& spec = graph.blocks.at(i.block);
    std::vector<Tensor> operands(spec.slots.size());
    std::vector<program::How> how(spec.slots.size(), program::How::read);
    for (const program::Use& u : i.uses) {
      const program::TensorSpec& t = spec.slots.at(u.slot).tensor;
      operands[u.slot] = make_tensor(addresses.at(u.buffer), t.dtype, t.dims, place);
      how[u.slot] = u.how;
    }
    BlockContext c(graph, spec, std::move(operands), std::move(how), mode, seed, loss_seed);
    run_block(*blocks.at(i.block), i.op, c);
  }
}

std::map<std::string, at::Tensor> PlainRun::parameters(const std::string& prefix, DType dtype) {
  std::map<std::string, at::Tensor> found;
  for (const auto& group : graph.groups) {
    if (prefix == "g." && !group.training.trained) continue;
    for (const auto& p : group.parameters)
      found[p.name] =
          buffer(prefix + group.name, dtype).narrow(0, p.offset, p.elements()).view(p.dims);
  }
  return found;
}

}  // namespace trainx::model::test
