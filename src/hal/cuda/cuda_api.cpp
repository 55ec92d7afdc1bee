// Finds the driver library's functions and puts its errors into words.
#include "hal/cuda/cuda_api.h"

#include <dlfcn.h>

namespace sinter::hal {
namespace {

constexpr const char *kSystemLibrary = "libcuda.so.1";
constexpr int32_t kOldestVersion = 12000; // 1000 * major + 10 * minor
constexpr int32_t kOverlapVersion = 12030;
constexpr int32_t kSplitVersion = 13000;

class SystemCudaLibrary final : public CudaLibrary {
public:
  explicit SystemCudaLibrary(void *handle) : handle_(handle) {}
  // Stays loaded: its threads may still run at the end of the process.
  std::string name() const override { return kSystemLibrary; }
  void *find(const char *symbol) const override { return dlsym(handle_, symbol); }

private:
  void *handle_;
};

std::string versionText(int32_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <typename Function>
Result<void> find(const CudaLibrary &library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(library.find(symbol));
  if (!function)
    return fail(Code::NotFound,
                "the NVIDIA driver library " + library.name() + " has no function '" + symbol +
                    "', expected a driver for CUDA " + versionText(kOldestVersion) + " or later");
  return {};
}

} // namespace

Result<std::unique_ptr<CudaLibrary>> openSystemCudaLibrary() {
  void *handle = dlopen(kSystemLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle)
    return std::make_unique<SystemCudaLibrary>(handle);
  const char *why = dlerror();
  return fail(Code::NotFound,
              std::string("no NVIDIA driver is installed: ") + (why ? why : kSystemLibrary));
}

namespace cuda {

Result<std::shared_ptr<const Api>> Api::load(std::unique_ptr<CudaLibrary> library) {
  auto api = std::make_shared<Api>();
  // Before the rest: an old driver is better called old than short of a function.
  SINTER_TRY(find(*library, "cuDriverGetVersion", api->driverGetVersion));
  SINTER_TRY(find(*library, "cuGetErrorName", api->getErrorName));
  SINTER_TRY(find(*library, "cuGetErrorString", api->getErrorString));
  int32_t version = 0;
  SINTER_TRY(api->check(api->driverGetVersion(&version), "cuDriverGetVersion"));
  if (version < kOldestVersion)
    return fail(Code::Unsupported, "the NVIDIA driver " + library->name() + " is for CUDA " +
                                       versionText(version) + ", expected " +
                                       versionText(kOldestVersion) + " or later");
  api->overlapsInGraphs = version >= kOverlapVersion;
  api->splitsCompiles = version >= kSplitVersion;
#define SINTER_CUDA_FIND(member, symbol, parameters)                                               \
  SINTER_TRY(find(*library, symbol, api->member));
  SINTER_CUDA_FUNCTIONS(SINTER_CUDA_FIND)
#undef SINTER_CUDA_FIND
  api->funcGetParamInfo =
      reinterpret_cast<decltype(api->funcGetParamInfo)>(library->find("cuFuncGetParamInfo"));
  if (const ApiResult error = api->init(0); error != kSuccess)
    return fail(error == kNoDevice ? Code::NotFound : codeOf(error),
                "the NVIDIA driver finds no device that it can use: " +
                    api->describe(error, "cuInit"));
  api->library_ = std::move(library);
  return api;
}

std::string Api::describe(ApiResult error, const char *call) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(error, &name) != kSuccess || !name)
    return std::string(call) + ": error " + std::to_string(error);
  const bool explained = getErrorString(error, &text) == kSuccess && text;
  return std::string(call) + ": " + name + (explained ? std::string(": ") + text : "");
}

Result<void> Api::check(ApiResult error, const char *call) const {
  if (error == kSuccess) [[likely]]
    return {};
  return fail(codeOf(error), describe(error, call));
}

Code codeOf(ApiResult error) {
  switch (error) {
  case kInvalidValue:
    return Code::InvalidArgument;
  case kOutOfMemory:
  case kLaunchOutOfResources:
    return Code::Exhausted;
  case kNoBinaryForGpu:
  case kUnsupportedPtxVersion:
  case kJitCompilerNotFound:
  case kNotSupported:
  case kSystemDriverMismatch:
  case kStubLibrary:
    return Code::Unsupported;
  case kInvalidImage:
  case kInvalidPtx:
    return Code::Corrupt;
  case kNotFound:
  case kNoDevice:
    return Code::NotFound;
  case kNotPermitted:
    return Code::Permission;
  case kTooManyPeers:
  case kHostMemoryAlreadyRegistered:
  case kHostMemoryNotRegistered:
    return Code::Internal;
  case kDeinitialised:
  case kDeviceUnavailable:
  case kEccUncorrectable:
  case kNvlinkUncorrectable:
  case kIllegalAddress:
  case kLaunchTimeout:
  case kContextIsDestroyed:
  case kExternalDevice:
  case kUnknown:
    return Code::DeviceLost;
  default:
    return error >= kFirstLaunchFault && error <= kLastLaunchFault ? Code::DeviceLost
                                                                   : Code::Internal;
  }
}

} // namespace cuda
} // namespace sinter::hal
