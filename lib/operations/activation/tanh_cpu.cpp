#include "operations/activation/activation_backends.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include <cmath>

namespace trainx::operations {

void cpu::tanh(const Tensor& y, const Tensor& x) {
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      store(data<T>(y)[i], std::tanh(load(data<T>(x)[i])));
  });
}

}  // namespace trainx::operations
