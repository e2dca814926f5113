# The one way to register tests: a test's name begins with its label, `sim.parser` carries the label `sim`, so that
# `ctest -L sim` and `ctest -R '^sim\.'` say the same.
include(GoogleTest)

# add_labelled_test(NAME LABEL.WHAT COMMAND ...): as add_test.
function(add_labelled_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;WORKING_DIRECTORY" "COMMAND")
  string(REGEX REPLACE "\\..*" "" label "${arg_NAME}")
  if(arg_WORKING_DIRECTORY)
    set(directory WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}")
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND} ${directory})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${label})
endfunction()

# add_labelled_cases(TARGET LABEL): every case of a GoogleTest executable is a test of its own, a process of its own. The
# executable lists its cases when it has been built, for which a busy machine may need longer than the usual 5 s.
function(add_labelled_cases target label)
  gtest_discover_tests(${target} TEST_PREFIX ${label}. DISCOVERY_TIMEOUT 300 PROPERTIES LABELS ${label})
endfunction()
