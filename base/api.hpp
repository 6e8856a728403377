// What programs see of the shared library: what is marked WEFT_API, but for its parts that are
// marked WEFT_HIDDEN.
#pragma once

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#define WEFT_HIDDEN __attribute__((visibility("hidden")))
#else
#define WEFT_API
#define WEFT_HIDDEN
#endif
