/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/code.h>

#include <string.h>

typedef struct code_row {
    alineo_code code;
    const char *name;
    alineo_class class;
    int32_t status;
} code_row;

#define CODE_ROW(name, value, cls, status) {(value), #name, ALINEO_CLASS_##cls, (status)},
static const code_row code_rows[] = {ALINEO_CODES(CODE_ROW)};
#undef CODE_ROW

static const code_row *row_of(alineo_code code) {
    for (size_t i = 0; i < sizeof(code_rows) / sizeof(code_rows[0]); i++) {
        if (code_rows[i].code == code)
            return &code_rows[i];
    }
    return NULL;
}

const char *alineo_code_name(alineo_code code) {
    const code_row *row = row_of(code);
    return row != NULL ? row->name : "UNKNOWN";
}

alineo_code alineo_code_from_name(const char *name) {
    if (name == NULL)
        return -1;
    for (size_t i = 0; i < sizeof(code_rows) / sizeof(code_rows[0]); i++) {
        if (strcmp(code_rows[i].name, name) == 0)
            return code_rows[i].code;
    }
    return -1;
}

alineo_class alineo_code_class(alineo_code code) {
    const code_row *row = row_of(code);
    return row != NULL ? row->class : ALINEO_CLASS_CLIENT;
}

int32_t alineo_code_status(alineo_code code) {
    const code_row *row = row_of(code);
    return row != NULL ? row->status : 500;
}
