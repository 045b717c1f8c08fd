# culprit_library(NAME SOURCES a.cpp ... LINK lib ...): one static library a folder of src/, as
# target culprit_NAME and culprit::NAME. Its link line is the layer diagram of docs/architecture.md.
# With CULPRIT_UNITY it is one translation unit: most of a compile is reading headers (docs/benchmarks.md).
function(culprit_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(culprit_${name} STATIC ${arg_SOURCES})
  add_library(culprit::${name} ALIAS culprit_${name})
  target_link_libraries(culprit_${name} PUBLIC culprit_flags ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  set_target_properties(culprit_${name} PROPERTIES UNITY_BUILD ${CULPRIT_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# culprit_test(NAME TIER unit SOURCES a_test.cpp ... LINK lib ...): one GoogleTest executable with one
# tier label (unit, contract, repro, cli, gpu, mpi, slow). gtest_discover_tests keeps only the first
# label of a list (CMake 3.25), hence one.
function(culprit_test name)
  cmake_parse_arguments(arg "" "TIER;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${arg_LINK} GTest::gtest_main culprit_flags)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_test PRIVATE CULPRIT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  gtest_discover_tests(${name}_test TEST_PREFIX ${arg_TIER}.${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${arg_TIER} TIMEOUT ${arg_TIMEOUT})
endfunction()
