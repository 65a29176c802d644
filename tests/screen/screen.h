/* screen.h: a screen under test: messages in, effects and a grid out, no terminal and no hutchd. */
#ifndef HUTCH_TESTS_SCREEN_H
#define HUTCH_TESTS_SCREEN_H

#include "ui/model/app_state.h"
#include "ui/view/draw.h"

struct screen {
    struct app *app;
    struct grid *grid;
    struct effects effects;
    int64_t now_ns;
};

/* An app of a size, connected to nothing yet; the clock stands at 14:05:00 UTC. settings may be NULL. */
void screen_open(struct screen *screen, int rows, int columns, const char *settings);
/* The same for one session alone: `hutch shell`. */
void screen_open_session(struct screen *screen, int rows, int columns, const char *project,
                         const char *session);
/* The same with the scene of `hutch demo`, in the project "demo". */
void screen_open_demo(struct screen *screen, int rows, int columns, const char *settings);
void screen_close(struct screen *screen);
/* Fixtures of cmocka: a screen of 80x24 in *state, without and with what screen_fill gives. */
int screen_setup_empty(void **state);
int screen_setup(void **state);
int screen_teardown(void **state);
/* Output of the session whose effect is id. */
void screen_bytes(struct screen *screen, uint64_t id, uint64_t offset, const char *text);
/* Keys by their names with blanks between: "j Enter ^d". */
void screen_keys(struct screen *screen, const char *names);
/* Types text, a character a key. */
void screen_type(struct screen *screen, const char *text);
void screen_size(struct screen *screen, int rows, int columns);
void screen_time(struct screen *screen, int64_t ms);
void screen_up(struct screen *screen);
void screen_down(struct screen *screen);
/* The id of the effect that is asked with this path (its beginning); 0: none is out. The effects before it
 * are kept. */
uint64_t screen_asked(struct screen *screen, const char *method, const char *path);
size_t screen_count(struct screen *screen, enum effect_type type);
struct effect *screen_find(struct screen *screen, enum effect_type type);
void screen_forget(struct screen *screen);
/* Answers: a line, the end. json as text; NULL: without a body. */
void screen_line(struct screen *screen, uint64_t id, const char *json);
void screen_answer(struct screen *screen, uint64_t id, const char *json);
void screen_fail(struct screen *screen, uint64_t id, enum error_code code, const char *words);
/* The answers that a hutchd with three projects gives; and an event of the follower. */
void screen_fill(struct screen *screen);
void screen_event(struct screen *screen, const char *json);
/* The text that is shown, for one line or whole; the caller's to free. */
char *screen_row(struct screen *screen, int row);
char *screen_text(struct screen *screen);
bool screen_shows(struct screen *screen, const char *words);
/* Fails with the end of the screen if the words are there and not wanted, or wanted and not there. */
void screen_assert(struct screen *screen, const char *words, bool wanted);
/* Compares text and styles with tests/screen/golden/NAME; GENERATE=1 writes it. */
void screen_golden(struct screen *screen, const char *name);

#endif
