# Writes a C++ source whose FUNCTION returns the text of FILE.
# usage: cmake -DFILE=page.html -DHEADER=serve/web/page.h -DFUNCTION=foretoken::WebPage -DOUTPUT=page.cc
#   -P embed.cmake
file(READ ${FILE} text)
string(FIND "${text}" ")embedded\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${FILE} holds what ends the literal that it would be written to")
endif()
file(WRITE ${OUTPUT} "// Written by cmake/embed.cmake.
#include \"${HEADER}\"

std::string_view ${FUNCTION}() {
  static constexpr char kText[] = R\"embedded(${text})embedded\";
  return {kText, sizeof(kText) - 1};
}
")
