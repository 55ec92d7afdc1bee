# Benchmark programs against peers: no part of `all`, built by the target `benchmarks`. A peer that is not installed
# leaves its program out.
add_custom_target(benchmarks)
find_path(SINTER_DNNL_INCLUDE dnnl.h)
find_library(SINTER_DNNL dnnl)
find_path(SINTER_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-pthread ${CMAKE_LIBRARY_ARCHITECTURE}
  ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread)
find_library(SINTER_OPENBLAS openblas PATH_SUFFIXES openblas-pthread)
# The part that needs no peer is built by `all`, so that it cannot fall behind the compiler's interfaces.
if(SINTER_COMPILER)
  add_library(bench_gemm_generated OBJECT bench/gemm/generated.cpp bench/gemm/operands.cpp)
  target_link_libraries(bench_gemm_generated PUBLIC sinter_compiler sinter_runtime)
  target_precompile_headers(bench_gemm_generated REUSE_FROM sinter_tile)
  # -fPIC comes after -fPIE and wins: code that shares the header must be compiled as the header was.
  target_compile_options(bench_gemm_generated PUBLIC -fPIC -fno-exceptions ${SINTER_WARNINGS}
    -fpch-instantiate-templates)
endif()
if(SINTER_COMPILER AND SINTER_DNNL AND SINTER_DNNL_INCLUDE AND SINTER_OPENBLAS AND SINTER_CBLAS_INCLUDE)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/gemm/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(generated|operands)\\.cpp$")
  add_executable(bench_gemm EXCLUDE_FROM_ALL ${sources})
  target_include_directories(bench_gemm SYSTEM PRIVATE ${SINTER_DNNL_INCLUDE} ${SINTER_CBLAS_INCLUDE})
  target_link_libraries(bench_gemm PRIVATE bench_gemm_generated ${SINTER_DNNL} ${SINTER_OPENBLAS} ${CMAKE_DL_LIBS})
  target_precompile_headers(bench_gemm REUSE_FROM sinter_tile)
  add_dependencies(benchmarks bench_gemm)
endif()

sinter_program(text_greedy MAIN bench/text/greedy.cpp DEPS llm)
target_sources(text_greedy PRIVATE bench/text/row_bits.cpp)
target_compile_options(text_greedy PRIVATE -fno-exceptions)
sinter_portable(text_greedy)
set_target_properties(text_greedy PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks text_greedy)

sinter_program(text_divergence MAIN bench/text/divergence.cpp DEPS base)
target_compile_options(text_divergence PRIVATE -fno-exceptions)
set_target_properties(text_divergence PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks text_divergence)

sinter_program(text_sampler MAIN bench/text/sampler.cpp DEPS llm)
target_compile_options(text_sampler PRIVATE -fno-exceptions)
add_dependencies(benchmarks text_sampler)

sinter_program(text_masks MAIN bench/text/masks.cpp DEPS llm)
target_compile_options(text_masks PRIVATE -fno-exceptions)
set_target_properties(text_masks PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks text_masks)

sinter_program(text_scheduler MAIN bench/text/scheduler.cpp DEPS llm)
target_compile_options(text_scheduler PRIVATE -fno-exceptions)
add_dependencies(benchmarks text_scheduler)

sinter_program(bench_worker MAIN bench/serve/worker.cpp DEPS serve)
target_compile_options(bench_worker PRIVATE -fno-exceptions)
set_target_properties(bench_worker PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks bench_worker)

sinter_program(bench_device MAIN bench/device/main.cpp DEPS hal)
target_compile_options(bench_device PRIVATE -fno-exceptions)
target_link_options(bench_device PRIVATE -Wl,--as-needed) # carried to machines that have a device and little else
set_target_properties(bench_device PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks bench_device)

sinter_program(bench_pool MAIN bench/pool/main.cpp DEPS hal)
target_compile_options(bench_pool PRIVATE -fno-exceptions)
add_dependencies(benchmarks bench_pool)

sinter_program(random_weights MAIN bench/models/random_weights.cpp DEPS format)
target_compile_options(random_weights PRIVATE -fno-exceptions)
sinter_portable(random_weights)
set_target_properties(random_weights PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks random_weights)
