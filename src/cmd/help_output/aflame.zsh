#compdef aflame
# zsh completion for aflame, made by `aflame help --as zsh`.
# To keep it: name it _aflame and put it into a directory of $fpath.

_aflame_commands() {
	local -a commands=(
@COMMANDS@
	)
	_describe -t commands command commands
}

# The directories that are traces; where there is none, all, to go on from there.
_aflame_traces() {
	_path_files -g '*(-/e,[[ -f $REPLY/metadata ]],)' || _directories
}

_aflame() {
	local curcontext=$curcontext state line ret=1
	local -A opt_args

	_arguments -C \
		'(- *)'{-h,--help}'[show the commands]' \
		'(- *)'{-V,--version}'[show the version]' \
		'1:command:_aflame_commands' \
		'*:: :->arguments' && ret=0
	[[ $state == arguments ]] || return ret

	curcontext=${curcontext%:*:*}:aflame-$line[1]:
	case $line[1] in
@OPTIONS@
	esac
	return ret
}

_aflame "$@"
