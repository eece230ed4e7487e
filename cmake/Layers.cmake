# The layers of lib/, lowest first. Each folder is one static library `trainx_<folder>` of all its sources (sub-folders too);
# `layer(name NEEDS ...)` says whom it may include, which scripts/check_layers holds against the #include lines. A layer with CUDA has no sources and
# links nothing where the CUDA parts are off; of the others the folders cuda/ are left out there.
include(${CMAKE_CURRENT_LIST_DIR}/Batches.cmake)
function(layer name)
  cmake_parse_arguments(LAYER "TORCH;CUDA;QUICK" "SPECS;SIZE" "NEEDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${name}/*.cpp)
  if(NOT TRAINX_CUDA)
    list(FILTER sources EXCLUDE REGEX "/cuda/|_cuda\\.cpp$")
  endif()
  list(FILTER sources EXCLUDE REGEX "_spec\\.cpp$")
  if(LAYER_SPECS)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${LAYER_SPECS}/*_spec.cpp)
  endif()
  if(LAYER_CUDA AND NOT TRAINX_CUDA)
    set(sources)
    set(LAYER_LIBRARIES)
  endif()
  if(NOT sources)
    add_library(trainx_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(trainx_${name} STATIC ${sources})
    set(quick)
    if(LAYER_QUICK)
      set(quick QUICK)
    endif()
    compile_in_batches(trainx_${name} ${quick} SIZE ${LAYER_SIZE})
    set(scope PUBLIC)
  endif()
  set(roots ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(trainx_${name} ${scope} "$<BUILD_INTERFACE:${roots}>")
  set_target_properties(trainx_${name} PROPERTIES EXPORT_NAME ${name})
  set(TRAINX_LAYERS ${TRAINX_LAYERS} trainx_${name} PARENT_SCOPE)
  foreach(need ${LAYER_NEEDS})
    if(NOT need STREQUAL kernels)    # their headers: who launches kernels or calls references links them as LIBRARIES
      target_link_libraries(trainx_${name} ${scope} trainx_${need})
    endif()
  endforeach()
  target_link_libraries(trainx_${name} ${scope} ${LAYER_LIBRARIES})
  if(LAYER_TORCH)
    target_link_libraries(trainx_${name} ${scope} wheel::cpu)
  endif()
endfunction()

# Kernels depend on nothing of lib/: raw pointers, sizes, stream. Their CPU references are plain C++; some are what the CPU trains with.
file(GLOB_RECURSE reference_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.cpp)
file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.cu)
list(FILTER kernel_sources EXCLUDE REGEX "/hopper/")
if(reference_sources)
  add_library(trainx_kernel_references STATIC ${reference_sources})
  compile_in_batches(trainx_kernel_references)
  # Products and sums are rounded one by one, as kernels::product and kernels::sum promise.
  target_compile_options(trainx_kernel_references PRIVATE -ffp-contract=off)
  target_include_directories(trainx_kernel_references PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>")
  set_target_properties(trainx_kernel_references PROPERTIES EXPORT_NAME kernel_references)
  list(APPEND TRAINX_LAYERS trainx_kernel_references)
endif()
# Replaces the files of each folder of instances (kernels/attention/backward.hpp) by one that includes
# them. Quick kernels have few functions inlined: alone, each file would compile those that they share.
function(compile_instances_together sources)
  set(chosen)
  set(folders)
  foreach(source ${${sources}})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    if(path MATCHES "^(kernels/[^/]+/.+)/")
      list(APPEND folders ${CMAKE_MATCH_1})
      string(APPEND includes_${CMAKE_MATCH_1} "#include \"${path}\"\n")
    else()
      list(APPEND chosen ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    set(file ${CMAKE_BINARY_DIR}/instances/${folder}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_${folder}}" @ONLY)
    list(APPEND chosen ${file})
  endforeach()
  set(${sources} ${chosen} PARENT_SCOPE)
endfunction()
if(TRAINX_CUDA AND kernel_sources)
  if(TRAINX_QUICK_KERNELS)
    compile_instances_together(kernel_sources)
  endif()
  add_library(trainx_kernels STATIC ${kernel_sources})
  target_include_directories(trainx_kernels PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>")
  set_target_properties(trainx_kernels PROPERTIES EXPORT_NAME kernels)
  list(APPEND TRAINX_LAYERS trainx_kernels)
  target_link_libraries(trainx_kernels PUBLIC CUDA::cudart)
  target_compile_options(trainx_kernels PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>")
endif()
# Kernels of Hopper's own instructions (wgmma, setmaxnreg). Only code for 90a may use them; it runs
# on compute capability 9.0 alone. Built where kernels for 9.0 are.
if(TRAINX_CUDA AND CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)90a?(-real|-virtual)?(;|$)")
  file(GLOB_RECURSE hopper_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*/hopper/*.cu)
  add_library(trainx_hopper_kernels STATIC ${hopper_sources})
  set_target_properties(trainx_hopper_kernels PROPERTIES CUDA_ARCHITECTURES 90a-real
    EXPORT_NAME hopper_kernels)
  list(APPEND TRAINX_LAYERS trainx_hopper_kernels)
  target_include_directories(trainx_hopper_kernels PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>")
  target_link_libraries(trainx_hopper_kernels PUBLIC CUDA::cudart)
  target_compile_options(trainx_hopper_kernels PRIVATE --compress-mode=size)
  target_link_libraries(trainx_kernels PUBLIC trainx_hopper_kernels)
elseif(TRAINX_CUDA)
  add_compile_definitions(TRAINX_WITHOUT_HOPPER_KERNELS)  # plans and kernels agree
endif()

# The torch-free half.
layer(core LIBRARIES Threads::Threads nlohmann_json::nlohmann_json system::xxhash)
layer(log QUICK NEEDS core)                    # spdlog and fmt, header-only, in one file
layer(yaml QUICK NEEDS core LIBRARIES system::yaml-cpp)
layer(program NEEDS core)
layer(passes NEEDS program)
# What operations say of themselves: the files *_spec of lib/operations, which link no LibTorch.
layer(operation_specs SPECS operations NEEDS core program)
layer(graph NEEDS operation_specs program)
# Low-rank adapters in PEFT's files: settings, names, targets by patterns (PCRE2).
layer(adapter NEEDS core LIBRARIES system::pcre2-8)
# What there is to choose, and how each choice is written.
layer(options NEEDS core program)
layer(architectures NEEDS core program graph options)
# Recipes are read without headers of models and operations. Families and published sizes, which
# lib/options/model declares and lib/architectures defines, are linked.
layer(recipe QUICK NEEDS options yaml LIBRARIES trainx_architectures)
layer(imports QUICK NEEDS adapter recipe architectures)
# Packed files by zlib and zstd.
layer(data NEEDS options LIBRARIES system::z system::zstd)
# Text to tokens: patterns by PCRE2, normal forms by utf8proc, Google's SentencePiece.
layer(tokenizer NEEDS core yaml LIBRARIES system::pcre2-8 system::utf8proc system::sentencepiece)
# Chat templates: the Jinja that they are written in.
layer(jinja NEEDS core LIBRARIES system::utf8proc)
layer(corpus NEEDS data tokenizer jinja)
# A generation of GPUs is a file: data sheets, rates, limits.
layer(hardware NEEDS core program)
set(architectures)
if(TRAINX_CUDA)
  set(architectures ${CMAKE_CUDA_ARCHITECTURES})
  foreach(word native all all-major)
    if(architectures STREQUAL word)
      string(TOUPPER ${word} which)
      string(REPLACE - _ which ${which})
      set(architectures ${CMAKE_CUDA_ARCHITECTURES_${which}})
    endif()
  endforeach()
  string(REPLACE ";" "," architectures "${architectures}")
endif()
target_compile_definitions(trainx_hardware PRIVATE TRAINX_BUILT_ARCHITECTURES="${architectures}")
layer(checkpoint NEEDS core log)
layer(facts NEEDS recipe architectures data tokenizer hardware checkpoint)
# What `trainx doctor` finds on this machine.
layer(doctor QUICK NEEDS facts)
layer(plan NEEDS kernels facts hardware recipe passes adapter)
# Adapters added to the weights of their models.
layer(merge NEEDS plan checkpoint)
# HMAC-SHA256 by libcrypto, with which ranks prove themselves.
layer(comm NEEDS core log LIBRARIES system::crypto)
layer(launch QUICK NEEDS plan comm)
layer(metrics QUICK NEEDS core log)
layer(html_report QUICK NEEDS recipe checkpoint metrics)
# What has no room in memory: files by direct I/O, which liburing keeps many pieces of on their way.
layer(disk NEEDS core LIBRARIES system::uring)
# The GPU's libraries over raw pointers: matrix products, attention. They are loaded when first needed, so that programs start where they are missing.
if(TRAINX_CUDA)
  include(${CMAKE_CURRENT_LIST_DIR}/Cudnn.cmake)
endif()
layer(gpu CUDA NEEDS kernels core LIBRARIES trainx_kernels CUDA::cudart)
# What computes.
layer(tensor TORCH NEEDS core)
layer(operations TORCH NEEDS kernels tensor gpu operation_specs
  LIBRARIES trainx_kernel_references)
if(TRAINX_CUDA)
  target_compile_definitions(trainx_operations PUBLIC TRAINX_CUDA)
endif()
layer(model TORCH NEEDS kernels operations program architectures options graph)
# Models that scripts/trainx-export wrote. SHA-256 by libcrypto.
layer(exported TORCH SIZE 12 NEEDS model checkpoint LIBRARIES system::crypto)
layer(optim TORCH NEEDS kernels tensor options LIBRARIES trainx_kernel_references)
# Products and sums are rounded one by one on every instruction set, as torch.optim's are: fp32 and split masters, any cut into chunks and any machine
# give the same bits. Without errno a square root is one vector instruction.
target_compile_options(trainx_optim PRIVATE -ffp-contract=off -fno-math-errno)
# Interprets the step program: on CPUs, on a GPU, over ranks.
layer(execute TORCH NEEDS kernels model optim data disk plan comm log)
# What lives from step to step, to and from checkpoints.
layer(state TORCH NEEDS execute checkpoint disk merge)
layer(generate TORCH NEEDS state launch)
# The loop and its observers.
layer(train TORCH NEEDS state metrics launch)
