# Parquet and Arrow files: Apache Arrow (Apache-2.0) out of PyPI's pyarrow, which Debian 12 and Ubuntu 24.04 do not have; scripts/setup fetches it.
# It is linked into a library of its own, which trainx loads when it is first needed.
get_filename_component(site_packages "${TRAINX_TORCH_DIR}" DIRECTORY)
find_path(TRAINX_ARROW_DIR include/parquet/arrow/reader.h PATHS ${CMAKE_SOURCE_DIR}/.deps/arrow/pyarrow ${site_packages}/pyarrow NO_DEFAULT_PATH)
mark_as_advanced(TRAINX_ARROW_DIR)
if(TRAINX_ARROW_DIR)
  file(GLOB arrow_library ${TRAINX_ARROW_DIR}/libarrow.so.*)
  file(GLOB parquet_library ${TRAINX_ARROW_DIR}/libparquet.so.*)
  add_library(trainx_tables SHARED apps/trainx-tables/arrow_table.cpp apps/trainx-tables/row_json.cpp)
  target_include_directories(trainx_tables PRIVATE ${CMAKE_SOURCE_DIR}/lib)
  target_include_directories(trainx_tables SYSTEM PRIVATE ${TRAINX_ARROW_DIR}/include)
  target_link_libraries(trainx_tables PRIVATE ${parquet_library} ${arrow_library})
  set_target_properties(trainx_tables PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
    BUILD_RPATH "\$ORIGIN;\$ORIGIN/site/pyarrow;${TRAINX_ARROW_DIR}" INSTALL_RPATH "\$ORIGIN;\$ORIGIN/../../pyarrow;${TRAINX_ARROW_DIR}")
  add_dependencies(trainx trainx_tables)
else()
  message(STATUS "trainx: no Parquet and Arrow files (scripts/setup --parquet fetches Apache Arrow)")
endif()
