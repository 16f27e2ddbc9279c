/* SPDX-License-Identifier: Apache-2.0 */
#include "json_error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

static const char byte_order_mark[] = "\xef\xbb\xbf";

static bool begins_with(const char *text, size_t size, const char *prefix, size_t prefix_size) {
    return size >= prefix_size && memcmp(text, prefix, prefix_size) == 0;
}

static void set_place(al_json_error *error, const char *text, size_t offset) {
    size_t line_start = 0;
    error->line = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            error->line++;
            line_start = i + 1;
        }
    }
    error->column = 1;
    for (size_t i = line_start; i < offset; i++)
        error->column += ((uint8_t)text[i] & 0xc0) != 0x80;
    error->offset = offset;
}

void al_json_set_error(al_json_error *error, const char *text, size_t offset, const char *format,
                       ...) {
    if (error == NULL)
        return;
    set_place(error, text, offset);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(error->message)) {
        size_t kept = sizeof(error->message) - 1;
        error->message[kept - al_utf8_tail(error->message, kept)] = '\0';
    }
}

bool al_json_check_encoding(const char *text, size_t size, al_json_error *error) {
    if (size == 0) {
        al_json_set_error(error, text, 0, "the text is empty");
        return false;
    }
    if (begins_with(text, size, byte_order_mark, 3)) {
        al_json_set_error(error, text, 0,
                          "the text begins with a byte order mark; save it without one");
        return false;
    }
    if (begins_with(text, size, "\xff\xfe", 2) || begins_with(text, size, "\xfe\xff", 2) ||
        (size >= 2 && (text[0] == '\0' || text[1] == '\0'))) {
        al_json_set_error(error, text, 0, "the text is UTF-16 or UTF-32; save it as UTF-8");
        return false;
    }
    size_t valid = al_utf8_valid_size(text, size);
    if (valid < size) {
        al_json_set_error(error, text, valid, "byte 0x%02x here is not valid UTF-8",
                          (unsigned)(uint8_t)text[valid]);
        return false;
    }
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static unsigned read_hex4(const char *text) {
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        value = value << 4 | (unsigned)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

size_t al_json_find_lone_surrogate(const char *text, size_t size) {
    size_t i = 0;
    while (i + 6 <= size) {
        const char *escape = memchr(text + i, '\\', size - i - 5);
        if (escape == NULL)
            break;
        i = (size_t)(escape - text);
        if (text[i + 1] != 'u') {
            i += 2;
            continue;
        }
        unsigned unit = read_hex4(text + i + 2);
        if (unit >= 0xd800 && unit <= 0xdfff) {
            bool has_low = unit <= 0xdbff && i + 12 <= size && text[i + 6] == '\\' &&
                           text[i + 7] == 'u' && (read_hex4(text + i + 8) & 0xfc00) == 0xdc00;
            if (!has_low)
                return i;
            i += 6;
        }
        i += 6;
    }
    return size;
}

/* What is at an offset of the text, '\0' behind its end. */
static char char_at(const al_json_spot *spot, size_t offset) {
    return offset < spot->size ? spot->text[offset] : '\0';
}

static size_t skip_blanks(const al_json_spot *spot, size_t offset) {
    while (offset < spot->size && strchr(" \t\r\n", spot->text[offset]) != NULL &&
           spot->text[offset] != '\0')
        offset++;
    return offset;
}

#define FAIL(offset, ...) al_json_set_error(error, spot->text, offset, __VA_ARGS__)

static void diagnose_end(const al_json_spot *spot, al_json_error *error) {
    if (spot->container == AL_JSON_NONE) {
        FAIL(spot->size, "the text holds no value");
        return;
    }
    al_json_error begin;
    set_place(&begin, spot->text, spot->container_offset);
    FAIL(spot->size, "the text ends within %s that began in line %zu, column %zu",
         al_json_type_name(spot->container), begin.line, begin.column);
}

/* The string that begins with the '"' at START. */
static void diagnose_string(const al_json_spot *spot, size_t start, al_json_error *error) {
    for (size_t i = start + 1; i < spot->size; i++) {
        uint8_t c = (uint8_t)spot->text[i];
        if (c == '"')
            break;
        if (c < 0x20) {
            FAIL(i, "a control character (U+%04X) in a string must be written as an escape", c);
            return;
        }
        if (c != '\\')
            continue;
        char kind = char_at(spot, i + 1);
        if (kind != 'u' && (kind == '\0' || strchr("\"\\/bfnrt", kind) == NULL)) {
            FAIL(i, "an escape in a string may be \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
            return;
        }
        for (size_t k = i + 2; kind == 'u' && k < i + 6; k++) {
            if (!is_hex_digit(char_at(spot, k))) {
                FAIL(i, "\\u in a string needs four hexadecimal digits");
                return;
            }
        }
        i++;
    }
    FAIL(start, "this string is not closed");
}

/* Something that begins like a number and is none. */
static void diagnose_number(const al_json_spot *spot, size_t start, al_json_error *error) {
    size_t end = start;
    while (end < spot->size && (is_digit(spot->text[end]) || memchr("+-.eE", spot->text[end], 5)))
        end++;
    int shown = (int)(end - start < 32 ? end - start : 32);
    FAIL(start, "\"%.*s\" is not a number as JSON writes it", shown, spot->text + start);
}

static void diagnose_word(const al_json_spot *spot, size_t start, al_json_error *error) {
    size_t end = start;
    while (end < spot->size && end - start < 32 &&
           ((spot->text[end] >= 'a' && spot->text[end] <= 'z') ||
            (spot->text[end] >= 'A' && spot->text[end] <= 'Z')))
        end++;
    FAIL(start, "the word %.*s is unknown; JSON has true, false and null, and strings in quotes",
         (int)(end - start), spot->text + start);
}

/* A character that can begin nothing. */
static void diagnose_character(const al_json_spot *spot, size_t at, al_json_error *error) {
    uint8_t c = (uint8_t)spot->text[at];
    if (c == '/' || c == '#') {
        FAIL(at, "JSON has no comments");
    } else if (begins_with(spot->text + at, spot->size - at, byte_order_mark, 3)) {
        FAIL(at, "a byte order mark within the text");
    } else if (c == '\'' || c == '`') {
        FAIL(at, "strings are put in double quotes");
    } else if (c < 0x20 || c == 0x7f) {
        FAIL(at, "the control character U+%04X is not allowed here", c);
    } else {
        int size = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        FAIL(at, "\"%.*s\" is not expected here", size, spot->text + at);
    }
}

/* A value should begin at AT. */
static void diagnose_value(const al_json_spot *spot, size_t at, al_json_error *error) {
    char c = char_at(spot, at);
    if (at >= spot->size)
        diagnose_end(spot, error);
    else if (c == '"')
        diagnose_string(spot, at, error);
    else if (c == '-' || c == '+' || c == '.' || is_digit(c))
        diagnose_number(spot, at, error);
    else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        diagnose_word(spot, at, error);
    else if (c != '\0' && strchr(",:]}", c) != NULL)
        FAIL(at, "a value is missing before \"%c\"", c);
    else
        diagnose_character(spot, at, error);
}

/* A key should begin at AT. */
static void diagnose_key(const al_json_spot *spot, size_t at, al_json_error *error) {
    char c = char_at(spot, at);
    if (at >= spot->size)
        diagnose_end(spot, error);
    else if (c == '"')
        diagnose_string(spot, at, error);
    else if (c == '/' || c == '#' || (uint8_t)c >= 0x80)
        diagnose_character(spot, at, error);
    else
        FAIL(at, "a key in double quotes is missing");
}

/* What follows a value in an array or object. */
static void diagnose_separator(const al_json_spot *spot, size_t at, al_json_error *error) {
    bool in_array = spot->container == AL_JSON_ARRAY;
    char closing = in_array ? ']' : '}';
    char c = char_at(spot, at);
    if (at >= spot->size) {
        diagnose_end(spot, error);
        return;
    }
    if (c != ',') {
        if (c == '/' || c == '#' || (uint8_t)c >= 0x80)
            diagnose_character(spot, at, error);
        else
            FAIL(at, "\",\" or \"%c\" is missing", closing);
        return;
    }
    size_t next = skip_blanks(spot, at + 1);
    if (char_at(spot, next) == closing)
        FAIL(at, "a comma before \"%c\"", closing);
    else if (in_array)
        diagnose_value(spot, next, error);
    else
        diagnose_key(spot, next, error);
}

void al_json_diagnose(const al_json_spot *spot, al_json_error *error) {
    size_t at = skip_blanks(spot, spot->at);
    if (spot->after_key) {
        if (char_at(spot, at) == ':')
            diagnose_value(spot, skip_blanks(spot, at + 1), error);
        else if (at >= spot->size)
            diagnose_end(spot, error);
        else
            FAIL(at, "\":\" is missing after the key");
    } else if (spot->container == AL_JSON_NONE && !spot->is_first) {
        char c = char_at(spot, at);
        if (c == '/' || c == '#')
            diagnose_character(spot, at, error);
        else
            FAIL(at, "something stands behind the end of the value");
    } else if (!spot->is_first) {
        diagnose_separator(spot, at, error);
    } else if (spot->container == AL_JSON_OBJECT) {
        diagnose_key(spot, at, error);
    } else {
        diagnose_value(spot, at, error);
    }
}
