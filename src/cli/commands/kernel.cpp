// sinter kernel: the compiler's own command under this program's name.
#include "cli/commands/bundle.h"
#include "cli/commands/commands.h"
#include "host/compiler_process.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace sinter::cli {

Result<int> kernelCommand(char *const *argv) {
  if (namesBundle(argv))
    return bundleCommand(argv);
  SINTER_ASSIGN(const std::string program, host::findCompiler());
  std::vector<char *> arguments = {const_cast<char *>(program.c_str())};
  for (char *const *argument = argv + 1; *argument; ++argument)
    arguments.push_back(*argument);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return fail(Code::Permission,
              "cannot start the compiler '" + program + "': " + std::strerror(errno));
}

} // namespace sinter::cli
