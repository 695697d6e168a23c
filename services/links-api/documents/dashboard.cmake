# The dashboard, built by Vite into web/dashboard/dist, is embedded. Without it, /app/ is a page that says so.
find_program(WAYMARK_NODE node REQUIRED)
set(dist "${PROJECT_SOURCE_DIR}/web/dashboard/dist")
if(NOT EXISTS "${dist}/index.html")
  set(dist "${CMAKE_CURRENT_SOURCE_DIR}/documents/no-dashboard")
  message(STATUS "links-api: /app/ will be a plain page, because web/dashboard/dist has no index.html")
endif()
file(GLOB_RECURSE dashboard_files CONFIGURE_DEPENDS "${dist}/*" "${PROJECT_SOURCE_DIR}/web/dashboard/dist/*")
set(embed_folder "${PROJECT_SOURCE_DIR}/cmake/embed-folder.mjs")
set(web_files "services/links-api/documents/document.h")
add_custom_command(OUTPUT web_files_dashboard.c web_files_dashboard.S
  COMMAND "${WAYMARK_NODE}" "${embed_folder}" "${dist}" web_files_dashboard "${web_files}"
  DEPENDS ${dashboard_files} "${embed_folder}" VERBATIM)
# Without waymark_flags, which apply to our own C only.
add_library(links_api_dashboard OBJECT "${CMAKE_CURRENT_BINARY_DIR}/web_files_dashboard.c" "${CMAKE_CURRENT_BINARY_DIR}/web_files_dashboard.S")
target_include_directories(links_api_dashboard PRIVATE "${PROJECT_SOURCE_DIR}")
target_sources(links_api_body PRIVATE $<TARGET_OBJECTS:links_api_dashboard>)
