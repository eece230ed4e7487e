# The headers of cuDNN and of its frontend (PyPI nvidia-cudnn-frontend, header-only, MIT). The library itself is loaded when it is
# first needed. From the toolkit, from the wheels beside LibTorch's, or from .deps/ (scripts/setup).
get_filename_component(site_packages "${TRAINX_TORCH_DIR}" DIRECTORY)
find_path(TRAINX_CUDNN_FRONTEND_INCLUDE cudnn_frontend/graph_interface.h
  PATHS ${CMAKE_SOURCE_DIR}/.deps/cudnn-frontend/include ${site_packages}/include NO_DEFAULT_PATH)
find_path(TRAINX_CUDNN_INCLUDE cudnn_graph.h
  PATHS ${CUDAToolkit_INCLUDE_DIRS} ${site_packages}/nvidia/cudnn/include ${CMAKE_SOURCE_DIR}/.deps/cudnn/include)
mark_as_advanced(TRAINX_CUDNN_FRONTEND_INCLUDE TRAINX_CUDNN_INCLUDE)
if(NOT TRAINX_CUDNN_FRONTEND_INCLUDE OR NOT TRAINX_CUDNN_INCLUDE)
  message(FATAL_ERROR "the CUDA parts need the headers of cuDNN 9 and of nvidia-cudnn-frontend; scripts/setup fetches them into .deps/")
endif()
# One file sees them, at -O1: it describes graphs, which cuDNN computes. Hidden: libtorch_cuda exports functions of another
# version of the frontend under the same names.
set_source_files_properties(lib/gpu/cudnn_attention.cpp PROPERTIES COMPILE_OPTIONS
  "-O1;-fvisibility=hidden;-isystem;${TRAINX_CUDNN_FRONTEND_INCLUDE};-isystem;${TRAINX_CUDNN_INCLUDE}")
