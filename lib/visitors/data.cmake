# Data that the facts are derived with. First, referrer_sources.txt as a sorted table.
set(sources_file "${CMAKE_CURRENT_SOURCE_DIR}/referrer_sources.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${sources_file}")
file(STRINGS "${sources_file}" lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^:\"]+): ([a-z0-9_.* -]+)$")
    message(FATAL_ERROR "${sources_file}: not \"name: hosts\": ${line}")
  endif()
  set(name "${CMAKE_MATCH_1}")
  string(REPLACE " " ";" hosts "${CMAKE_MATCH_2}")
  foreach(host IN LISTS hosts)
    list(APPEND rows "\t{ \"${host}\", \"${name}\" },\n")
  endforeach()
endforeach()
list(SORT rows)
list(JOIN rows "" rows)
file(CONFIGURE OUTPUT referrer_source_table.c @ONLY CONTENT [[
#include "lib/visitors/referrer_source.h"

const struct referrer_source_pair referrer_source_table[] = {
@rows@};
const size_t referrer_source_table_size = sizeof(referrer_source_table) / sizeof(referrer_source_table[0]);
]])

# bot_words.txt as an array of each section.
set(words_file "${CMAKE_CURRENT_SOURCE_DIR}/bot_words.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${words_file}")
file(STRINGS "${words_file}" lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  if(line MATCHES "^\\[([a-z]+)\\]$")
    string(APPEND words "${end}extern const char *const bot_words_${CMAKE_MATCH_1}[];\n"
                        "const char *const bot_words_${CMAKE_MATCH_1}[] = {\n")
    set(end "\t0,\n};\n")
  else()
    string(APPEND words "\t\"${line}\",\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT bot_words.c @ONLY CONTENT "@words@@end@")
target_sources(visitors PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/referrer_source_table.c"
                                "${CMAKE_CURRENT_BINARY_DIR}/bot_words.c")

# The rules of uap-core come from PyPI (tools/setup.d/pypi.sh).
if(NOT "$ENV{WAYMARK_CACHE}" STREQUAL "")
  set(cache "$ENV{WAYMARK_CACHE}")
elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(cache "$ENV{XDG_CACHE_HOME}/waymark")
else()
  set(cache "$ENV{HOME}/.cache/waymark")
endif()
file(GLOB upstream "${cache}/ua-parser-builtins/lib/python3*/site-packages/ua_parser_builtins/regexes.py")
if(NOT upstream)
  message(FATAL_ERROR "The rules for user agents are missing in ${cache}: run tools/setup")
endif()
set(own "${CMAKE_CURRENT_SOURCE_DIR}/user_agents.yaml")
set(make "${PROJECT_SOURCE_DIR}/cmake")
add_custom_command(OUTPUT uap-core.yaml
  COMMAND /usr/bin/python3 "${make}/uap-core.py" "${upstream}" uap-core.yaml
  DEPENDS "${upstream}" "${make}/uap-core.py" VERBATIM)
add_custom_command(OUTPUT user_agent_data.S
  COMMAND /usr/bin/python3 "${make}/embed.py" user_agent_data.S rules=uap-core.yaml "additions=${own}"
  DEPENDS uap-core.yaml "${own}" "${make}/embed.py" VERBATIM)
# Without waymark_flags, which apply to C only.
add_library(visitors_data OBJECT "${CMAKE_CURRENT_BINARY_DIR}/user_agent_data.S")
target_sources(visitors PRIVATE $<TARGET_OBJECTS:visitors_data>)
