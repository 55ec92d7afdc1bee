# Kernels from outside of the tree: one shared object that sees include/sinter only, loaded by the tests.
set(SINTER_EXTERNAL_KERNELS ${CMAKE_BINARY_DIR}/lib/external_kernels.so)
add_custom_command(OUTPUT ${SINTER_EXTERNAL_KERNELS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O1 -fPIC -shared -I${CMAKE_SOURCE_DIR}/include
    -o ${SINTER_EXTERNAL_KERNELS} ${CMAKE_SOURCE_DIR}/tests/external/swish.cpp
  DEPENDS ${CMAKE_SOURCE_DIR}/tests/external/swish.cpp ${CMAKE_SOURCE_DIR}/include/sinter/kernel.h
    ${CMAKE_SOURCE_DIR}/include/sinter/kernel_builder.h ${CMAKE_SOURCE_DIR}/include/sinter/kernel_abi.h VERBATIM)
add_custom_target(sinter_external_kernels DEPENDS ${SINTER_EXTERNAL_KERNELS})
add_dependencies(target_tests sinter_external_kernels)
set_target_properties(target_tests PROPERTIES ENABLE_EXPORTS ON) # the kernel front, to what it loads
