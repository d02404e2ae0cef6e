/* Versions, statuses and messages. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_BASE_H_
#define TESSERA_TESSERA_BASE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif

#if defined(TESSERA_ONLY_STABLE) && defined(__GNUC__)
#define TESSERA_UNSTABLE __attribute__((deprecated("may change with any release of Tessera")))
#else
#define TESSERA_UNSTABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a program built against an older header would no longer run. tessera_abi_version() is the library's, this
 * one the header's. */
#define TESSERA_ABI_VERSION 1
TESSERA_API uint32_t tessera_abi_version(void);

/* The release, "0.1.0". Static. */
TESSERA_API const char* tessera_version(void);

/* The values are also the exit codes of the program `tessera`. */
typedef enum tessera_status {
  TESSERA_OK = 0,
  TESSERA_E_USAGE = 2,       /* an invalid option or argument */
  TESSERA_E_DATA = 3,        /* an invalid table, value or type */
  TESSERA_E_IO = 4,          /* a file cannot be read or written */
  TESSERA_E_MEMORY = 5,      /* an allocation or a memory limit failed */
  TESSERA_E_NUMERIC = 6,     /* NaN or infinity in a training step */
  TESSERA_E_CONDITION = 7,   /* a condition names an unknown column or value, or cannot be met within the bound */
  TESSERA_E_FORMAT = 8,      /* a model file is damaged, foreign or hostile */
  TESSERA_E_UNSUPPORTED = 9, /* this build or machine cannot do it */
  TESSERA_E_CANCELLED = 10,  /* tessera_context_cancel() was called */
  TESSERA_E_INTERNAL = 70    /* a broken invariant of the library: please report it */
} tessera_status;

/* "OK", "USAGE", …: the names above without their beginnings; "?" for any other value. Static. */
TESSERA_API const char* tessera_status_name(tessera_status status);

/* The message of this thread's last function that did not return TESSERA_OK; "" before. Valid until its next call. */
TESSERA_API const char* tessera_last_error(void);

/* Frees a text returned through char**. NULL is allowed. */
TESSERA_API void tessera_string_free(char* text);

/* Frees memory returned through void**. NULL is allowed. */
TESSERA_API void tessera_memory_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
