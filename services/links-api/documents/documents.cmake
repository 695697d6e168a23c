# Files that document.c embeds. Swagger UI comes from npm (tools/setup.d/reader.sh); without it, /docs is a plain page.
if(NOT "$ENV{WAYMARK_CACHE}" STREQUAL "")
  set(reader "$ENV{WAYMARK_CACHE}/swagger-ui")
elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(reader "$ENV{XDG_CACHE_HOME}/waymark/swagger-ui")
else()
  set(reader "$ENV{HOME}/.cache/waymark/swagger-ui")
endif()
set(docs "${PROJECT_SOURCE_DIR}/docs/api")
if(EXISTS "${reader}/swagger-ui-bundle.js")
  # It runs in browsers: only the files that were reviewed become part of the program.
  file(STRINGS "${PROJECT_SOURCE_DIR}/tools/setup.d/reader.sha256" pins)
  foreach(pin IN LISTS pins)
    string(REGEX MATCH "^([0-9a-f]+)  (.+)$" pin "${pin}")
    file(SHA256 "${reader}/${CMAKE_MATCH_2}" found)
    if(NOT found STREQUAL CMAKE_MATCH_1)
      message(FATAL_ERROR "${reader}/${CMAKE_MATCH_2} does not match tools/setup.d/reader.sha256. Run tools/setup.")
    endif()
  endforeach()
  set(parts reader=${docs}/reader/reader.html start=${docs}/reader/start.js style=${reader}/swagger-ui.css
            bundle=${reader}/swagger-ui-bundle.js)
else()
  message(STATUS "links-api: /docs will be a plain page, because tools/setup could not download Swagger UI")
  set(parts reader=${docs}/reader/plain.html start=/dev/null style=/dev/null bundle=/dev/null)
endif()
list(APPEND parts guide=${docs}/guide.md nql=${docs}/nql.md openapi=${CMAKE_CURRENT_BINARY_DIR}/openapi.json
     privacy=${PROJECT_SOURCE_DIR}/docs/privacy.md problems=${CMAKE_CURRENT_BINARY_DIR}/problems.html runbook=${PROJECT_SOURCE_DIR}/docs/runbook.md)
string(REGEX REPLACE "[a-z]+=" "" files "${parts}")
set(make "${PROJECT_SOURCE_DIR}/cmake")
# Debian's Python, regardless of PATH.
add_custom_command(OUTPUT openapi.json
  COMMAND /usr/bin/python3 "${make}/yaml-to-json.py" "${docs}/openapi.yaml" openapi.json
  DEPENDS "${docs}/openapi.yaml" "${make}/yaml-to-json.py" VERBATIM)
add_custom_command(OUTPUT problems.html
  COMMAND /usr/bin/python3 "${make}/problems-to-html.py" "${docs}/problems.md" problems.html
  DEPENDS "${docs}/problems.md" "${make}/problems-to-html.py" VERBATIM)
add_custom_command(OUTPUT document_data.S
  COMMAND /usr/bin/python3 "${make}/embed.py" document_data.S ${parts}
  DEPENDS ${files} "${make}/embed.py" VERBATIM)
# Without waymark_flags, which apply to C only.
add_library(links_api_documents OBJECT "${CMAKE_CURRENT_BINARY_DIR}/document_data.S")
target_sources(links_api_body PRIVATE $<TARGET_OBJECTS:links_api_documents>)
