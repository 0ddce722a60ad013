#include "mock_api.h"

#include <stddef.h>

#include "aflame/event.h"

static const struct af_api_type void_type = {.name = "void", .form = AF_API_VOID};
static const struct af_api_type u32_type = {.name = "u32", .form = AF_API_UNSIGNED, .size = 4};
static const struct af_api_type u64_type = {.name = "u64", .form = AF_API_UNSIGNED, .size = 8};
static const struct af_api_type i16_type = {
    .name = "i16", .form = AF_API_SIGNED, .is_signed = true, .size = 2};
static const struct af_api_type f32_type = {.name = "f32", .form = AF_API_FLOAT, .size = 4};
static const struct af_api_type f64_type = {.name = "f64", .form = AF_API_FLOAT, .size = 8};
static const struct af_api_type char_type = {
    .name = "char", .form = AF_API_CHAR, .is_signed = true, .size = 1};
static const struct af_api_type address_type = {
    .name = "pointer", .form = AF_API_ADDRESS, .size = 8};
static const struct af_api_type mem_type = {.name = "mock_mem", .form = AF_API_HANDLE, .size = 8};
static const struct af_api_type kernel_type = {
    .name = "mock_kernel", .form = AF_API_HANDLE, .size = 8};
static const struct af_api_type event_type = {
    .name = "mock_event", .form = AF_API_HANDLE, .size = 8};
static const struct af_api_type queue_type = {
    .name = "mock_queue", .form = AF_API_HANDLE, .size = 8};
static const struct af_api_type bytes16_type = {
    .name = "bytes16", .form = AF_API_BYTES, .size = 16};

static const struct af_api_value status_values[] = {
    {-5, "MOCK_NO_MEMORY"}, {0, "MOCK_SUCCESS"}, {0, "MOCK_COMPLETE"}, {7, "MOCK_INVALID"}};
static const struct af_api_type status_type = {.name = "mock_status",
                                               .form = AF_API_ENUM,
                                               .is_signed = true,
                                               .size = 4,
                                               .nr = 4,
                                               {.values = status_values}};
static const struct af_api_value key_values[] = {{1, "MOCK_KEY_DEPTH"},
                                                 {0x8000000000000002, "MOCK_KEY_LAST"}};
static const struct af_api_type key_type = {
    .name = "mock_key", .form = AF_API_ENUM, .size = 8, .nr = 2, {.values = key_values}};
static const struct af_api_value flag_values[] = {
    {0, "MOCK_PLAIN"}, {1, "MOCK_FAST"}, {4, "MOCK_SMALL"}};
static const struct af_api_type flags_type = {
    .name = "mock_flags", .form = AF_API_FLAGS, .size = 4, .nr = 3, {.values = flag_values}};

static const struct af_api_member size_members[] = {{"x", &u32_type, 0, 1}, {"y", &u32_type, 4, 1}};
static const struct af_api_type size_type = {
    .name = "mock_size", .form = AF_API_STRUCT, .size = 8, .nr = 2, {.members = size_members}};
static const struct af_api_member config_members[] = {{"align", &i16_type, 0, 1},
                                                      {"size", &size_type, 4, 1},
                                                      {"name", &char_type, 12, 4},
                                                      {"scale", &f32_type, 16, 2}};
static const struct af_api_type config_type = {
    .name = "mock_config", .form = AF_API_STRUCT, .size = 28, .nr = 4, {.members = config_members}};

static const struct af_api_param init_params[] = {{.name = "flags", .type = &flags_type, .at = 20}};
static const struct af_api_param alloc_params[] = {
    {"mem", &address_type, &mem_type, 20, AF_API_ONE, .is_out = true},
    {.name = "size", .type = &u64_type, .at = 28}};
static const struct af_api_param copy_params[] = {{.name = "dst", .type = &mem_type, .at = 28},
                                                  {.name = "src", .type = &mem_type, .at = 36},
                                                  {.name = "count", .type = &u64_type, .at = 44}};
static const struct af_api_param launch_params[] = {
    {.name = "kernel", .type = &kernel_type, .at = 20},
    {"grid", &address_type, &u64_type, 28, AF_API_ARRAY},
    {"string", &address_type, &char_type, 36, AF_API_STRING},
    {"config", &address_type, &config_type, 44, AF_API_ONE},
    {"event", &address_type, &event_type, 52, AF_API_ONE, .is_out = true}};
static const struct af_api_param wait_params[] = {{.name = "event", .type = &event_type, .at = 20}};
static const struct af_api_param convert_params[] = {
    {"value", &address_type, &u32_type, 20, AF_API_ONE, .is_out = true, .is_inout = true},
    {.name = "single", .type = &f32_type, .at = 28},
    {.name = "real", .type = &f64_type, .at = 32},
    {.name = "letter", .type = &char_type, .at = 40},
    {.name = "id", .type = &bytes16_type, .at = 41},
    {"pairs", &address_type, &key_type, 57, AF_API_PAIRS}};
static const struct af_api_param free_params[] = {{.name = "mem", .type = &mem_type, .at = 16}};

#define PARAMS(p) .params = p, .nr_params = sizeof(p) / sizeof *(p)

static const struct af_api_function functions[] = {
    {"mockInit", &status_type, PARAMS(init_params), AF_CATEGORY_OTHER, AF_API_DEFAULT, .fixed = 24,
     .can_fail = true, .is_safe = true},
    {"mockAlloc", &status_type, PARAMS(alloc_params), AF_CATEGORY_ALLOC, AF_API_MINIMAL,
     .bytes_len = 8, .bytes_at = 28, .fixed = 36, .can_fail = true},
    {"mockCopy", &status_type, PARAMS(copy_params), AF_CATEGORY_COPY, AF_API_MINIMAL,
     .bytes_len = 8, .bytes_at = 20, .fixed = 52, .has_bytes = true, .can_fail = true},
    {"mockLaunch", &status_type, PARAMS(launch_params), AF_CATEGORY_LAUNCH, AF_API_MINIMAL,
     .fixed = 60, .can_fail = true},
    {0},
    {"mockWait", &status_type, PARAMS(wait_params), AF_CATEGORY_SYNC, AF_API_DEFAULT, .fixed = 28,
     .can_fail = true},
    {"mockConvert", &status_type, PARAMS(convert_params), AF_CATEGORY_OTHER, AF_API_FULL,
     .fixed = 65},
    {.name = "mockQueue",
     .result = &queue_type,
     .category = AF_CATEGORY_OTHER,
     .level = AF_API_FULL,
     .fixed = 24},
    {"mockFree", &void_type, PARAMS(free_params), AF_CATEGORY_FREE, AF_API_DEFAULT, .fixed = 24},
};

static const struct af_api_table mock_api = {
    "mock",    "Mock API",  AF_API_LEVEL_ZERO, MOCK_KIND, sizeof functions / sizeof *functions,
    functions, &status_type};

const struct af_api_table *const af_apis[] = {&mock_api, NULL};
