# All compiler and linker flags of the project.
# The interface target waymark_flags carries them; the functions in WaymarkTargets link it.

set(WAYMARK_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")
option(WAYMARK_WERROR "Warnings are errors" OFF)
option(WAYMARK_FUZZ "Build the fuzz targets with libFuzzer instead of the corpus replayer" OFF)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(CMAKE_BUILD_TYPE STREQUAL "")
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

find_program(WAYMARK_CCACHE ccache)
if(WAYMARK_CCACHE)
  # Clones in other folders share the cache.
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${WAYMARK_CCACHE}")
endif()

add_library(waymark_flags INTERFACE)
target_compile_definitions(waymark_flags INTERFACE _GNU_SOURCE WAYMARK_VERSION="${PROJECT_VERSION}")
target_include_directories(waymark_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(waymark_flags INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
  -Wwrite-strings -Wformat=2 -Wimplicit-fallthrough -Wdouble-promotion
  -include "${PROJECT_SOURCE_DIR}/lib/base/banned.h")
if(WAYMARK_WERROR)
  target_compile_options(waymark_flags INTERFACE -Werror)
endif()

# Sanitizers and hardening apply to all code, including generated code.
if(WAYMARK_SANITIZE)
  add_compile_options(-fsanitize=${WAYMARK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WAYMARK_SANITIZE})
endif()
if(WAYMARK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)
  if(NOT WAYMARK_SANITIZE)
    include(CheckIPOSupported)
    check_ipo_supported(RESULT ipo_supported OUTPUT ipo_message LANGUAGES C)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${ipo_supported})
  endif()
endif()
