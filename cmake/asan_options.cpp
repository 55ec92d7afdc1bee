// Options of AddressSanitizer for programs that link LLVM: its headers poison memory of its bump
// allocators, which the distribution's libraries, not instrumented, hand out without taking the
// poison back.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
