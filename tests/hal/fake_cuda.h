// A driver library of the tests' own: the functions that the cuda driver calls, over host memory.
// Commands of a stream run as late as the real library may run them, so that host bytes reused too
// early show; calls that the real library would refuse fail here too.
#pragma once

#include "hal/cuda/cuda_api.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>

namespace sinter::hal::fake {

using namespace cuda;

inline constexpr ApiResult kInvalidContext = ApiResult(201);
inline constexpr ApiResult kCaptureUnsupported = ApiResult(900);

struct Launch {
  std::array<uint32_t, 3> grid = {};
  uint32_t threads = 0, sharedBytes = 0;
  bool mayOverlap = false;
  std::vector<uint64_t> parameters;
};

// A kernel: what the library says of it and what it does, once for each program.
struct Function {
  uint32_t parameters = 0;
  int32_t registers = 24, staticShared = 0, local = 0, maxThreads = 1024;
  std::function<void(const Launch &, uint64_t x, uint64_t y, uint64_t z)> run;
  int32_t maxDynamicShared = 48 << 10;
  int32_t clusterWidth = 0;
};

struct Command {
  std::function<void()> run;
  const void *event = nullptr; // that this one records
};
struct FakeStream {
  std::deque<Command> queue;
  std::vector<Command> captured;
  bool capturing = false;
};
struct FakeEvent {
  FakeStream *stream = nullptr;
};
using FakeGraph = std::vector<Command>;

// The library's state; what tests set comes first.
struct Library {
  int32_t version = 12080, deviceCount = 1, capability = 90;
  uint64_t memoryBytes = uint64_t(1) << 30;
  std::string missing; // a function that the library lacks
  ApiResult initResult = kSuccess;
  ApiResult failing = kSuccess;              // what each call returns, as after a kernel's fault
  bool hangs = false;                        // no command ends
  std::map<JitOption, uintptr_t> jitOptions; // of the last module
  std::string assemblerLog;                  // not empty: assembling fails with it
  std::map<std::string, Function> functions;

  uint64_t allocated = 0;
  std::map<DevicePtr, uint64_t> buffers;
  std::map<const void *, std::shared_ptr<void>> objects; // memory, streams, events, graphs
  int64_t modules = 0, contexts = 0;
  int64_t setCurrentCalls = 0, waitsForEver = 0;
  std::size_t abandoned = 0; // commands of streams destroyed before they ran
  bool current = false;
  int32_t captureMode = 0;
  std::set<FakeStream *> capturing;
  std::vector<Launch> launches;

  int64_t living() const { return int64_t(objects.size()) + modules + contexts; }
};

inline Library &library() {
  static Library state;
  return state;
}

// Objects are the library's, which a lost device's user may not give back.
template <typename Handle, typename Object> Handle keep(Object object) {
  auto kept = std::make_shared<Object>(std::move(object));
  library().objects[kept.get()] = kept;
  return reinterpret_cast<Handle>(kept.get());
}
inline void *keepMemory(std::size_t bytes) {
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  library().objects[memory] = std::shared_ptr<void>(memory, std::free);
  return memory;
}
inline ApiResult destroy(const void *object) {
  return library().objects.erase(object) ? kSuccess : kInvalidValue;
}

template <typename T> T &at(uint64_t address) {
  return *reinterpret_cast<T *>(address);
}

// The kernels of tests/hal/kernels.c.
inline std::map<std::string, Function> testFunctions() {
  std::map<std::string, Function> functions;
  functions["do_nothing"] = {.parameters = 0, .run = [](const Launch &, auto, auto, auto) {}};
  functions["count_points"] = {
      .parameters = 3, .run = [](const Launch &l, uint64_t x, uint64_t y, uint64_t z) {
        const uint64_t point = (z * l.parameters[2] + y) * l.parameters[1] + x;
        at<uint64_t>(l.parameters[0] + 8 * point) += 1 + point;
      }};
  functions["add_f32"] = {
      .parameters = 4, .run = [](const Launch &l, uint64_t x, uint64_t, uint64_t) {
        for (uint64_t i = 16 * x; i < std::min(l.parameters[3], 16 * x + 16); ++i)
          at<float>(l.parameters[2] + 4 * i) =
              at<float>(l.parameters[0] + 4 * i) + at<float>(l.parameters[1] + 4 * i);
      }};
  functions["scale_f32"] = {
      .parameters = 4, .run = [](const Launch &l, uint64_t x, uint64_t, uint64_t) {
        for (uint64_t i = 16 * x; i < std::min(l.parameters[2], 16 * x + 16); ++i)
          at<float>(l.parameters[1] + 4 * i) =
              at<float>(l.parameters[0] + 4 * i) * float(int64_t(l.parameters[3]));
      }};
  return functions;
}

// All commands, or those up to where the event was recorded last; none where it is done.
inline void drain(FakeStream &stream, const void *untilEvent = nullptr) {
  std::size_t left = stream.queue.size();
  while (untilEvent && left > 0 && stream.queue[left - 1].event != untilEvent)
    --left;
  for (; left > 0; --left) {
    const Command command = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (command.run)
      command.run();
  }
}

// What every call that needs a context checks.
inline ApiResult entered() {
  if (library().failing != kSuccess)
    return library().failing;
  return library().current ? kSuccess : kInvalidContext;
}
// And one that may not come beside a capture.
inline ApiResult enteredOutside() {
  const bool beside = !library().capturing.empty() && library().captureMode != kCaptureRelaxed;
  return beside ? kCaptureUnsupported : entered();
}

inline ApiResult push(StreamHandle handle, std::function<void()> run, const void *event = nullptr) {
  auto &stream = *reinterpret_cast<FakeStream *>(handle);
  if (const ApiResult error = entered(); error != kSuccess)
    return error;
  if (stream.capturing)
    stream.captured.push_back({std::move(run), event});
  else
    stream.queue.push_back({std::move(run), event});
  return kSuccess;
}

inline ApiResult wait(FakeStream *stream, const void *event, bool poll) {
  if (const ApiResult error = enteredOutside(); error != kSuccess)
    return error;
  if (stream && stream->capturing)
    return kCaptureUnsupported;
  if (library().hangs) {
    library().waitsForEver += !poll;
    return poll ? kNotReady : kSuccess;
  }
  if (stream)
    drain(*stream, event);
  return kSuccess;
}

inline void runLaunch(const Function &function, const Launch &launch) {
  for (uint64_t z = 0; z < launch.grid[2]; ++z)
    for (uint64_t y = 0; y < launch.grid[1]; ++y)
      for (uint64_t x = 0; x < launch.grid[0]; ++x)
        function.run(launch, x, y, z);
}

inline ApiResult launchKernel(const LaunchConfig *config, FunctionHandle handle, void **,
                              void **extra) {
  const auto &function = *reinterpret_cast<Function *>(handle);
  if (int32_t(config->block[0]) > function.maxThreads ||
      int32_t(config->sharedBytes) > function.maxDynamicShared)
    return kInvalidValue;
  Launch launch = {{config->grid[0], config->grid[1], config->grid[2]},
                   config->block[0],
                   config->sharedBytes,
                   config->attributeCount == 1 && config->attributes->id == kLaunchMayOverlap &&
                       config->attributes->value.number == 1,
                   {}};
  if (extra) {
    if (uintptr_t(extra[0]) != kLaunchBuffer || uintptr_t(extra[2]) != kLaunchBufferBytes ||
        extra[4] != nullptr)
      return kInvalidValue;
    const auto *first = static_cast<const uint64_t *>(extra[1]);
    launch.parameters.assign(first, first + *static_cast<std::size_t *>(extra[3]) / 8);
  }
  if (launch.parameters.size() != function.parameters)
    return kInvalidValue;
  library().launches.push_back(launch);
  return push(config->stream, [&function, launch] { runLaunch(function, launch); });
}

inline ApiResult memAlloc(DevicePtr *address, std::size_t bytes) {
  if (const ApiResult error = enteredOutside(); error != kSuccess)
    return error;
  if (bytes > library().memoryBytes - library().allocated)
    return kOutOfMemory;
  *address = DevicePtr(keepMemory(bytes));
  std::memset(reinterpret_cast<void *>(*address), 0xcd, bytes);
  library().buffers[*address] = bytes;
  library().allocated += bytes;
  return kSuccess;
}

inline ApiResult memFree(DevicePtr address) {
  library().waitsForEver += library().hangs;
  const auto found = library().buffers.find(address);
  if (const ApiResult error = enteredOutside(); error != kSuccess)
    return error;
  if (found == library().buffers.end())
    return kInvalidValue;
  library().allocated -= found->second;
  library().buffers.erase(found);
  return destroy(reinterpret_cast<void *>(address));
}

inline ApiResult moduleLoad(ModuleHandle *module, const void *, uint32_t options, JitOption *option,
                            void **value) {
  if (const ApiResult error = enteredOutside(); error != kSuccess)
    return error;
  library().jitOptions.clear();
  for (uint32_t i = 0; i < options; ++i)
    library().jitOptions[option[i]] = reinterpret_cast<uintptr_t>(value[i]);
  if (!library().assemblerLog.empty()) {
    for (uint32_t i = 0; i < options; ++i)
      if (option[i] == kJitErrorLog)
        std::memcpy(value[i], library().assemblerLog.c_str(), library().assemblerLog.size() + 1);
    return kInvalidPtx;
  }
  ++library().modules;
  *module = reinterpret_cast<ModuleHandle>(&library().functions);
  return kSuccess;
}

inline ApiResult attributeOf(int32_t *value, FunctionAttribute attribute, FunctionHandle handle) {
  const auto &function = *reinterpret_cast<Function *>(handle);
  const std::map<FunctionAttribute, int32_t> values = {
      {kFunctionMaxThreads, function.maxThreads},
      {kFunctionStaticSharedBytes, function.staticShared},
      {kFunctionLocalBytes, function.local},
      {kFunctionRegisters, function.registers},
      {kFunctionClusterWidth, function.clusterWidth},
      {kFunctionMaxDynamicSharedBytes, function.maxDynamicShared}};
  *value = values.at(attribute);
  return entered();
}

inline ApiResult deviceAttribute(int32_t *value, DeviceAttribute attribute, DeviceOrdinal) {
  const std::map<DeviceAttribute, int32_t> values = {
      {kMaxThreadsPerBlock, 1024},
      {kMaxGridX, INT32_MAX},
      {kMaxGridY, 65535},
      {kMaxGridZ, 65535},
      {kClockRate, 1980000},
      {kMultiprocessorCount, 132},
      {kComputeCapabilityMajor, library().capability / 10},
      {kComputeCapabilityMinor, library().capability % 10},
      {kMaxSharedBytesPerBlockOptIn, 227 << 10}};
  *value = values.at(attribute);
  return kSuccess;
}

inline ApiResult errorName(ApiResult error, const char **text) {
  static const std::map<int32_t, const char *> names = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = names.find(error);
  *text = found == names.end() ? nullptr : found->second;
  return *text ? kSuccess : kInvalidValue;
}

inline ApiResult beginCapture(StreamHandle handle, int32_t mode) {
  auto *stream = reinterpret_cast<FakeStream *>(handle);
  if (stream->capturing || mode != kCaptureThreadLocal)
    return kInvalidValue;
  stream->capturing = true;
  library().capturing.insert(stream);
  return entered();
}

inline ApiResult endCapture(StreamHandle handle, GraphHandle *graph) {
  auto *stream = reinterpret_cast<FakeStream *>(handle);
  stream->capturing = false;
  library().capturing.erase(stream);
  *graph = keep<GraphHandle>(FakeGraph(std::move(stream->captured)));
  stream->captured.clear();
  return entered();
}

inline ApiResult launchGraph(GraphExecHandle exec, StreamHandle handle) {
  for (const Command &command : *reinterpret_cast<FakeGraph *>(exec))
    if (const ApiResult error = push(handle, command.run); error != kSuccess)
      return error;
  return entered();
}

// The functions by name. Each entry's type is checked against the table of cuda_api.h.
class FakeFunctions {
public:
  FakeFunctions() {
    addQueries();
    addMemory();
    addModules();
    addStreams();
    addGraphs();
    api_.funcGetParamInfo = [](FunctionHandle handle, std::size_t index, std::size_t *offset,
                               std::size_t *bytes) {
      if (index >= reinterpret_cast<Function *>(handle)->parameters)
        return kInvalidValue;
      *offset = 8 * index;
      *bytes = 8;
      return kSuccess;
    };
    functions_["cuFuncGetParamInfo"] = reinterpret_cast<void *>(api_.funcGetParamInfo);
#define SINTER_FAKE_ENTRY(member, symbol, parameters)                                              \
  functions_[symbol] = reinterpret_cast<void *>(api_.member);
    SINTER_CUDA_FUNCTIONS(SINTER_FAKE_ENTRY)
#undef SINTER_FAKE_ENTRY
  }

  void *find(const std::string &symbol) const {
    const auto found = functions_.find(symbol);
    return found == functions_.end() || symbol == library().missing ? nullptr : found->second;
  }
  const std::map<std::string, void *> &all() const { return functions_; }

private:
  void addQueries() {
    api_.init = [](uint32_t) { return library().initResult; };
    api_.driverGetVersion = [](int32_t *v) { return *v = library().version, kSuccess; };
    api_.getErrorName = errorName;
    api_.getErrorString = [](ApiResult, const char **t) { return *t = "in its words", kSuccess; };
    api_.deviceGetCount = [](int32_t *count) { return *count = library().deviceCount, kSuccess; };
    api_.deviceGet = [](DeviceOrdinal *device, int32_t i) { return *device = i, kSuccess; };
    api_.deviceGetName = [](char *name, int32_t bytes, DeviceOrdinal) {
      return std::snprintf(name, std::size_t(bytes), "a fake"), kSuccess;
    };
    api_.deviceTotalMem = [](std::size_t *bytes, DeviceOrdinal) {
      return *bytes = library().memoryBytes, kSuccess;
    };
    api_.deviceGetAttribute = deviceAttribute;
    api_.primaryCtxRetain = [](ContextHandle *context, DeviceOrdinal) {
      *context = reinterpret_cast<ContextHandle>(&library());
      return ++library().contexts, kSuccess;
    };
    api_.primaryCtxRelease = [](DeviceOrdinal) {
      library().waitsForEver += library().hangs;
      return --library().contexts, kSuccess;
    };
    api_.ctxGetCurrent = [](ContextHandle *context) {
      *context = library().current ? reinterpret_cast<ContextHandle>(&library()) : nullptr;
      return kSuccess;
    };
    api_.ctxSetCurrent = [](ContextHandle context) {
      library().current = context != nullptr;
      return ++library().setCurrentCalls, kSuccess;
    };
  }

  void addMemory() {
    api_.memGetInfo = [](std::size_t *freeBytes, std::size_t *totalBytes) {
      *freeBytes = library().memoryBytes - library().allocated;
      *totalBytes = library().memoryBytes;
      return entered();
    };
    api_.memAlloc = memAlloc;
    api_.memFree = memFree;
    api_.memHostAlloc = [](void **address, std::size_t bytes, uint32_t) {
      *address = keepMemory(bytes);
      return enteredOutside();
    };
    api_.memFreeHost = [](void *address) {
      const ApiResult error = enteredOutside();
      return error == kSuccess ? destroy(address) : error;
    };
    api_.memcpyHtoDAsync = [](DevicePtr dst, const void *src, std::size_t n, StreamHandle s) {
      return push(s, [=] { std::memcpy(reinterpret_cast<void *>(dst), src, n); });
    };
    api_.memcpyDtoHAsync = [](void *dst, DevicePtr src, std::size_t n, StreamHandle s) {
      return push(s, [=] { std::memcpy(dst, reinterpret_cast<void *>(src), n); });
    };
    api_.memcpyDtoDAsync = [](DevicePtr dst, DevicePtr src, std::size_t n, StreamHandle s) {
      return push(
          s, [=] { std::memcpy(reinterpret_cast<void *>(dst), reinterpret_cast<void *>(src), n); });
    };
    api_.memsetD8Async = [](DevicePtr dst, uint8_t value, std::size_t n, StreamHandle s) {
      return push(s, [=] { std::memset(reinterpret_cast<void *>(dst), value, n); });
    };
  }

  void addModules() {
    api_.moduleLoadDataEx = moduleLoad;
    api_.moduleUnload = [](ModuleHandle) { return --library().modules, enteredOutside(); };
    api_.moduleGetFunction = [](FunctionHandle *function, ModuleHandle, const char *name) {
      const auto found = library().functions.find(name);
      if (found == library().functions.end())
        return kNotFound;
      *function = reinterpret_cast<FunctionHandle>(&found->second);
      return entered();
    };
    api_.funcGetAttribute = attributeOf;
    api_.funcSetAttribute = [](FunctionHandle handle, FunctionAttribute attribute, int32_t value) {
      if (attribute != kFunctionMaxDynamicSharedBytes)
        return kInvalidValue;
      reinterpret_cast<Function *>(handle)->maxDynamicShared = value;
      return entered();
    };
    api_.launchKernelEx = launchKernel;
  }

  void addStreams() {
    api_.streamCreate = [](StreamHandle *stream, uint32_t flags) {
      *stream = keep<StreamHandle>(FakeStream());
      return flags == kStreamNonBlocking ? entered() : kInvalidValue;
    };
    api_.streamDestroy = [](StreamHandle stream) {
      library().abandoned += reinterpret_cast<FakeStream *>(stream)->queue.size();
      return destroy(stream);
    };
    api_.streamQuery = [](StreamHandle stream) {
      return wait(reinterpret_cast<FakeStream *>(stream), nullptr, true);
    };
    api_.streamSynchronize = [](StreamHandle stream) {
      return wait(reinterpret_cast<FakeStream *>(stream), nullptr, false);
    };
    api_.eventCreate = [](EventHandle *event, uint32_t) {
      *event = keep<EventHandle>(FakeEvent());
      return entered();
    };
    api_.eventDestroy = [](EventHandle event) { return destroy(event); };
    api_.eventRecord = [](EventHandle event, StreamHandle stream) {
      reinterpret_cast<FakeEvent *>(event)->stream = reinterpret_cast<FakeStream *>(stream);
      return push(stream, nullptr, event);
    };
    api_.eventQuery = [](EventHandle event) {
      return wait(reinterpret_cast<FakeEvent *>(event)->stream, event, true);
    };
    api_.eventSynchronize = [](EventHandle event) {
      return wait(reinterpret_cast<FakeEvent *>(event)->stream, event, false);
    };
    api_.eventElapsedTime = [](float *milliseconds, EventHandle, EventHandle) {
      return *milliseconds = 1.5f, entered();
    };
  }

  void addGraphs() {
    api_.streamBeginCapture = beginCapture;
    api_.streamEndCapture = endCapture;
    api_.exchangeCaptureMode = [](int32_t *mode) {
      return std::swap(*mode, library().captureMode), kSuccess;
    };
    api_.graphInstantiate = [](GraphExecHandle *exec, GraphHandle graph, unsigned long long) {
      *exec = keep<GraphExecHandle>(FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
      return enteredOutside();
    };
    api_.graphDestroy = [](GraphHandle graph) { return destroy(graph); };
    api_.graphExecDestroy = [](GraphExecHandle exec) { return destroy(exec); };
    api_.graphLaunch = launchGraph;
  }

  Api api_;
  std::map<std::string, void *> functions_;
};

inline const FakeFunctions &functions() {
  static const FakeFunctions all;
  return all;
}

class FakeCudaLibrary final : public CudaLibrary {
public:
  std::string name() const override { return "the fake"; }
  void *find(const char *symbol) const override { return functions().find(symbol); }
};

inline Result<std::unique_ptr<CudaLibrary>> openFake() {
  return std::make_unique<FakeCudaLibrary>();
}

// The cuda driver over a fake in its first state.
inline Result<void> addFakeCuda(DriverRegistry &registry) {
  library() = {};
  library().functions = testFunctions();
  return addCudaDriver(registry, openFake);
}

} // namespace sinter::hal::fake
