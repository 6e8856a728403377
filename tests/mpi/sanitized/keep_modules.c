/* dlclose() that closes nothing: what a plugin of the MPI has leaked is then still attributed to it
   when the program ends, and can be told from leaks of weft. */
__attribute__((visibility("default"))) int dlclose(void* handle);

int dlclose(void* handle) {
  (void)handle;
  return 0;
}
