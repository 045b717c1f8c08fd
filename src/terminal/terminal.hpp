// What an output descriptor can show: whether it is a terminal, how wide, and whether colour is
// wanted.
#pragma once

namespace culprit {

bool is_terminal(int fd);

// The terminal's width in columns. Where it is unknown: COLUMNS, else 80. At least 1.
int terminal_columns(int fd);

// Whether to write colour to fd. In this order: NO_COLOR set and not empty: no; CLICOLOR_FORCE set
// and neither empty nor 0: yes; no terminal, TERM=dumb or CLICOLOR=0: no; else yes.
bool wants_colour(int fd);

// Whether text may hold more than ASCII, from LC_ALL, LC_CTYPE or LANG (the first that is set).
bool is_utf8_locale();

}  // namespace culprit
