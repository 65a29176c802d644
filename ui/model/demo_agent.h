/* demo_agent.h: what the scene of `hutch demo` asks of hutchd. */
#ifndef HUTCH_UI_DEMO_AGENT_H
#define HUTCH_UI_DEMO_AGENT_H

#include "ui/model/effect.h"

struct app;

/* Makes the scene's project, or starts it from whatever state it is in; the log of acts has it as `hutch up`.
 */
void demo_make(struct app *app, struct effects *effects);
/* Opens the agent's terminal. An agent that does not run is started, after all that an earlier scene may have
 * left were ended. demo.busy is set meanwhile. */
void demo_agent(struct app *app, struct effects *effects);

#endif
