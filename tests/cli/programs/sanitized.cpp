// A program that AddressSanitizer's library has to be loaded first into.
int main() {
  return 0;
}
