# LibTorch as it lies in the PyPI wheel, described by hand as imported targets.
#   wheel::cpu   libtorch_cpu and c10
#   wheel::cuda  wheel::cpu, libtorch_cuda and c10_cuda; only with a CUDA 13 toolkit
# find_package(Torch) is not used: it demands nvcc, sets global flags and architectures, and links everything everywhere.
# Input: TRAINX_TORCH_DIR, the wheel's .../site-packages/torch (scripts/setup finds or installs it).
if(TARGET wheel::cpu)
  return()
endif()
set(TRAINX_TORCH_VERSION "2.11.0")
set(TRAINX_TORCH_DIR "" CACHE PATH "site-packages/torch of the LibTorch wheel")
if(NOT EXISTS "${TRAINX_TORCH_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "TRAINX_TORCH_DIR='${TRAINX_TORCH_DIR}' holds no LibTorch; scripts/setup installs it and names it")
endif()
file(STRINGS "${TRAINX_TORCH_DIR}/version.py" version_line REGEX "^__version__")
string(FIND "${version_line}" "'${TRAINX_TORCH_VERSION}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "torch ${TRAINX_TORCH_VERSION} is wanted; ${TRAINX_TORCH_DIR}/version.py says ${version_line}")
endif()

foreach(name c10 torch_cpu c10_cuda torch_cuda)
  add_library(wheel_${name} SHARED IMPORTED GLOBAL)
  set_target_properties(wheel_${name} PROPERTIES IMPORTED_LOCATION "${TRAINX_TORCH_DIR}/lib/lib${name}.so")
endforeach()

add_library(wheel::cpu INTERFACE IMPORTED GLOBAL)
target_include_directories(wheel::cpu SYSTEM INTERFACE "${TRAINX_TORCH_DIR}/include" "${TRAINX_TORCH_DIR}/include/torch/csrc/api/include")
# Operators on tensors come from ATen/TensorOperators.h instead of the header of all functions.
target_compile_definitions(wheel::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
# at::parallel_for uses OpenMP threads only in files compiled with it; the runtime is the one that libtorch_cpu brings, so that there is one pool of threads.
target_compile_options(wheel::cpu INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp>")
target_link_libraries(wheel::cpu INTERFACE "${TRAINX_TORCH_DIR}/lib/libgomp.so.1")
# libtorch_cpu itself needs CUDA run-time libraries that only the start of a program has to find.
target_link_options(wheel::cpu INTERFACE "LINKER:--allow-shlib-undefined")
target_link_libraries(wheel::cpu INTERFACE wheel_torch_cpu wheel_c10)

if(TRAINX_CUDA)
  add_library(wheel::cuda INTERFACE IMPORTED GLOBAL)
  # --no-as-needed: libtorch_cuda registers its kernels in static constructors, so no symbol of it need be named.
  target_link_libraries(wheel::cuda INTERFACE "-Wl,--push-state,--no-as-needed" wheel_torch_cuda wheel_c10_cuda "-Wl,--pop-state" wheel::cpu CUDA::cudart)
endif()
