/* reader.h: bytes of hutchd (a session's output, the serial log) as the rows of a view. */
#ifndef HUTCH_UI_READER_H
#define HUTCH_UI_READER_H

#include "ui/model/lines.h"
#include "ui/model/view.h"

struct reader {
    enum view_id view; /* whose rows they are */
    struct lines lines;
    struct lines_stream streams[2];
    uint64_t calls[2]; /* that are out, 0: none */
    char *words;       /* why reading ended; NULL: it goes on, or ended well */
    /* Of the output of a session: names as the API takes them, what it is of (safe), one stream alone. */
    char *project, *session, *title;
    bool pty;
};

/* Begins to read into an empty reader: a stream by number (0, 1), drawn in a style. */
void reader_read(struct app *app, struct reader *reader, int stream, enum style style, const char *path,
                 struct effects *effects);
/* Ends what is out, and forgets the lines. */
void reader_close(struct app *app, struct reader *reader, struct effects *effects);
void reader_finish(struct reader *reader);
bool reader_reads(const struct reader *reader);

/* Opens the view of what a session writes (names as the API takes them; title is safe text). */
void output_open(struct app *app, const char *project, const char *session, const char *title, bool pty,
                 struct effects *effects);

#endif
