// The commands of `sinter`. Each prints its result to stdout and returns an error to be printed, or
// the exit code.
#pragma once

#include "cli/arguments.h"
#include "cli/interrupts.h"

namespace sinter::cli {

Result<int> runCommand(const RunArguments &arguments, Interrupts &interrupts);
Result<int> benchCommand(const BenchArguments &arguments, Interrupts &interrupts);
Result<int> benchServeCommand(const LoadArguments &arguments, Interrupts &interrupts);
Result<int> explainCommand(const ExplainArguments &arguments, Interrupts &interrupts);
Result<int> tuneCommand(const TuneArguments &arguments, Interrupts &interrupts);
Result<int> perplexityCommand(const PerplexityArguments &arguments, Interrupts &interrupts);
Result<int> logitsCommand(const LogitsArguments &arguments, Interrupts &interrupts);
Result<int> embedCommand(const EmbedArguments &arguments, Interrupts &interrupts);
Result<int> rerankCommand(const RerankArguments &arguments, Interrupts &interrupts);
Result<int> showCommand(const ShowArguments &arguments, Interrupts &interrupts);
Result<int> compileCommand(const CompileArguments &arguments, Interrupts &interrupts);
Result<int> quantizeCommand(const QuantizeArguments &arguments, Interrupts &interrupts);
Result<int> serveCommand(const ServeArguments &arguments, Interrupts &interrupts);
Result<int> tokenizeCommand(const TokenizeArguments &arguments);
Result<int> chatTemplateCommand(const ChatTemplateArguments &arguments, Interrupts &interrupts);
Result<int> pullCommand(const PullArguments &arguments, Interrupts &interrupts);
Result<int> listCommand(const ListArguments &arguments);
Result<int> removeCommand(const RemoveArguments &arguments);
Result<int> copyCommand(const CopyArguments &arguments, Interrupts &interrupts);
Result<int> devicesCommand();
Result<int> doctorCommand(const DoctorArguments &arguments, Interrupts &interrupts);

// Becomes `sinter-compiler kernel ...`: argv[0] of this program is replaced. Returns only when that
// cannot be started.
Result<int> kernelCommand(char *const *argv);

} // namespace sinter::cli
