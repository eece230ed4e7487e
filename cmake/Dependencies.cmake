# What trainx is built with, as imported targets: for its own build, and for projects that link an installed trainx::worker.
include(${CMAKE_CURRENT_LIST_DIR}/TorchWheel.cmake)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
# Static where there is a static one, so that a binary can be carried to another machine.
foreach(library xxhash yaml-cpp)
  if(NOT TARGET system::${library})
    string(MAKE_C_IDENTIFIER ${library} variable)
    find_library(TRAINX_${variable}_LIBRARY NAMES lib${library}.a ${library} REQUIRED)
    mark_as_advanced(TRAINX_${variable}_LIBRARY)
    add_library(system::${library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(system::${library} PROPERTIES IMPORTED_LOCATION "${TRAINX_${variable}_LIBRARY}")
  endif()
endforeach()
