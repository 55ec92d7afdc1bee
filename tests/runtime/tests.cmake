# The runtime's tests load the same kernels as hal's (tests/hal/tests.cmake).
add_dependencies(runtime_tests sinter_test_kernels)
