# The target `reference`: the public headers' documentation as HTML, in reference/html of the build directory. A test makes
# it, and fails if Doxygen prints a warning.
find_program(XYLEM_DOXYGEN doxygen)
if(NOT XYLEM_DOXYGEN)
  message(STATUS "No doxygen: there is no target `reference`")
  return()
endif()
configure_file(docs/reference/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
add_custom_target(reference COMMAND ${XYLEM_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM)
if(XYLEM_TESTS AND NOT XYLEM_SANITIZE)
  add_test(NAME docs.reference COMMAND ${XYLEM_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile)
  set_tests_properties(docs.reference PROPERTIES RESOURCE_LOCK install)
endif()
