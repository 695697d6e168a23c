# External libraries. Only the room that may include a library links it (ARCHITECTURE.md).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

foreach(library IN ITEMS cjose cmocka hiredis icu-uc jansson libbrotlidec libbrotlienc libcares libcrypt libcrypto libcurl libjwt libmaxminddb
                         libmicrohttpd liboath libpcre2-8 libpng libpq libprotobuf-c libqrencode libssl libxxhash rdkafka yaml-0.1 zlib)
  string(MAKE_C_IDENTIFIER "${library}" prefix)
  pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET "${library}")
  add_library(dep::${library} ALIAS PkgConfig::${prefix})
endforeach()

# An allocator for programs that allocate in one thread and free in another. Sanitizers have their own.
add_library(allocator INTERFACE)
add_library(dep::allocator ALIAS allocator)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WAYMARK_SANITIZE)
  pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
  # --no-as-needed, because the linker would drop a library whose functions the C library has as well.
  target_link_options(allocator INTERFACE "LINKER:--push-state,--no-as-needed" "LINKER:-l,jemalloc" "LINKER:--pop-state")
endif()

find_program(WAYMARK_PROTOC protoc REQUIRED)
find_program(WAYMARK_PROTOC_C protoc-gen-c REQUIRED)
