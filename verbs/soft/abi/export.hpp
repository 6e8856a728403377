// Export of functions under libibverbs's names. Only the files that define them include this.
#pragma once

#include <infiniband/verbs.h>

// verbs.h puts macros of the same names over these functions.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define WEFT_VERB extern "C" __attribute__((visibility("default")))
