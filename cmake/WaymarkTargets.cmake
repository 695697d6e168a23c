# The four functions that define targets.

# The time limit of every test. It guards against a hang: on a machine with nothing else to do the slowest takes less than a tenth.
set(WAYMARK_TEST_TIMEOUT_S 3600)

# waymark_library(NAME [SOURCES ...] [LINK ...] [PRIVATE_LINK ...])
# A static library. Without SOURCES it has all of its folder and of the folders below, but main.c: a room of lib/, or a service, which
# is a library so that tests can link it.
function(waymark_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS *.c */*.c)
    list(REMOVE_ITEM ARG_SOURCES main.c)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC waymark_flags Threads::Threads ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
endfunction()

# waymark_program(NAME SOURCES ... [LINK ...])
# A program in <build>/bin.
function(waymark_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE waymark_flags Threads::Threads ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endfunction()

# waymark_test(NAME LEVEL unit|integration SOURCES ... [LINK ...] [NEEDS ...] [ENVIRONMENT ...] [TIMEOUT s] [COST s]
#              [UNDER program])
# A cmocka program. Unit tests need no servers; integration tests run in the shared private stack. NEEDS names programs that
# the test starts. UNDER names a program that starts a unit test and may exit with 77 (skipped). The fuzz preset does not
# define these targets, so nothing outside this function may name them.
function(waymark_test name)
  cmake_parse_arguments(ARG "" "LEVEL;TIMEOUT;COST;UNDER" "SOURCES;LINK;NEEDS;ENVIRONMENT" ${ARGN})
  if(WAYMARK_FUZZ)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${WAYMARK_TEST_TIMEOUT_S})
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  set(target test_${ARG_LEVEL}_${name})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE waymark_flags Threads::Threads ${ARG_LINK} dep::cmocka)
  if(ARG_NEEDS)
    add_dependencies(${target} ${ARG_NEEDS})
  endif()
  set(launch "")
  if(WAYMARK_SANITIZE MATCHES "thread")
    set(launch setarch -R)
  endif()
  if(ARG_LEVEL STREQUAL "integration")
    add_test(NAME ${ARG_LEVEL}/${name}
      COMMAND "${PROJECT_SOURCE_DIR}/tests/support/in-stack" backends ${launch} $<TARGET_FILE:${target}>)
    set_tests_properties(${ARG_LEVEL}/${name} PROPERTIES FIXTURES_REQUIRED backends)
  else()
    add_test(NAME ${ARG_LEVEL}/${name} COMMAND ${ARG_UNDER} ${launch} $<TARGET_FILE:${target}>)
  endif()
  set_tests_properties(${ARG_LEVEL}/${name} PROPERTIES
    LABELS ${ARG_LEVEL} TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    ENVIRONMENT "${ARG_ENVIRONMENT};WAYMARK_BUILD_DIR=${CMAKE_BINARY_DIR}")
  if(ARG_UNDER)
    set_tests_properties(${ARG_LEVEL}/${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# waymark_fuzz(NAME SOURCES ... [LINK ...])
# A libFuzzer target under the fuzz preset. Otherwise a program that replays tests/fuzz/corpus/NAME, so that every test run
# repeats all crashes found so far.
function(waymark_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  set(target fuzz_${name})
  if(WAYMARK_FUZZ)
    add_executable(${target} ${ARG_SOURCES})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${ARG_SOURCES} "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c")
    add_test(NAME fuzz/${name} COMMAND ${target} "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT ${WAYMARK_TEST_TIMEOUT_S})
  endif()
  target_link_libraries(${target} PRIVATE waymark_flags Threads::Threads ${ARG_LINK})
endfunction()
