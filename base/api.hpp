// What programs see of the shared library: everything else is hidden.
#pragma once

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif
