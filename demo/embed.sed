# Turns a file into the lines of one C string literal.
s/\\/\\\\/g
s/"/\\"/g
s/^/"/
s/$/\\n"/
