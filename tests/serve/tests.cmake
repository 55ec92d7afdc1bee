# A plan of a test's model is built by the compiler as a child.
if(TARGET sinter-compiler)
  add_dependencies(serve_tests sinter-compiler)
endif()
