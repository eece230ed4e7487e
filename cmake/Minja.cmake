# Chat templates are Jinja, read by minja (Google, MIT; a header out of PyPI's llama-cpp-python): optional, from .deps/ (scripts/setup). Without it templates
# are refused in a sentence; its header names a global type `json`, so that one file alone includes it.
find_path(TRAINX_MINJA_INCLUDE minja.hpp PATHS ${CMAKE_SOURCE_DIR}/.deps/minja NO_DEFAULT_PATH)
mark_as_advanced(TRAINX_MINJA_INCLUDE)
if(TRAINX_MINJA_INCLUDE)
  set_source_files_properties(lib/corpus/chat/jinja.cpp PROPERTIES COMPILE_DEFINITIONS TRAINX_WITH_MINJA=1
    COMPILE_OPTIONS "-isystem;${TRAINX_MINJA_INCLUDE}")
else()
  message(STATUS "trainx: no chat templates (scripts/setup fetches minja into .deps/)")
endif()
