# The kernels that tests of hal and runtime load: one shared object, compiled without the build's own flags.
set(SINTER_TEST_KERNELS ${CMAKE_BINARY_DIR}/lib/test_kernels.so)
add_custom_command(OUTPUT ${SINTER_TEST_KERNELS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
  COMMAND ${CMAKE_C_COMPILER} -std=c11 -O2 -ffreestanding -fPIC -shared -nostdlib -fuse-ld=lld
    -o ${SINTER_TEST_KERNELS} ${CMAKE_CURRENT_LIST_DIR}/kernels.c
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/kernels.c VERBATIM)
add_custom_target(sinter_test_kernels DEPENDS ${SINTER_TEST_KERNELS})
add_dependencies(hal_tests sinter_test_kernels)
# The program with ../lib/test_kernels.so is carried to machines that have a device and little else.
target_link_options(hal_tests PRIVATE -Wl,--as-needed)

# The same kernels for the vulkan driver. Where there is no spirv-as (spirv-tools), its tests fail and say so.
find_program(SINTER_SPIRV_AS NAMES spirv-as)
if(SINTER_SPIRV_AS)
  set(SINTER_VULKAN_KERNELS ${CMAKE_BINARY_DIR}/lib/vulkan_kernels.spv)
  add_custom_command(OUTPUT ${SINTER_VULKAN_KERNELS}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
    COMMAND ${SINTER_SPIRV_AS} --target-env spv1.5 ${CMAKE_CURRENT_LIST_DIR}/vulkan_kernels.spvasm
      -o ${SINTER_VULKAN_KERNELS}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/vulkan_kernels.spvasm VERBATIM)
  add_custom_target(sinter_vulkan_kernels DEPENDS ${SINTER_VULKAN_KERNELS})
  add_dependencies(hal_tests sinter_vulkan_kernels)
endif()
