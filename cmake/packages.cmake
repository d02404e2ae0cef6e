# What `cmake --install` and `cpack` put where: one tree that may be moved as a whole, found by find_package(tessera) and by pkg-config.
#   runtime       the program, the shared library and its plugins, manual page, completions
#   development   headers, the link to the shared library, the static library, CMake and pkg-config files, the reference of the C interface
#   python        the program, the shared library and its CUDA plugin in a folder tessera/, where the Python package looks for them; only when it is asked for
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Plugins lie beside the library, which looks for them there; the program finds the library by its place relative to it.
file(RELATIVE_PATH libraries_from_program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(tessera_program PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries_from_program}:$ORIGIN")  # beside it in a wheel
target_include_directories(tessera INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(tessera INTERFACE c_std_99)

set(exported tessera)
if(TESSERA_STATIC AND NOT TESSERA_SANITIZE)
  # One object of everything, in which only tessera_* is visible: what is linked with it can neither see nor disturb our C++.
  set(object ${CMAKE_BINARY_DIR}/tessera_static.o)
  set(fmt $<$<STREQUAL:$<TARGET_PROPERTY:tessera_fmt,TYPE>,STATIC_LIBRARY>:$<TARGET_FILE:tessera_fmt>>)
  add_custom_command(OUTPUT ${object} DEPENDS tessera_models tessera_tables tessera_engine tessera_base tessera_kernels tessera_fmt $<TARGET_OBJECTS:tessera> COMMENT "Linking ${object}" COMMAND_EXPAND_LISTS VERBATIM
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}.all $<TARGET_OBJECTS:tessera>
      --start-group $<TARGET_FILE:tessera_models> $<TARGET_FILE:tessera_tables> $<TARGET_FILE:tessera_engine> $<TARGET_FILE:tessera_base> $<TARGET_FILE:tessera_kernels> ${fmt} --end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=tessera_* ${object}.all ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.all)
  set_source_files_properties(${object} PROPERTIES GENERATED ON EXTERNAL_OBJECT ON)
  add_library(tessera_static STATIC ${object})
  set_target_properties(tessera_static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME tessera EXPORT_NAME static ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  add_library(tessera::static ALIAS tessera_static)
  target_include_directories(tessera_static INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tessera_static INTERFACE c_std_99)
  target_link_libraries(tessera_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS} stdc++ m z zstd)  # named, since a C program is not linked by g++
  list(APPEND exported tessera_static)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(TARGETS ${exported} EXPORT tesseraTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS tessera_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(cmake/tesseraConfig.cmake.in ${CMAKE_BINARY_DIR}/tesseraConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tesseraConfig.cmake ${CMAKE_BINARY_DIR}/tesseraConfigVersion.cmake DESTINATION ${package} COMPONENT development)

file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(cmake/tessera.pc.in ${CMAKE_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

foreach(plugin tessera_cuda tessera_arrow)
  if(TARGET ${plugin})
    install(FILES ${CMAKE_BINARY_DIR}/lib${plugin}.so DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  endif()
endforeach()

install(FILES $<TARGET_FILE:tessera> DESTINATION tessera RENAME $<TARGET_SONAME_FILE_NAME:tessera> COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS tessera_program RUNTIME DESTINATION tessera COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET tessera_cuda)
  install(FILES ${CMAKE_BINARY_DIR}/libtessera_cuda.so DESTINATION tessera COMPONENT python EXCLUDE_FROM_ALL)
endif()

# Manual page and completions come from --help, the reference from the header.
set(docs ${CMAKE_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${docs}/man ${docs}/bash ${docs}/zsh)
set(pages "")
foreach(page man/tessera.1 bash/tessera zsh/_tessera)
  get_filename_component(form ${page} DIRECTORY)
  add_custom_command(OUTPUT ${docs}/${page} DEPENDS tessera_program packaging/manual.sh COMMENT "Manual: ${page}" VERBATIM
    COMMAND bash -c "\"$0\" \"$1\" ${form} > \"$2\"" ${CMAKE_SOURCE_DIR}/packaging/manual.sh $<TARGET_FILE:tessera_program> ${docs}/${page})
  list(APPEND pages ${docs}/${page})
endforeach()
set(reference ${docs}/reference.md)
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/tessera/*.h)
add_custom_command(OUTPUT ${reference} DEPENDS packaging/reference.sh ${headers} COMMENT "Reference of the C interface" VERBATIM
  COMMAND bash -c "\"$0\" \"$1\" > \"$2\"" ${CMAKE_SOURCE_DIR}/packaging/reference.sh ${CMAKE_SOURCE_DIR}/include/tessera/tessera.h ${reference})
add_custom_target(docs ALL DEPENDS ${pages} ${reference})
install(FILES ${docs}/man/tessera.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${docs}/bash/tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
install(FILES ${docs}/zsh/_tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT runtime)
install(FILES ${reference} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "The Tessera authors")
set(CPACK_PACKAGE_CONTACT "The Tessera authors <tessera@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)  # one .tar.gz of everything
set(CPACK_DEB_COMPONENT_INSTALL ON)       # tessera and tessera-dev
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME tessera)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME tessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "tessera (= ${PROJECT_VERSION}), zlib1g-dev, libzstd-dev")  # these for the static library
include(CPack)
