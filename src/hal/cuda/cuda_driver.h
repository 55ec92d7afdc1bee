// The cuda driver: NVIDIA devices through the system's own driver library, opened at run time.
//
// Kernels are PTX text that the library assembles at load. An entry point's parameters are one
// 64-bit device address for each buffer binding, with its offset added, and then one 64-bit integer
// for each scalar. One program of a grid is one block of KernelSpec::threads threads.
#pragma once

#include "hal/hal.h"

namespace sinter::hal {

// Where the driver library's functions come from.
class CudaLibrary {
public:
  virtual ~CudaLibrary() = default;
  virtual std::string name() const = 0;
  // Null when there is no such function.
  virtual void *find(const char *symbol) const = 0;
};

// Makes the library available; called once, when devices are first asked for.
using CudaLibraryOpener = Result<std::unique_ptr<CudaLibrary>> (*)();
// The system's libcuda.so.1. NotFound: it is not installed.
Result<std::unique_ptr<CudaLibrary>> openSystemCudaLibrary();

// Never fails for want of a driver library or a device: devices() and open() then say what is
// missing.
Result<void> addCudaDriver(DriverRegistry &registry,
                           CudaLibraryOpener opener = openSystemCudaLibrary);

// What the driver library's assembler is told.
struct CudaAssembly {
  uint32_t optimisation = 4; // its highest
  uint32_t maxRegisters = 0; // of a thread; 0: as many as there are
  bool lineInfo = false;
  bool debugInfo = false;
};

// From flags as ptxas takes them, separated by spaces. Unsupported: the driver library's assembler
// has no option for one. InvalidArgument: a value out of range.
Result<CudaAssembly> parseCudaAssembly(std::string_view flags);

// For the modules that the device loads from now on. Unsupported: it is no cuda device.
Result<void> setCudaAssembly(Device &device, const CudaAssembly &assembly);

// What the driver library's assembler made of a kernel.
struct CudaKernelResources {
  uint32_t registersPerThread = 0;
  uint64_t staticSharedBytes = 0;
  uint64_t localBytesPerThread = 0; // spilled registers and arrays
  uint32_t maxThreads = 0;          // of one block
  uint32_t programBlocks = 1;       // that the code asks for: a program is a cluster
};

// `kernel` was made by a cuda device's module.
CudaKernelResources cudaKernelResources(const Kernel &kernel);

} // namespace sinter::hal
