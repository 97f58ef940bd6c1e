/*
 * NVTX's marks, ranges, domains and names, for programs that annotate their work for NVIDIA's tools. No such tool
 * looks at host devices, so every function does nothing, as NVTX's own do without a tool; pushes and pops answer
 * NVTX_NO_PUSH_POP_TRACKING, and handles are null.
 *
 *   nvtxRangePush("all-reduce");
 *   ncclAllReduce(data, data, count, ncclFloat, ncclSum, comm, stream);
 *   nvtxRangePop();
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef NVTX_VERSION
#define NVTX_VERSION 3

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_API
#define NVTX_INLINE_STATIC static __inline__
#define NVTX_DECLSPEC NVTX_INLINE_STATIC
#ifdef __cplusplus
#define NVTX_NULLPTR nullptr
#define NVTX_STATIC_CAST(TYPE, VALUE) (static_cast<TYPE>(VALUE))
#define NVTX_REINTERPRET_CAST(TYPE, VALUE) (reinterpret_cast<TYPE>(VALUE))
#else
#define NVTX_NULLPTR NULL
#define NVTX_STATIC_CAST(TYPE, VALUE) ((TYPE)(VALUE))
#define NVTX_REINTERPRET_CAST(TYPE, VALUE) ((TYPE)(VALUE))
#endif

#define NVTX_SUCCESS 0
#define NVTX_FAIL 1
#define NVTX_ERR_INIT_LOAD_PROPERTY 2
#define NVTX_ERR_INIT_ACCESS_LIBRARY 3
#define NVTX_ERR_INIT_LOAD_LIBRARY 4
#define NVTX_ERR_INIT_MISSING_LIBRARY_ENTRY_POINT 5
#define NVTX_ERR_INIT_FAILED_LIBRARY_ENTRY_POINT 6
#define NVTX_ERR_NO_INJECTION_LIBRARY_AVAILABLE 7
#define NVTX_NO_PUSH_POP_TRACKING (NVTX_STATIC_CAST(int, -2))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st nvtxDomainRegistration;
typedef nvtxDomainRegistration* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st nvtxStringRegistration;
typedef nvtxStringRegistration* nvtxStringHandle_t;
typedef struct nvtxResourceHandle* nvtxResourceHandle_t;

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
  NVTX_PAYLOAD_TYPE_INT32 = 5,
  NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;

typedef union nvtxMessageValue_t {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;

/* The fields *Type hold values of the enums of these names. `size` is NVTX_EVENT_ATTRIB_STRUCT_SIZE. */
typedef struct nvtxEventAttributes_v2 {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType;
  int32_t reserved0;
  union payload_t {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (NVTX_STATIC_CAST(uint16_t, sizeof(nvtxEventAttributes_t)))

/* A type of resources is a class, in the upper half, and a number within the class. */
#define NVTX_RESOURCE_MAKE_TYPE(CLASS, INDEX) \
  ((NVTX_STATIC_CAST(uint32_t, NVTX_RESOURCE_CLASS_##CLASS)) << 16 | (NVTX_STATIC_CAST(uint32_t, INDEX)))
#define NVTX_RESOURCE_CLASS_GENERIC 1
typedef enum nvtxResourceGenericType_t {
  NVTX_RESOURCE_TYPE_UNKNOWN = 0,
  NVTX_RESOURCE_TYPE_GENERIC_POINTER = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 1),
  NVTX_RESOURCE_TYPE_GENERIC_HANDLE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 2),
  NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 3),
  NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 4)
} nvtxResourceGenericType_t;

typedef struct nvtxResourceAttributes_v0 {
  uint16_t version, size;
  int32_t identifierType;
  union identifier_t {
    const void* pValue;
    uint64_t ullValue;
  } identifier;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxResourceAttributes_v0;
typedef struct nvtxResourceAttributes_v0 nvtxResourceAttributes_t;
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE (NVTX_STATIC_CAST(uint16_t, sizeof(nvtxResourceAttributes_v0)))

/* The parameters of each function below, with words in place of its body. */
#define XYLEM_NVTX(NAME, PARAMETERS, USED) \
  NVTX_INLINE_STATIC __attribute__((unused)) void NAME PARAMETERS { USED; }
#define XYLEM_NVTX_RESULT(TYPE, NAME, PARAMETERS, USED, RESULT)     \
  NVTX_INLINE_STATIC __attribute__((unused)) TYPE NAME PARAMETERS { \
    USED;                                                           \
    return RESULT;                                                  \
  }

XYLEM_NVTX(nvtxInitialize, (const void* reserved), (void)reserved)

XYLEM_NVTX(nvtxDomainMarkEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event),
           ((void)domain, (void)event))
XYLEM_NVTX(nvtxMarkEx, (const nvtxEventAttributes_t* event), (void)event)
XYLEM_NVTX(nvtxMarkA, (const char* message), (void)message)
XYLEM_NVTX(nvtxMarkW, (const wchar_t* message), (void)message)

XYLEM_NVTX_RESULT(nvtxRangeId_t, nvtxDomainRangeStartEx,
                  (nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event),
                  ((void)domain, (void)event), 0)
XYLEM_NVTX_RESULT(nvtxRangeId_t, nvtxRangeStartEx, (const nvtxEventAttributes_t* event), (void)event, 0)
XYLEM_NVTX_RESULT(nvtxRangeId_t, nvtxRangeStartA, (const char* message), (void)message, 0)
XYLEM_NVTX_RESULT(nvtxRangeId_t, nvtxRangeStartW, (const wchar_t* message), (void)message, 0)
XYLEM_NVTX(nvtxDomainRangeEnd, (nvtxDomainHandle_t domain, nvtxRangeId_t range), ((void)domain, (void)range))
XYLEM_NVTX(nvtxRangeEnd, (nvtxRangeId_t range), (void)range)

XYLEM_NVTX_RESULT(int, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event),
                  ((void)domain, (void)event), NVTX_NO_PUSH_POP_TRACKING)
XYLEM_NVTX_RESULT(int, nvtxRangePushEx, (const nvtxEventAttributes_t* event), (void)event,
                  NVTX_NO_PUSH_POP_TRACKING)
XYLEM_NVTX_RESULT(int, nvtxRangePushA, (const char* message), (void)message, NVTX_NO_PUSH_POP_TRACKING)
XYLEM_NVTX_RESULT(int, nvtxRangePushW, (const wchar_t* message), (void)message, NVTX_NO_PUSH_POP_TRACKING)
XYLEM_NVTX_RESULT(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (void)domain,
                  NVTX_NO_PUSH_POP_TRACKING)
XYLEM_NVTX_RESULT(int, nvtxRangePop, (void), (void)0, NVTX_NO_PUSH_POP_TRACKING)

XYLEM_NVTX_RESULT(nvtxResourceHandle_t, nvtxDomainResourceCreate,
                  (nvtxDomainHandle_t domain, nvtxResourceAttributes_t* resource),
                  ((void)domain, (void)resource), NVTX_NULLPTR)
XYLEM_NVTX(nvtxDomainResourceDestroy, (nvtxResourceHandle_t resource), (void)resource)

XYLEM_NVTX(nvtxDomainNameCategoryA, (nvtxDomainHandle_t domain, uint32_t category, const char* name),
           ((void)domain, (void)category, (void)name))
XYLEM_NVTX(nvtxDomainNameCategoryW, (nvtxDomainHandle_t domain, uint32_t category, const wchar_t* name),
           ((void)domain, (void)category, (void)name))
XYLEM_NVTX(nvtxNameCategoryA, (uint32_t category, const char* name), ((void)category, (void)name))
XYLEM_NVTX(nvtxNameCategoryW, (uint32_t category, const wchar_t* name), ((void)category, (void)name))
XYLEM_NVTX(nvtxNameOsThreadA, (uint32_t thread, const char* name), ((void)thread, (void)name))
XYLEM_NVTX(nvtxNameOsThreadW, (uint32_t thread, const wchar_t* name), ((void)thread, (void)name))

XYLEM_NVTX_RESULT(nvtxStringHandle_t, nvtxDomainRegisterStringA,
                  (nvtxDomainHandle_t domain, const char* string), ((void)domain, (void)string), NVTX_NULLPTR)
XYLEM_NVTX_RESULT(nvtxStringHandle_t, nvtxDomainRegisterStringW,
                  (nvtxDomainHandle_t domain, const wchar_t* string), ((void)domain, (void)string),
                  NVTX_NULLPTR)
XYLEM_NVTX_RESULT(nvtxDomainHandle_t, nvtxDomainCreateA, (const char* name), (void)name, NVTX_NULLPTR)
XYLEM_NVTX_RESULT(nvtxDomainHandle_t, nvtxDomainCreateW, (const wchar_t* name), (void)name, NVTX_NULLPTR)
XYLEM_NVTX(nvtxDomainDestroy, (nvtxDomainHandle_t domain), (void)domain)

/* Each of these names is one of two functions, by the characters that a program uses. */
#ifdef UNICODE
#define XYLEM_NVTX_BY_CHARACTER(NAME) NAME##W
#else
#define XYLEM_NVTX_BY_CHARACTER(NAME) NAME##A
#endif
#define nvtxMark XYLEM_NVTX_BY_CHARACTER(nvtxMark)
#define nvtxRangeStart XYLEM_NVTX_BY_CHARACTER(nvtxRangeStart)
#define nvtxRangePush XYLEM_NVTX_BY_CHARACTER(nvtxRangePush)
#define nvtxNameCategory XYLEM_NVTX_BY_CHARACTER(nvtxNameCategory)
#define nvtxNameOsThread XYLEM_NVTX_BY_CHARACTER(nvtxNameOsThread)
#define nvtxDomainCreate XYLEM_NVTX_BY_CHARACTER(nvtxDomainCreate)
#define nvtxDomainRegisterString XYLEM_NVTX_BY_CHARACTER(nvtxDomainRegisterString)
#define nvtxDomainNameCategory XYLEM_NVTX_BY_CHARACTER(nvtxDomainNameCategory)

#endif /* NVTX_VERSION */
