/* Extensions: the functions of libweft-verbs-soft.so beyond those of libibverbs. */
#ifndef WEFT_SOFT_EXTENSIONS_H
#define WEFT_SOFT_EXTENSIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Puts the faults of `faults` in force in this process (written as for WEFT_SOFT_FAULTS; "" for
   none) instead of those before; messages are counted from here. Returns 0, EINVAL when the
   text is not understood (a line on standard error says why), or the errno of opening the device.
   Any thread may call it at any time. */
int weft_soft_inject(const char* faults);

/* Queue pairs that this process has made and not destroyed; -1 where the device cannot be opened.
   Any thread may call it at any time. */
int weft_soft_queue_pairs(void);

#ifdef __cplusplus
}
#endif

#endif
