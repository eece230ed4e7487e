#include "exported/cpu/small_table.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>
#include <cstdint>
#include <vector>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SmallTable : torch::autograd::Function<SmallTable> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& table, const at::Tensor& ids) {
    c->save_for_backward({ids});
    c->saved_data["rows"] = table.size(0);
    return at::embedding(table, ids);
  }

  /// Column by column: each is dense where rows were permuted to the end, [C, ...].
  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const at::Tensor ids = c->get_saved_variables()[0].contiguous();
    const std::int64_t rows = c->saved_data["rows"].toInt(), columns = gradients[0].size(-1),
                       count = ids.numel();
    const at::Tensor d = gradients[0].movedim(-1, 0).contiguous(),
                     to = at::zeros({rows, columns}, d.options());
    const float* const from = d.const_data_ptr<float>();
    const std::int64_t* const id = ids.const_data_ptr<std::int64_t>();
    float* const out = to.mutable_data_ptr<float>();
    tensor::parallel_for(0, columns, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        std::vector<float> sums(static_cast<std::size_t>(rows));
        for (std::int64_t k = 0; k < count; ++k)
          sums[static_cast<std::size_t>(id[k])] += from[column * count + k];
        for (std::int64_t r = 0; r < rows; ++r)
          out[r * columns + column] = sums[static_cast<std::size_t>(r)];
      }
    });
    return {to, at::Tensor()};
  }
};

}  // namespace

bool is_small_table(const at::Tensor& table, const at::Tensor& ids) {
  return table.scalar_type() == at::kFloat && ids.scalar_type() == at::kLong && table.dim() == 2 &&
         table.size(1) <= 256 && ids.numel() >= 16 * table.size(0);
}

at::Tensor small_table_rows(const at::Tensor& table, const at::Tensor& ids) {
  return SmallTable::apply(table, ids);
}

}  // namespace trainx::exported::cpu
