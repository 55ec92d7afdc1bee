// sinter-compiler: the compiler's own process, so that its crash, memory and time never touch the caller.
int main() { return 0; }
