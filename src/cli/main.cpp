// The program `sinter`.
int main() { return 0; }
