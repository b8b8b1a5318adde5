# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Where the targets of the layers are placed in the build tree, and what is installed.
# LIBDIR is always "lib": the command looks for ../lib relative to itself, and the command proper is in lib/pagecast.

# The plugin (compiler/) names, places and installs itself, as it can be built alone.

if(TARGET pagecast_runtime)
  install(TARGETS pagecast_runtime LIBRARY DESTINATION lib)
endif()

if(TARGET pagecast_hints)
  install(TARGETS pagecast_hints LIBRARY DESTINATION lib)
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/runtime/include/pagecast)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/pagecast DESTINATION include
          FILES_MATCHING PATTERN "*.h" PATTERN "*.f90")
endif()

if(TARGET pagecast)
  install(TARGETS pagecast RUNTIME DESTINATION bin)
  install(TARGETS pagecast-command RUNTIME DESTINATION lib/pagecast)
  foreach(name pagecast-cc pagecast-c++ pagecast-fc)
    install(FILES ${CMAKE_BINARY_DIR}/bin/${name} DESTINATION bin)
  endforeach()
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PagecastConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake/PagecastConfig.cmake INSTALL_DESTINATION lib/cmake/Pagecast)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/PagecastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/PagecastConfig.cmake
              ${CMAKE_BINARY_DIR}/cmake/PagecastConfigVersion.cmake
        DESTINATION lib/cmake/Pagecast)

configure_file(${CMAKE_CURRENT_LIST_DIR}/pagecast.pc.in ${CMAKE_BINARY_DIR}/cmake/pagecast.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake/pagecast.pc DESTINATION lib/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION share/doc/pagecast)

# The plugins for other versions of LLVM that `make plugin16` has put beside the first one. One that is older than that has other
# sources, and stays where it is.
if(TARGET pagecast-plugin)
  install(CODE "
    set(first ${CMAKE_BINARY_DIR}/lib/pagecast/pagecast-llvm${PAGECAST_LLVM_MAJOR}.so)
    file(GLOB plugins ${CMAKE_BINARY_DIR}/lib/pagecast/pagecast-llvm*.so)
    foreach(plugin IN LISTS plugins)
      if(NOT plugin STREQUAL first AND \${plugin} IS_NEWER_THAN \${first})
        file(INSTALL \${plugin} DESTINATION \${CMAKE_INSTALL_PREFIX}/lib/pagecast TYPE SHARED_LIBRARY)
      endif()
    endforeach()")
endif()
