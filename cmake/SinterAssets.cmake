# Lays the files of the chat page into the program: bytes as an array, made when CMake runs and whenever one changes.
file(GLOB page_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/serve/page/*.html ${CMAKE_SOURCE_DIR}/src/serve/page/*.css
  ${CMAKE_SOURCE_DIR}/src/serve/page/*.js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
set(page_arrays "")
set(page_rows "")
foreach(path IN LISTS page_files)
  get_filename_component(name ${path} NAME)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${path} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND page_arrays "static const char ${identifier}[] = {${bytes}};\n")
  string(APPEND page_rows "    {\"${name}\", {${identifier}, sizeof(${identifier})}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/page_files.cpp @ONLY CONTENT
"#include \"serve/page/page_files.h\"
namespace sinter::serve {
@page_arrays@static const PageFile kFiles[] = {
@page_rows@};
std::span<const PageFile> pageFiles() { return kFiles; }
} // namespace sinter::serve
")
target_sources(sinter_serve PRIVATE ${CMAKE_BINARY_DIR}/generated/page_files.cpp)

# The script that fetches the demo's model, for `sinter pull smollm2`.
set(fetch_script ${CMAKE_SOURCE_DIR}/tools/fetch-model)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fetch_script})
file(READ ${fetch_script} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/fetch_model.cpp @ONLY CONTENT
"#include \"host/known_model.h\"
namespace sinter::host {
static const char kScript[] = {@bytes@};
std::string_view fetchModelScript() { return {kScript, sizeof(kScript)}; }
} // namespace sinter::host
")
target_sources(sinter_host PRIVATE ${CMAKE_BINARY_DIR}/generated/fetch_model.cpp)
