# Programs for systems without our libraries, which bring all but the C library and drivers along. A folder that holds
# nothing but archives is searched first, so each library comes from its archive; one that has none stays shared and is
# copied beside the program, which looks there.
set(SINTER_ARCHIVES ${CMAKE_BINARY_DIR}/archives)
file(MAKE_DIRECTORY ${SINTER_ARCHIVES})
foreach(name ssl crypto simdjson xxhash pcre2-8 utf8proc readline tinfo)
  find_library(SINTER_ARCHIVE_${name} NAMES lib${name}.a)
  if(SINTER_ARCHIVE_${name})
    file(CREATE_LINK ${SINTER_ARCHIVE_${name}} ${SINTER_ARCHIVES}/lib${name}.a SYMBOLIC)
  endif()
endforeach()

# simdjson has no archive in Debian.
if(NOT SINTER_ARCHIVE_simdjson)
  find_library(SINTER_SHARED_simdjson NAMES simdjson REQUIRED)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${SINTER_SHARED_simdjson} OUTPUT_VARIABLE SINTER_SIMDJSON_HEADERS)
  string(REGEX MATCH "SONAME +([^ \n]+)" SINTER_SIMDJSON_HEADERS "${SINTER_SIMDJSON_HEADERS}")
  configure_file(${SINTER_SHARED_simdjson} ${CMAKE_BINARY_DIR}/bin/${CMAKE_MATCH_1} COPYONLY)
endif()

function(sinter_portable name)
  target_link_options(${name} PRIVATE -L${SINTER_ARCHIVES} -static-libstdc++ -static-libgcc)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN")
endfunction()

# The program `sinter`, without a compiler beside it: it runs plans of `sinter compile`. No part of `all`.
if(SINTER_ARCHIVE_tinfo)
  sinter_program(sinter-portable MAIN src/cli/main.cpp DEPS cli LIBS tinfo)
  sinter_portable(sinter-portable)
  set_target_properties(sinter-portable PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
