# Builds for 64-bit Arm with Debian's cross compiler (g++-aarch64-linux-gnu):
#
#   cmake -S . -B build/arm64 -G Ninja --toolchain cmake/toolchains/aarch64-linux-gnu.cmake -DCMAKE_SYSROOT=FOLDER
#
# FOLDER: a root of Debian for arm64 that has the packages of the groups `build` and `test`, or what of them is needed. tools/arm64_check
# makes one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Compilations that CMake tries need the root, too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
# GCC would say at each pair of doubles that their ABI is another one than before GCC 10.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)
