# What `nvdisasm -c -gi` (or -gp) says of lines: a section a line, then each offset from which on
# instructions have another line, as OFFSET FILE:LINE, followed by where that was inlined.
/^\.text\..*:$/ {
	print substr($0, 1, length($0) - 1)
	now = next_line = ""
}
/\/\/## File / {
	split($0, part, "\"")
	n = split(part[2], file, "/")
	match(part[3], /line [0-9]+/)
	next_line = next_line " " file[n] ":" substr(part[3], RSTART + 5, RLENGTH - 5)
}
/^ +\/\*[0-9a-f]+\*\/ +[^ ]/ {
	match($0, /\/\*[0-9a-f]+/)
	offset = substr($0, RSTART + 2, RLENGTH - 2)
	if (next_line != "" && next_line != now) {
		print offset next_line
		now = next_line
	}
	next_line = ""
}
