# The tests run the programs as a user does.
add_dependencies(cli_tests sinter)
if(TARGET sinter-compiler)
  add_dependencies(cli_tests sinter-compiler)
endif()

# Hundreds of mutated files instead of a sample.
add_test(NAME cli.mutations COMMAND cli_tests --gtest_filter=Mutations.*:FileMutations.*)
set_tests_properties(cli.mutations PROPERTIES LABELS full TIMEOUT 1800 ENVIRONMENT SINTER_MUTATIONS=600)
