/* SPDX-License-Identifier: MIT */
/* bufenlarge_knob_names.c: warns of variables in the environment that look like knobs and are none. */
#include "mpidimpl.h"
#include "bufenlarge_knobs.h"
#include "bufenlarge_cvars.h"   /* made from both tables: MPIDI_BUFENLARGE_FOREACH_KNOB */

#define PREFIX "MPIR_CVAR_BUFENLARGE_"
#define NAME_MAX_BYTES 64

extern char **environ;

#define NAME(name, value, default_text) name,
static const char *const names[] = { MPIDI_BUFENLARGE_FOREACH_KNOB(NAME) };
#undef NAME

#define NAMES ((int) (sizeof(names) / sizeof(names[0])))

/* How many letters are to be put in, taken out or changed to make one name of the other (Levenshtein). */
static int distance(const char *one, const char *other)
{
    int row[NAME_MAX_BYTES + 1];
    const int columns = (int) strlen(other);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; one[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            const int changed = diagonal + (one[i - 1] != other[j - 1]);
            diagonal = row[j];
            row[j] = MPL_MIN(changed, 1 + MPL_MIN(row[j], row[j - 1]));
        }
    }
    return row[columns];
}

static void warn_if_unknown(const char *name)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    int nearest = 0;
    for (int i = 0; i < NAMES; i++) {
        if (strcmp(name, names[i]) == 0)
            return;
        if (distance(name, names[i]) < distance(name, names[nearest]))
            nearest = i;
    }
    snprintf(text, sizeof(text), PREFIX "%s is no knob and changes nothing; the nearest name is " PREFIX "%s", name,
             names[nearest]);
    MPIDI_BUFENLARGE_warn(NULL, text);
}

void MPIDI_BUFENLARGE_knobs_warn(void)
{
    for (char **entry = environ; MPIR_Process.rank == 0 && *entry; entry++) {
        const char *name = *entry + strlen(PREFIX), *end = strchr(*entry, '=');
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 || end == NULL || end - name > NAME_MAX_BYTES)
            continue;
        char copy[NAME_MAX_BYTES + 1];
        snprintf(copy, sizeof(copy), "%.*s", (int) (end - name), name);
        warn_if_unknown(copy);
    }
}
