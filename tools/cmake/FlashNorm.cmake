# How FlashNorm's libraries and tools are built. One place for warnings,
# sanitizers, precompiled headers and the two ways to link MLIR.

set(FLASHNORM_WARNINGS -Wall -Wextra -Wno-unused-parameter)
if(FLASHNORM_WERROR)
  list(APPEND FLASHNORM_WARNINGS -Werror)
endif()
if(FLASHNORM_SANITIZE)
  add_compile_options(-fsanitize=${FLASHNORM_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize=vptr,function)
  add_link_options(-fsanitize=${FLASHNORM_SANITIZE})
  # A shared library gets the sanitizers' symbols from the program.
  string(REPLACE "-Wl,-z,defs" "" CMAKE_SHARED_LINKER_FLAGS
         "${CMAKE_SHARED_LINKER_FLAGS}")
endif()

# Debian's exported libMLIR*.a drag in the LLVM and MLIR dylibs. A static tool
# must not have both, or every LLVM option is registered twice.
if(FLASHNORM_STATIC)
  foreach(target ${MLIR_EXPORTED_TARGETS})
    if(TARGET ${target})
      get_target_property(libs ${target} INTERFACE_LINK_LIBRARIES)
      if(libs)
        list(FILTER libs EXCLUDE REGEX "^([$]<LINK_ONLY:)?(LLVM|MLIR)>?$")
        set_target_properties(${target} PROPERTIES
                              INTERFACE_LINK_LIBRARIES "${libs}")
      endif()
    endif()
  endforeach()
  # Nor may it need libraries that the other machine may lack; of what uses Z3,
  # nothing is linked.
  find_library(FLASHNORM_ZLIB libz.a REQUIRED)
  find_library(FLASHNORM_ZSTD libzstd.a REQUIRED)
  get_target_property(libs LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(FILTER libs EXCLUDE REGEX "libz3")
  list(TRANSFORM libs REPLACE "^ZLIB::ZLIB$" "${FLASHNORM_ZLIB}")
  list(TRANSFORM libs REPLACE "^zstd::libzstd_shared$" "${FLASHNORM_ZSTD}")
  set_target_properties(LLVMSupport PROPERTIES
                        INTERFACE_LINK_LIBRARIES "${libs}")
endif()

# Installed programs find LLVM where it was found here.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH TRUE)

function(flashnorm_target_options target)
  llvm_update_compile_flags(${target})
  target_compile_options(${target} PRIVATE ${FLASHNORM_WARNINGS})
endfunction()

# flashnorm_add_library(NAME sources... [MLIR] [LIBS libs...])
#   MLIR   the library includes MLIR headers: it uses the shared precompiled
#          header and waits for the generated files.
function(flashnorm_add_library name)
  cmake_parse_arguments(ARG "MLIR" "" "LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(FlashNorm::${name} ALIAS ${name})
  flashnorm_target_options(${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  if(ARG_MLIR)
    add_dependencies(${name} FlashNormIncGen)
    if(FLASHNORM_PCH)
      target_precompile_headers(${name} REUSE_FROM FlashNormPCH)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY FLASHNORM_LIBS ${name})
endfunction()

# flashnorm_add_tool(NAME sources... [NO_INSTALL] LIBS libs...)
# Links the MLIR and LLVM dylibs, or everything statically (FLASHNORM_STATIC).
function(flashnorm_add_tool name)
  cmake_parse_arguments(ARG "NO_INSTALL" "" "LIBS;STATIC_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  flashnorm_target_options(${name})
  add_dependencies(${name} FlashNormIncGen)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  if(FLASHNORM_STATIC)
    flashnorm_static_mlir_libs(libs)
    target_link_libraries(${name} PRIVATE ${libs} ${ARG_STATIC_LIBS})
    # The C library stays shared: flashnorm-run opens the CUDA driver by name.
    target_link_options(${name} PRIVATE -Wl,--gc-sections -static-libstdc++
                        -static-libgcc)
  else()
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  set_property(GLOBAL APPEND PROPERTY FLASHNORM_TOOLS ${name})
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

function(flashnorm_static_mlir_libs out)
  get_property(dialects GLOBAL PROPERTY MLIR_DIALECT_LIBS)
  get_property(extensions GLOBAL PROPERTY MLIR_EXTENSION_LIBS)
  get_property(conversions GLOBAL PROPERTY MLIR_CONVERSION_LIBS)
  get_property(translations GLOBAL PROPERTY MLIR_TRANSLATION_LIBS)
  llvm_map_components_to_libnames(llvm_libs
    core support irreader bitreader bitwriter analysis passes target
    targetparser transformutils ipo linker option object debuginfodwarf
    orcjit native perfjitevents frontendopenmp frontendoffloading
    AllTargetsAsmParsers AllTargetsCodeGens AllTargetsDescs AllTargetsInfos)
  set(${out} MLIRRegisterAllDialects MLIRRegisterAllExtensions
      MLIRRegisterAllPasses MLIROptLib MLIRExecutionEngine MLIRNVVMTarget ${dialects}
      ${extensions} ${conversions} ${translations} ${llvm_libs} PARENT_SCOPE)
endfunction()
