# Read by ctest before it runs: makes a test of each suite of a program of GoogleTest, named FOLDER.SUITE.
#
# A process per suite, not per test: starting one costs a tenth of a second where the libraries of a GPU are linked. What
# the program prints says how many tests passed (scripts/count_tests.py).
#
#   program                  path of the program
#   folder                   that of tests/ it is made of
#   $ENV{ROBUSTA_TESTS_ONLY}, $ENV{ROBUSTA_TESTS_WITHOUT}  patterns of FOLDER.SUITE.TEST that choose tests
if(NOT EXISTS "${program}")
  add_test("${folder}_test_NOT_BUILT" "${program}")
  return()
endif()
execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${program} --gtest_list_tests ended with ${status}")
endif()
string(REGEX REPLACE ";|\\[|\\]" "_" listed "${listed}")  # signs of CMake's lists, in the values of parameters
string(REPLACE "\n" ";" listed "${listed}")

# A suite whose tests are all wanted is named as one; of others each test is.
macro(add_suite)
  if(wanted)
    if(wanted_all)
      set(wanted "${suite}*")
    endif()
    string(REPLACE ";" ":" wanted "${wanted}")
    string(REGEX REPLACE "\\.$" "" name "${folder}.${suite}")
    add_test("${name}" "${program}" "--gtest_filter=${wanted}")
  endif()
endmacro()

set(wanted "")
foreach(line ${listed} "END.")
  string(REGEX REPLACE " +#.*$" "" line "${line}")
  if(line MATCHES "^[^ ].*\\.$")
    add_suite()
    set(suite "${line}")
    set(wanted "")
    set(wanted_all TRUE)
  elseif(line MATCHES "^  ([^ ]+)$")
    set(test "${folder}.${suite}${CMAKE_MATCH_1}")
    if("${CMAKE_MATCH_1}" MATCHES "^DISABLED_"
       OR (NOT "$ENV{ROBUSTA_TESTS_ONLY}" STREQUAL "" AND NOT test MATCHES "$ENV{ROBUSTA_TESTS_ONLY}")
       OR (NOT "$ENV{ROBUSTA_TESTS_WITHOUT}" STREQUAL "" AND test MATCHES "$ENV{ROBUSTA_TESTS_WITHOUT}"))
      set(wanted_all FALSE)
    else()
      string(REGEX REPLACE "^${folder}\\." "" test "${test}")
      list(APPEND wanted "${test}")
    endif()
  endif()
endforeach()
