# Plans of the tests' models are built by the compiler as a child.
if(TARGET sinter-compiler)
  add_dependencies(llm_tests sinter-compiler)
endif()
