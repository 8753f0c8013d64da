# What `cmake --install` puts where, so that another project can write
# find_package(FlashNorm) and link FlashNorm::FlashNormPipelines.

include(CMakePackageConfigHelpers)
set(FLASHNORM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/FlashNorm)

get_property(FLASHNORM_INSTALLED_LIBS GLOBAL PROPERTY FLASHNORM_LIBS)
install(TARGETS ${FLASHNORM_INSTALLED_LIBS} EXPORT FlashNormTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT FlashNormTargets NAMESPACE FlashNorm::
  DESTINATION ${FLASHNORM_PACKAGE_DIR})

# The generated .inc files are part of the headers.
foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${root}/include/flashnorm
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
    PATTERN "CMakeFiles" EXCLUDE)
endforeach()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/tools/cmake/FlashNormConfig.cmake.in
  ${PROJECT_BINARY_DIR}/FlashNormConfig.cmake
  INSTALL_DESTINATION ${FLASHNORM_PACKAGE_DIR})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/FlashNormConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FlashNormConfig.cmake
  ${PROJECT_BINARY_DIR}/FlashNormConfigVersion.cmake
  DESTINATION ${FLASHNORM_PACKAGE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
