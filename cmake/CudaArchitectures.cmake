# Which GPUs kernels are compiled for, and compilers that are refused.
#   native   the GPUs of this machine, or Hopper (90-real) where none is: the default
#   release  every generation from A100 on, and PTX for later ones: packages
#   else     CMake's own list, as "80-real;90-real"
# Older GPUs than 8.0 (A100) cannot run the kernels, which copy into shared memory while they compute
# and multiply bf16; of those CUDA 13 knows 7.5 alone, and no V100.
set(TRAINX_CUDA_ARCHITECTURES native CACHE STRING "GPUs that kernels are compiled for: native, release or a list as CMAKE_CUDA_ARCHITECTURES")
set(trainx_release_architectures 80-real 86-real 89-real 90-real 100-real 120-real 120-virtual)

# nvcc 13.2 takes the wrong bytes out of words on sm_120; 13.0, 13.1 and 13.3 take the right ones.
function(refuse_wrong_nvcc nvcc)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND said MATCHES "release 13\\.2[^0-9]")
    message(FATAL_ERROR "${nvcc} is nvcc 13.2, which miscompiles kernels for GPUs of compute capability 12.0 (RTX 5090): take CUDA 13.0, 13.1 or 13.3 (CUDACXX names another nvcc), or leave the CUDA parts out with -DTRAINX_WITH_CUDA=OFF")
  endif()
endfunction()

# The one that CMake will take, before it tries to.
function(refuse_wrong_nvccs)
  set(nvcc ${CMAKE_CUDA_COMPILER})
  if(NOT nvcc)
    set(nvcc $ENV{CUDACXX})
  endif()
  if(NOT nvcc)
    find_program(nvcc nvcc NO_CACHE)
  endif()
  if(nvcc)
    refuse_wrong_nvcc(${nvcc})
  endif()
endfunction()

function(gpus_of_this_machine result)
  find_program(smi nvidia-smi PATHS /usr/lib/wsl/lib NO_CACHE)
  set(found)
  if(smi)
    execute_process(COMMAND ${smi} --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE said ERROR_QUIET TIMEOUT 30)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${said}")
    foreach(capability ${capabilities})
      string(REPLACE "." "" number ${capability})
      if(number GREATER_EQUAL 80)
        list(APPEND found ${number}-real)
      else()
        message(STATUS "trainx: no kernels for a GPU of compute capability ${capability}: they need 8.0 (A100) or later")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    list(SORT found COMPARE NATURAL)
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The list that kernels are compiled for, of TRAINX_CUDA_ARCHITECTURES.
function(chosen_architectures result)
  set(chosen ${TRAINX_CUDA_ARCHITECTURES})
  if(chosen STREQUAL release)
    set(chosen ${trainx_release_architectures})
  elseif(chosen STREQUAL native)
    gpus_of_this_machine(chosen)
    if(NOT chosen)
      set(chosen 90-real)
    endif()
  endif()
  set(${result} ${chosen} PARENT_SCOPE)
  set(TRAINX_CHOSEN_ARCHITECTURES "${chosen}" CACHE INTERNAL "what TRAINX_CUDA_ARCHITECTURES came to")
endfunction()
