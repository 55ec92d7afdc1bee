# One GoogleTest program per layer from tests/LAYER/*_test.cpp, one ctest entry per test suite; lit and tidy as single entries.
# Assertions expand to much code that runs once: it is not optimised, which halves its compilation.
set(SINTER_TEST_DATA ${CMAKE_SOURCE_DIR}/tests/data)
add_library(sinter_test_main OBJECT ${CMAKE_SOURCE_DIR}/tests/test_main.cpp)
target_link_libraries(sinter_test_main PUBLIC GTest::gtest GTest::gmock)

# ctest entries of a layer's program, listed when it is built.
function(sinter_test_entries layer)
  set(entries ${CMAKE_BINARY_DIR}/test_entries/${layer}.cmake)
  set(script ${CMAKE_SOURCE_DIR}/cmake/SinterTestEntries.cmake)
  add_custom_command(TARGET ${layer}_tests POST_BUILD
    COMMAND ${CMAKE_COMMAND} -D LAYER=${layer} -D PROGRAM=$<TARGET_FILE:${layer}_tests> -D OUT=${entries}
      -D CASES=${CMAKE_BINARY_DIR}/test_cases -P ${script} VERBATIM)
  set_property(TARGET ${layer}_tests APPEND PROPERTY LINK_DEPENDS ${script})
  set(include ${CMAKE_BINARY_DIR}/test_entries/${layer}_include.cmake)
  file(WRITE ${include} "if(EXISTS [==[${entries}]==])\n  include([==[${entries}]==])\n"
    "else()\n  add_test(${layer}_tests_NOT_BUILT ${layer}_tests_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

function(sinter_tests layer)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${layer}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${layer}_tests ${sources})
  target_link_libraries(${layer}_tests PRIVATE sinter_${layer} ${ARGN} sinter_test_main)
  target_compile_options(${layer}_tests PRIVATE -O0 -fpch-instantiate-templates)
  target_include_directories(${layer}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${layer}_tests PRIVATE SINTER_TEST_DIR="${CMAKE_SOURCE_DIR}/tests"
    SINTER_BIN_DIR="${CMAKE_BINARY_DIR}/bin" SINTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  sinter_test_entries(${layer})
  include(${CMAKE_SOURCE_DIR}/tests/${layer}/tests.cmake OPTIONAL) # what the layer's tests load besides
endfunction()
# The first target compiles the header that all share.
function(sinter_tests_pch first layer header)
  if(layer STREQUAL first)
    target_precompile_headers(${layer}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests/${header})
  elseif(TARGET ${layer}_tests)
    target_precompile_headers(${layer}_tests REUSE_FROM ${first}_tests)
  endif()
endfunction()

foreach(layer base numeric layout format hal plan runtime jinja grammar store)
  sinter_tests(${layer})
  sinter_tests_pch(base ${layer} test_pch.h)
endforeach()
foreach(layer llm host serve cli)
  sinter_tests(${layer})
  sinter_tests_pch(llm ${layer} llm_test_pch.h)
endforeach()
if(SINTER_COMPILER)
  sinter_tests(targets sinter_kernels sinter_hal) # conformance: registered kernels, loaded as the cpu driver does
  foreach(layer compiler tile sched targets kernels graph models engine) # the first one sees all dialects
    if(NOT TARGET ${layer}_tests)
      sinter_tests(${layer})
    endif()
    if(TARGET ${layer}_tests)
      sinter_tests_pch(compiler ${layer} mlir_test_pch.h)
      target_compile_options(${layer}_tests PRIVATE -fPIC -fno-exceptions ${SINTER_WARNINGS})
    endif()
  endforeach()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/tidy/tidy.py ${CMAKE_SOURCE_DIR})
set_tests_properties(tidy PROPERTIES TIMEOUT 300)

# The PyPI clients against a server, where they and the default model are there.
if(TARGET sinter)
  add_test(NAME clients COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/clients/clients.py
    --serve $<TARGET_FILE:sinter>)
  set_tests_properties(clients PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS full)
endif()

# Load tests of the server in short, where the default model is there; their long forms are in docs/measuring-a-server.md.
if(TARGET sinter)
  foreach(check "disconnects --requests 500" "slow --drips 200 --deaf 50 --byte-seconds 0.2 --requests 32 --rounds 1 --unmeasured"
      "memory --seconds 20 --fill 0 --warm-up 0 --unmeasured")
    separate_arguments(check UNIX_COMMAND "${check}")
    list(GET check 0 name)
    add_test(NAME stress.${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/bench/serve/stress.py ${check}
      --sinter $<TARGET_FILE:sinter> --model smollm2)
    set_tests_properties(stress.${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS full)
  endforeach()
endif()

# JSON Schema's own test suite, where pip can fetch it.
if(TARGET grammar_tests)
  add_test(NAME schema_suite COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/schema_suite/schema_suite.py
    $<TARGET_FILE:grammar_tests>)
  set_tests_properties(schema_suite PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS full)
endif()

# The chat page in headless Chromium, where one is installed; it needs nothing that is built.
add_test(NAME page COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/page/page_test.py)
set_tests_properties(page PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS full)

# lit and FileCheck come from the same LLVM as the compiler; lit.cfg.py reads the folders given here.
file(GLOB_RECURSE SINTER_LIT_TESTS CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/tests/lit/*.mlir ${CMAKE_SOURCE_DIR}/tests/lit/*.tile)
if(SINTER_COMPILER AND TARGET sinter-compiler AND SINTER_LIT_TESTS)
  find_program(SINTER_LIT NAMES lit PATHS ${LLVM_BIN} NO_DEFAULT_PATH REQUIRED)
  find_program(SINTER_FILECHECK NAMES FileCheck PATHS ${LLVM_BIN} NO_DEFAULT_PATH REQUIRED)
  add_test(NAME lit COMMAND ${Python3_EXECUTABLE} -B ${SINTER_LIT} --verbose --order=lexical
    --param sinter_bin=${CMAKE_BINARY_DIR}/bin --param sinter_obj=${CMAKE_BINARY_DIR}/lit
    --param llvm_bin=${LLVM_BIN} ${CMAKE_SOURCE_DIR}/tests/lit)
  set_tests_properties(lit PROPERTIES TIMEOUT 600)
endif()

# libFuzzer programs, one per tests/fuzz/*_fuzz.cpp, all of them by the target `fuzzers`.
if(SINTER_FUZZ)
  add_custom_target(fuzzers)
  file(GLOB SINTER_FUZZERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
  foreach(source IN LISTS SINTER_FUZZERS)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set(layer serve)
    if(name MATCHES "^(grammar|schema)_fuzz$") # built in a minute
      set(layer grammar)
    endif()
    target_link_libraries(${name} PRIVATE sinter_${layer} GTest::gtest GTest::gmock -fsanitize=fuzzer)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_compile_definitions(${name} PRIVATE SINTER_TEST_DIR="${CMAKE_SOURCE_DIR}/tests")
    add_dependencies(fuzzers ${name})
  endforeach()
endif()
