# cmake -DOUT=headers.cpp -DROOT=… -P headers.cmake: C++ that holds the headers of NVRTC's programs as strings.
file(GLOB files RELATIVE ${ROOT} ${ROOT}/kernels/*.h ${ROOT}/kernels/math/*.h ${ROOT}/kernels/gpu/dialect/* ${ROOT}/kernels/gpu/bodies/*
     ${ROOT}/kernels/gpu/emitted/* ${ROOT}/engine/emit/rtc/*)
set(text "// Made by engine/emit/headers.cmake.\n#include \"engine/emit/headers.h\"\n\nnamespace tessera {\n\nconst std::vector<EmittedHeader>& emitted_headers() {\n  static const std::vector<EmittedHeader> all{\n")
foreach(file ${files})
  file(READ ${ROOT}/${file} content)
  string(REPLACE "engine/emit/rtc/" "" name ${file})
  string(APPEND text "{\"${name}\", R\"TESSERA(${content})TESSERA\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace tessera\n")
file(WRITE ${OUT} "${text}")
