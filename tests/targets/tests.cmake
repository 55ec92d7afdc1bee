# Kernels from outside of the tree: one shared object that sees include/sinter only, loaded by the tests.
set(SINTER_EXTERNAL_KERNELS ${CMAKE_BINARY_DIR}/lib/external_kernels.so)
add_custom_command(OUTPUT ${SINTER_EXTERNAL_KERNELS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O1 -fPIC -shared -I${CMAKE_SOURCE_DIR}/include
    -o ${SINTER_EXTERNAL_KERNELS} ${CMAKE_SOURCE_DIR}/tests/external/swish.cpp
  DEPENDS ${CMAKE_SOURCE_DIR}/tests/external/swish.cpp ${CMAKE_SOURCE_DIR}/include/sinter/kernel.h
    ${CMAKE_SOURCE_DIR}/include/sinter/kernel_builder.h ${CMAKE_SOURCE_DIR}/include/sinter/kernel_abi.h VERBATIM)
add_custom_target(sinter_external_kernels DEPENDS ${SINTER_EXTERNAL_KERNELS})
add_dependencies(targets_tests sinter_external_kernels)
set_target_properties(targets_tests PROPERTIES ENABLE_EXPORTS ON) # the kernel front, to what it loads

# The program that runs kernels for another architecture under an emulator, from the cpu driver's own sources. It is
# built where this compiler finds that architecture's C++ library; tests that need it are skipped elsewhere.
set(SINTER_CROSS --target=aarch64-linux-gnu)
set(SINTER_RUNNER ${CMAKE_BINARY_DIR}/lib/aarch64_runner)
set(probe ${CMAKE_BINARY_DIR}/cross_probe)
file(WRITE ${probe}.cpp "#include <vector>\nint main() { return static_cast<int>(std::vector<int>(1)[0]); }\n")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${SINTER_CROSS} -fuse-ld=lld ${probe}.cpp -o ${probe}
  RESULT_VARIABLE SINTER_CROSS_FAILED OUTPUT_QUIET ERROR_QUIET)
if(NOT SINTER_CROSS_FAILED)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/hal/*.cpp ${CMAKE_SOURCE_DIR}/src/hal/cpu/*.cpp)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/src/base/byte_codec.cpp ${CMAKE_SOURCE_DIR}/src/base/check.cpp
    ${CMAKE_SOURCE_DIR}/src/base/checksum.cpp ${CMAKE_SOURCE_DIR}/src/base/status.cpp
    ${CMAKE_SOURCE_DIR}/tests/targets/emulated_runner.cpp)
  set(objects)
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH object ${CMAKE_SOURCE_DIR} ${source})
    set(object ${CMAKE_BINARY_DIR}/aarch64/${object}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} ${SINTER_CROSS} -std=c++20 -O2 -fno-exceptions
        ${SINTER_WARNINGS} -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/tests
        -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${SINTER_RUNNER}
    COMMAND ${CMAKE_CXX_COMPILER} ${SINTER_CROSS} -fuse-ld=lld -pthread ${objects} -o ${SINTER_RUNNER}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(sinter_aarch64_runner DEPENDS ${SINTER_RUNNER})
  add_dependencies(targets_tests sinter_aarch64_runner)
endif()
