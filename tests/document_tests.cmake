# Tests of the documents: generated pages are up to date, tutorials run, and the language is plain.

# The page that is generated from the zoo, and the program that generates it.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  add_test(NAME zoo.page COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/zoo page --check
                                 --xylem $<TARGET_FILE:xylem>)
  add_test(NAME zoo.tool COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/zoo/zoo_test.py)
  set_tests_properties(zoo.page zoo.tool PROPERTIES TIMEOUT 300 ENVIRONMENT
                       "XYLEM_COMMAND=$<TARGET_FILE:xylem>;PYTHONDONTWRITEBYTECODE=1")
  # Most readers see a comment or a page once. The second test shows that the first one can fail.
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
    add_test(NAME docs.language COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/plain_english)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/unreadable.md "Who only posts does not wait at all.\n")
    add_test(NAME docs.language_finds COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/plain_english
                                              ${CMAKE_CURRENT_BINARY_DIR}/unreadable.md)
    set_tests_properties(docs.language_finds PROPERTIES
                         PASS_REGULAR_EXPRESSION "unreadable.md:1: starts with a relative pronoun")
  endif()
endif()
# The tutorials compile programs against an installed Xylem, here one made of links.
set(prefix ${PROJECT_BINARY_DIR}/tutorial-prefix)
file(MAKE_DIRECTORY ${prefix}/include/xylem ${prefix}/lib/pkgconfig)
file(GLOB headers ${PROJECT_SOURCE_DIR}/include/xylem/*.h)
foreach(header ${headers})
  get_filename_component(name ${header} NAME)
  file(CREATE_LINK ${header} ${prefix}/include/xylem/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${prefix}/include/xylem/nccl SYMBOLIC)
foreach(library libxylem.so libxylem.so.${PROJECT_VERSION_MAJOR})
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/src/${library} ${prefix}/lib/${library} SYMBOLIC)
endforeach()
set(XYLEM_PC_TO_PREFIX ../..)
set(XYLEM_INSTALL_NCCLDIR include/xylem/nccl)
configure_file(${PROJECT_SOURCE_DIR}/cmake/xylem.pc.in ${prefix}/lib/pkgconfig/xylem.pc @ONLY)
xylem_tests(tutorials)
target_compile_definitions(tutorials_test PRIVATE XYLEM_PREFIX="${prefix}"
                           XYLEM_PYTHON_PATH="$<$<BOOL:${XYLEM_WITH_TORCH}>:${XYLEM_PYTHON_DIR}>")
add_dependencies(tutorials_test xylem xylem-shared)
if(XYLEM_WITH_TORCH)
  add_dependencies(tutorials_test xylem-torch)
endif()
