/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_knobs.c: reads the knobs in MPI_Init. The library reads its own; those that only the netmod needs are read
 * here, as strictly: a wrong value is an error that names the knob, the value and what is allowed.
 */
#include "mpidimpl.h"
#include "bufenlarge_knobs.h"
#include "bufenlarge_cvars.h"   /* made from both tables: the CVARs, MPIDI_BUFENLARGE_FOREACH_LIBRARY_KNOB */
#include "bufenlarge_knob_table.h"
#include <unistd.h>

#define SUMMARY_PROCESSES_MAX 1024u
#define YIELD_AFTER_MAX 1000000u
#define YIELD_AFTER_AUTO 32u    /* where there are enough processors; see bufenlarge_sleep.c */
#define SLEEP_AFTER_US_MAX 1000000u
#define UNEXPECTED_MIN 65536u
#define UNEXPECTED_MAX (1u << 30)

typedef MPIDI_BUFENLARGE_knobs_t knobs_t;

/* -- readers: each returns false when the text is not allowed -- */

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

static bool read_summary(knobs_t * knobs, const char *text)
{
    static const char *const on[] = { "on", "1", "yes", "true", NULL };
    static const char *const off[] = { "off", "0", "no", "false", NULL };
    knobs->summary = is_one_of(text, on);
    return knobs->summary || is_one_of(text, off);
}

static bool read_summary_file(knobs_t * knobs, const char *text)
{
    knobs->summary_file = text;
    return true;
}

/* Takes digits only. */
static bool read_number(unsigned *value_p, const char *text, unsigned max)
{
    unsigned value = 0;
    for (const char *digit = text; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return false;
        value = 10 * value + (unsigned) (*digit - '0');
        if (value > max)
            return false;
    }
    *value_p = value;
    return true;
}

static bool read_summary_processes(knobs_t * knobs, const char *text)
{
    return read_number(&knobs->summary_processes, text, SUMMARY_PROCESSES_MAX);
}

static bool read_yield_after(knobs_t * knobs, const char *text)
{
    knobs->yield_auto = strcmp(text, "auto") == 0;
    knobs->yield_after = YIELD_AFTER_AUTO;
    return knobs->yield_auto || read_number(&knobs->yield_after, text, YIELD_AFTER_MAX);
}

static bool read_sleep_after(knobs_t * knobs, const char *text)
{
    static const struct {
        const char *name;
        unsigned us;
    } units[] = { {"us", 1}, {"ms", 1000}, {"s", 1000000} };
    char *unit;
    knobs->sleep_auto = strcmp(text, "auto") == 0;
    knobs->sleep_after_us = 0;
    if (knobs->sleep_auto || strcmp(text, "never") == 0)
        return true;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long value = strtoul(text, &unit, 10);
    for (int i = 0; i < 3; i++) {
        if (strcmp(unit, units[i].name) == 0 && value >= 1 && value <= SLEEP_AFTER_US_MAX / units[i].us)
            knobs->sleep_after_us = (unsigned) value * units[i].us;
    }
    return knobs->sleep_after_us != 0;
}

static bool read_unexpected(knobs_t * knobs, const char *text)
{
    knobs->unexpected = 0;
    if (strcmp(text, "off") == 0)
        return true;
    return read_number(&knobs->unexpected, text, UNEXPECTED_MAX) && knobs->unexpected >= UNEXPECTED_MIN;
}

/* -- the netmod's own knobs -- */

static const struct {
    const char *name;
    const char *allowed;
} rows[] = {
#define KNOB_ROW(name, reader, default_text, allowed, meaning) { #name, allowed },
    MPIDI_BUFENLARGE_KNOBS(KNOB_ROW)
#undef KNOB_ROW
};

/* Makes the error about a wrong value. */
static int not_allowed(const char *name, const char *value)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    int row = 0;
    while (strcmp(rows[row].name, name) != 0)
        row++;
    snprintf(text, sizeof(text), "MPIR_CVAR_BUFENLARGE_%s='%s' is not allowed: %s", name, value,
             rows[row].allowed);
    return MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_OPTION, text);
}

static int read_own(const char *name, const char *value, const char *default_text,
                    bool(*read) (knobs_t *, const char *))
{
    const char *text = value && value[0] ? value : default_text;
    return read(&MPIDI_BUFENLARGE_global.knobs, text) ? MPI_SUCCESS : not_allowed(name, text);
}

int MPIDI_BUFENLARGE_knobs_check_file(void)
{
    char directory[PATH_MAX];
    const char *file = MPIDI_BUFENLARGE_global.knobs.summary_file, *slash = strrchr(file, '/');
    if (MPIR_Process.rank != 0 || file[0] == '\0')
        return MPI_SUCCESS;
    snprintf(directory, sizeof(directory), "%.*s", slash ? (int) (slash - file + 1) : 1, slash ? file : ".");
    return access(directory, W_OK) == 0 ? MPI_SUCCESS : not_allowed("SUMMARY_FILE", file);
}

/* -- the library's knobs -- */

static int set_library_knob(const char *name, const char *value)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    bufenlarge_status_t status =
        bufenlarge_options_set(MPIDI_BUFENLARGE_global.options, name, value, text, sizeof(text));
    return status == BUFENLARGE_OK ? MPI_SUCCESS : MPIDI_BUFENLARGE_error(status, text);
}

/* Hands the library's knobs to the library, which then checks them against each other. */
static int set_library_knobs(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[BUFENLARGE_MESSAGE_BYTES];
#define SET_KNOB(name, value)                       \
    do {                                            \
        mpi_errno = set_library_knob(name, value);  \
        MPIR_ERR_CHECK(mpi_errno);                  \
    } while (0);
    MPIDI_BUFENLARGE_FOREACH_LIBRARY_KNOB(SET_KNOB)
#undef SET_KNOB
    bufenlarge_status_t status =
        bufenlarge_options_check(MPIDI_BUFENLARGE_global.options, text, sizeof(text));
    if (status != BUFENLARGE_OK)
        mpi_errno = MPIDI_BUFENLARGE_error(status, text);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_BUFENLARGE_knobs_read(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_global.options = bufenlarge_options_create();
    MPIR_ERR_CHKANDJUMP(!MPIDI_BUFENLARGE_global.options, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = set_library_knobs();
    MPIR_ERR_CHECK(mpi_errno);
#define READ_KNOB(name, reader, default_text, allowed, meaning)                                         \
    mpi_errno = read_own(#name, MPIR_CVAR_BUFENLARGE_##name, default_text, read_##reader);              \
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_BUFENLARGE_KNOBS(READ_KNOB)
#undef READ_KNOB
    MPIDI_BUFENLARGE_global.knobs.summary |= MPIDI_BUFENLARGE_global.knobs.summary_file[0] != '\0';

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
