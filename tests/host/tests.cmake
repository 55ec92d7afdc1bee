# A plan of the tests' model is built by the compiler as a child.
if(TARGET sinter-compiler)
  add_dependencies(host_tests sinter-compiler)
endif()
