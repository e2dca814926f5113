# The one way to register tests: a test's name begins with its label, `sim.parser` carries the label `sim`, so that
# `ctest -L sim` and `ctest -R '^sim\.'` say the same. common/tests/labels.csv lists the labels and what the tests of
# each may take in CPU minutes; common/tests/budgets.py compares.
include(GoogleTest)

set(LADDER_LABELS_FILE "${PROJECT_SOURCE_DIR}/common/tests/labels.csv")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${LADDER_LABELS_FILE}")
file(STRINGS "${LADDER_LABELS_FILE}" LADDER_LABELS REGEX "^[a-z]+,[0-9]")
list(TRANSFORM LADDER_LABELS REPLACE ",.*" "")

# Every test runs through this, which notes how much CPU time it takes.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/Testing")
set(LADDER_METERED "${PROJECT_SOURCE_DIR}/common/cmake/metered.sh" "${CMAKE_BINARY_DIR}/Testing/cpu_time.log")
# Of a test that hangs without using the CPU. Nothing else takes an hour, however busy the machine.
set(LADDER_TEST_TIMEOUT 3600)

function(check_label label)
  if(NOT label IN_LIST LADDER_LABELS)
    message(FATAL_ERROR "A test has the label '${label}', which ${LADDER_LABELS_FILE} does not list.")
  endif()
endfunction()

# Where a test finds what has been built.
set(LADDER_TEST_ENVIRONMENT
  "LADDER_BUILD=${CMAKE_BINARY_DIR}" "LADDER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
  "LADDER_SIM=${PROJECT_SOURCE_DIR}/scripts/sim.sh" "LADDER_NVCC=${CMAKE_CUDA_COMPILER}")

# add_labelled_test(NAME LABEL.WHAT [LONG] COMMAND ... [WORKING_DIRECTORY ...] [PROPERTIES ...]): as add_test, and its
# properties. LONG: only `scripts/test.sh --all` runs it, which is CTest's configuration `all`.
function(add_labelled_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "LONG" "NAME;WORKING_DIRECTORY" "COMMAND;PROPERTIES")
  string(REGEX REPLACE "\\..*" "" label "${arg_NAME}")
  check_label(${label})
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  if(arg_WORKING_DIRECTORY)
    set(directory WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}")
  endif()
  if(arg_LONG)
    set(configurations CONFIGURATIONS all)
  endif()
  add_test(NAME ${arg_NAME} ${configurations} COMMAND ${LADDER_METERED} "${program}" ${arg_COMMAND} ${directory})
  set_tests_properties(${arg_NAME} PROPERTIES
    LABELS ${label} TIMEOUT ${LADDER_TEST_TIMEOUT} ENVIRONMENT "${LADDER_TEST_ENVIRONMENT}" ${arg_PROPERTIES})
endfunction()

# add_build_test(NAME TARGET [LONG]): builds what is not in `all`. Tests that need it have TARGET among their
# FIXTURES_REQUIRED. It waits for scripts/build.sh, whose lock it takes.
find_program(LADDER_FLOCK flock)
function(add_build_test name target)
  if(LADDER_FLOCK)
    set(lock "${LADDER_FLOCK}" "${PROJECT_SOURCE_DIR}/scripts/build.sh")
  endif()
  add_labelled_test(NAME ${name} ${ARGN} COMMAND ${lock} "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target ${target}
    PROPERTIES FIXTURES_SETUP ${target} RESOURCE_LOCK build)
endfunction()

# add_labelled_cases(TARGET LABEL): every case of a GoogleTest executable is a test of its own, a process of its own.
# The executable lists its cases when it has been built, for which a busy machine may need longer than the usual 5 s.
function(add_labelled_cases target label)
  check_label(${label})
  # What this property does is to put a command before the executable.
  set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR "${LADDER_METERED}")
  gtest_discover_tests(${target} TEST_PREFIX ${label}. DISCOVERY_TIMEOUT 600
                       PROPERTIES LABELS ${label} TIMEOUT ${LADDER_TEST_TIMEOUT})
endfunction()
