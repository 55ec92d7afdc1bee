// Options of AddressSanitizer for programs that link LLVM. The distribution's libraries are not
// instrumented: they never take back the poison that LLVM's headers put on memory of bump
// allocators, and they replace a thread's signal stack, which the sanitizer would then unmap when
// the thread ends.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:use_sigaltstack=0";
}
