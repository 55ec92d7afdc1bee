# Helpers that turn one folder of src/ into one library, and one main file into one program.
find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  # The precompiled header is only cacheable with this sloppiness.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SINTER_CCACHE})
endif()
set(SINTER_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror=return-type -Werror=unused-result)
add_compile_options(${SINTER_FLAGS} -Xclang -fno-pch-timestamp)
add_link_options(${SINTER_FLAGS} -fuse-ld=lld)

# sinter_layer(NAME DEPS layer... LIBS lib...): src/NAME/**.cpp but main.cpp as library sinter_NAME, without exceptions
# (files named *_adapter.cpp may catch what a third-party library throws, and share no precompiled header).
function(sinter_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)
    add_library(sinter_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(sinter_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(sinter_${name} PRIVATE ${SINTER_WARNINGS} -fno-exceptions)
    list(FILTER sources INCLUDE REGEX "_adapter\\.cpp$")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
  endif()
  target_include_directories(sinter_${name} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(sinter_${name} ${scope} sinter_${dep})
  endforeach()
  target_link_libraries(sinter_${name} ${scope} ${ARG_LIBS} Threads::Threads)
endfunction()

# A layer that does not include MLIR: it shares the precompiled header of sinter_base.
function(sinter_plain_layer name)
  sinter_layer(${name} ${ARGN})
  if(name STREQUAL "base")
    target_precompile_headers(sinter_base PRIVATE ${CMAKE_SOURCE_DIR}/src/base/std_pch.h)
  else()
    target_precompile_headers(sinter_${name} REUSE_FROM sinter_base)
  endif()
endfunction()

# sinter_program(NAME MAIN file DEPS layer... LIBS lib...): one executable under bin/.
function(sinter_program name)
  cmake_parse_arguments(ARG "" "MAIN" "DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_MAIN})
  target_compile_options(${name} PRIVATE ${SINTER_WARNINGS})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${name} PRIVATE sinter_${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
endfunction()
