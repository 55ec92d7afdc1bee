// The part of NVIDIA's driver interface that Sinter calls, declared from the public documentation
// (CUDA Driver API reference), and the table of its functions found at run time.
#pragma once

#include "hal/cuda/cuda_driver.h"

namespace sinter::hal::cuda {

using DevicePtr = uint64_t;
using DeviceOrdinal = int32_t;
using ContextHandle = struct OpaqueContext *;
using ModuleHandle = struct OpaqueModule *;
using FunctionHandle = struct OpaqueFunction *;
using StreamHandle = struct OpaqueStream *;
using EventHandle = struct OpaqueEvent *;
using GraphHandle = struct OpaqueGraph *;
using GraphExecHandle = struct OpaqueGraphExec *;

// CUresult; only what is told apart.
enum ApiResult : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialised = 3,
  kDeinitialised = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kFirstLaunchFault = 710, // assert; up to kLastLaunchFault all leave the context unusable
  kTooManyPeers = 711,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLastLaunchFault = 719, // launch failed
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kExternalDevice = 911,
  kUnknown = 999,
};

// CUdevice_attribute.
enum DeviceAttribute : int32_t {
  kMaxThreadsPerBlock = 1,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kClockRate = 13, // kHz, the highest
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedBytesPerBlockOptIn = 97,
};

// CUfunction_attribute.
enum FunctionAttribute : int32_t {
  kFunctionMaxThreads = 0,
  kFunctionStaticSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionClusterWidth = 11,
};

// CUjit_option; the values are passed as pointers.
enum JitOption : int32_t {
  kJitMaxRegisters = 0,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
  kJitOptimisationLevel = 7,
  kJitDebugInfo = 11,
  kJitLineInfo = 13,
  kJitSplitCompile = 34, // threads that optimize code; 0: one for each processor
};

inline constexpr uint32_t kStreamNonBlocking = 1;
inline constexpr uint32_t kEventDefault = 0;
inline constexpr uint32_t kEventDisableTiming = 2;
inline constexpr uint32_t kHostAllocDefault = 0;
inline constexpr int32_t kCaptureThreadLocal = 1;
inline constexpr int32_t kCaptureRelaxed = 2;
// CUlaunchAttribute and CUlaunchConfig.
inline constexpr uint32_t kLaunchMayOverlap = 6; // programmatic stream serialization
struct LaunchAttribute {
  uint32_t id = 0, padding = 0;
  union {
    char bytes[64];
    int32_t number;
  } value = {};
};
struct LaunchConfig {
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t sharedBytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  uint32_t attributeCount = 0;
};
// The list of cuLaunchKernelEx's `extra`: tag and value in turn.
inline constexpr uintptr_t kLaunchEnd = 0, kLaunchBuffer = 1, kLaunchBufferBytes = 2;

// X(result, member, symbol, parameters): what a driver of version 12.0 has.
// clang-format off
#define SINTER_CUDA_FUNCTIONS(X)                                                                   \
  X(init, "cuInit", (uint32_t flags))                                                              \
  X(driverGetVersion, "cuDriverGetVersion", (int32_t *version))                                    \
  X(getErrorName, "cuGetErrorName", (ApiResult error, const char **text))                          \
  X(getErrorString, "cuGetErrorString", (ApiResult error, const char **text))                      \
  X(deviceGetCount, "cuDeviceGetCount", (int32_t *count))                                          \
  X(deviceGet, "cuDeviceGet", (DeviceOrdinal *device, int32_t index))                              \
  X(deviceGetName, "cuDeviceGetName", (char *name, int32_t bytes, DeviceOrdinal device))           \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t *bytes, DeviceOrdinal device))             \
  X(deviceGetAttribute, "cuDeviceGetAttribute",                                                    \
    (int32_t *value, DeviceAttribute attribute, DeviceOrdinal device))                             \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (ContextHandle *context, DeviceOrdinal device))  \
  X(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceOrdinal device))                     \
  X(ctxGetCurrent, "cuCtxGetCurrent", (ContextHandle *context))                                    \
  X(ctxSetCurrent, "cuCtxSetCurrent", (ContextHandle context))                                     \
  X(memGetInfo, "cuMemGetInfo_v2", (std::size_t *freeBytes, std::size_t *totalBytes))              \
  X(memAlloc, "cuMemAlloc_v2", (DevicePtr *address, std::size_t bytes))                            \
  X(memFree, "cuMemFree_v2", (DevicePtr address))                                                  \
  X(memHostAlloc, "cuMemHostAlloc", (void **address, std::size_t bytes, uint32_t flags))           \
  X(memFreeHost, "cuMemFreeHost", (void *address))                                                 \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                       \
    (DevicePtr dst, const void *src, std::size_t bytes, StreamHandle stream))                      \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                       \
    (void *dst, DevicePtr src, std::size_t bytes, StreamHandle stream))                            \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                       \
    (DevicePtr dst, DevicePtr src, std::size_t bytes, StreamHandle stream))                        \
  X(memsetD8Async, "cuMemsetD8Async",                                                              \
    (DevicePtr dst, uint8_t value, std::size_t bytes, StreamHandle stream))                        \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (ModuleHandle *module, const void *image, uint32_t optionCount, JitOption *options,            \
     void **values))                                                                               \
  X(moduleUnload, "cuModuleUnload", (ModuleHandle module))                                         \
  X(moduleGetFunction, "cuModuleGetFunction",                                                      \
    (FunctionHandle *function, ModuleHandle module, const char *name))                             \
  X(funcGetAttribute, "cuFuncGetAttribute",                                                        \
    (int32_t *value, FunctionAttribute attribute, FunctionHandle function))                        \
  X(funcSetAttribute, "cuFuncSetAttribute",                                                        \
    (FunctionHandle function, FunctionAttribute attribute, int32_t value))                         \
  X(launchKernelEx, "cuLaunchKernelEx",                                                            \
    (const LaunchConfig *config, FunctionHandle function, void **parameters, void **extra))        \
  X(streamCreate, "cuStreamCreate", (StreamHandle *stream, uint32_t flags))                        \
  X(streamDestroy, "cuStreamDestroy_v2", (StreamHandle stream))                                    \
  X(streamQuery, "cuStreamQuery", (StreamHandle stream))                                           \
  X(streamSynchronize, "cuStreamSynchronize", (StreamHandle stream))                               \
  X(streamBeginCapture, "cuStreamBeginCapture_v2", (StreamHandle stream, int32_t mode))            \
  X(streamEndCapture, "cuStreamEndCapture", (StreamHandle stream, GraphHandle *graph))             \
  X(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int32_t *mode))                     \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                                               \
    (GraphExecHandle *exec, GraphHandle graph, unsigned long long flags))                          \
  X(graphDestroy, "cuGraphDestroy", (GraphHandle graph))                                           \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExecHandle exec))                                \
  X(graphLaunch, "cuGraphLaunch", (GraphExecHandle exec, StreamHandle stream))                     \
  X(eventCreate, "cuEventCreate", (EventHandle *event, uint32_t flags))                            \
  X(eventDestroy, "cuEventDestroy_v2", (EventHandle event))                                        \
  X(eventRecord, "cuEventRecord", (EventHandle event, StreamHandle stream))                        \
  X(eventQuery, "cuEventQuery", (EventHandle event))                                               \
  X(eventSynchronize, "cuEventSynchronize", (EventHandle event))                                   \
  X(eventElapsedTime, "cuEventElapsedTime",                                                        \
    (float *milliseconds, EventHandle start, EventHandle end))
// clang-format on

// The library, loaded and initialised. Every function returns a result of its own call or of
// commands before it.
class Api {
public:
  // NotFound: a missing function or no device. Unsupported: a driver older than 12.0.
  static Result<std::shared_ptr<const Api>> load(std::unique_ptr<CudaLibrary> library);

#define SINTER_CUDA_MEMBER(member, symbol, parameters) ApiResult(*member) parameters = nullptr;
  SINTER_CUDA_FUNCTIONS(SINTER_CUDA_MEMBER)
#undef SINTER_CUDA_MEMBER
  // From version 12.4 on; null before.
  ApiResult (*funcGetParamInfo)(FunctionHandle function, std::size_t index, std::size_t *offset,
                                std::size_t *bytes) = nullptr;

  // Whether captured launches may overlap: from version 12.3 on.
  bool overlapsInGraphs = false;
  // Whether the assembler takes kJitSplitCompile: from version 13.0 on.
  bool splitsCompiles = false;

  // "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
  std::string describe(ApiResult error, const char *call) const;
  Result<void> check(ApiResult error, const char *call) const;

private:
  std::unique_ptr<CudaLibrary> library_;
};

// What kind of failure an error is; the ones that leave a context unusable are DeviceLost.
Code codeOf(ApiResult error);

} // namespace sinter::hal::cuda
