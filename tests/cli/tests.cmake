# The tests run the programs as a user does.
add_dependencies(cli_tests sinter)
if(TARGET sinter-compiler)
  add_dependencies(cli_tests sinter-compiler)
endif()
