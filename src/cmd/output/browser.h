/* The user's browser, which shows reports. */
#ifndef AF_CMD_OUTPUT_BROWSER_H
#define AF_CMD_OUTPUT_BROWSER_H

struct af_err;

/*
 * Show @file in the user's browser: $BROWSER, or what xdg-open chooses. Returns when the browser
 * has been given the file. 0, or -errno and a message that says what to do instead.
 */
int af_browser_open(const char *file, struct af_err *err);

#endif
