# Run as a script: writes the C++ file OUTPUT, in which each of ASSETS ("kPage=page.html", "kPageScript=a.js+b.js"; files
# of FOLDER, joined in this order) is what xylem::asset() of insight/report/assets.h returns.
#
#   cmake -DFOLDER=src/insight/report -DOUTPUT=assets.cc "-DASSETS=kPage=page.html;…" -P xylem_embed.cmake
set(definitions "")
set(cases "")
foreach(entry ${ASSETS})
  string(REGEX MATCH "^([A-Za-z]+)=(.+)$" matched "${entry}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
  # Adjacent string literals are one literal; compilers limit the length of each.
  set(literals "")
  foreach(file ${files})
    file(READ ${FOLDER}/${file} text)
    if(text MATCHES "\\)xylem\"")
      message(FATAL_ERROR "${FOLDER}/${file} holds what ends a literal")
    endif()
    string(APPEND literals "\n    R\"xylem(${text})xylem\"")
  endforeach()
  string(APPEND definitions "constexpr std::string_view ${name}Text =${literals};\n")
  string(APPEND cases "    case Asset::${name}:\n      return ${name}Text;\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"insight/report/assets.h\"

namespace xylem::report {
namespace {

${definitions}
}  // namespace

std::string_view asset(Asset asset) {
  switch (asset) {
${cases}  }
  return {};
}

}  // namespace xylem::report
")
