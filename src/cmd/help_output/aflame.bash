# bash completion for aflame, made by `aflame help --as bash`.
# To try it: source this file. To keep it: name it aflame and put it into
# ~/.local/share/bash-completion/completions.

_aflame_commands=(
@COMMANDS@
)

# What there is of command $1: its options, and what its words are (empty: it takes none).
_aflame_command()
{
	case $1 in
@OPTIONS@
	*) return 1 ;;
	esac
}

# What the value of option $2 of command $1 is, behind a = when it may be left out; fails when it
# takes none.
_aflame_option()
{
	case $1:$2 in
@VALUES@
	*) return 1 ;;
	esac
}

# The directories that are traces; where there is none, all, to go on from there.
_aflame_traces()
{
	local dir all=() traces=()

	while IFS= read -r dir; do
		all+=("$dir")
		[[ -f ${dir/#\~/$HOME}/metadata ]] && traces+=("$dir")
	done < <(compgen -d -- "$1")
	if ((${#traces[@]})); then
		COMPREPLY+=("${traces[@]}")
	else
		COMPREPLY+=("${all[@]}")
	fi
	compopt -o filenames
}

# Complete $1 as what the rest says: files, dirs, traces, commands, words A B, list A B.
_aflame_complete()
{
	local cur=$1 what=$2 before=

	shift 2
	case $what in
	files)
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames
		;;
	dirs)
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
		compopt -o filenames
		;;
	traces) _aflame_traces "$cur" ;;
	commands) _aflame_complete "$cur" words "${_aflame_commands[@]}" ;;
	list)
		[[ $cur == *,* ]] && before=${cur%,*},
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -P "$before" -W "$*" -- "${cur##*,}")
		compopt -o nospace
		;;
	words) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$*" -- "$cur") ;;
	esac
}

# The command line from word $1 on is another program's.
_aflame_program()
{
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
		[[ ${COMP_WORDS[COMP_CWORD]} == */* ]] && compopt -o filenames
	else
		_aflame_complete "${COMP_WORDS[COMP_CWORD]}" files
	fi
}

_aflame()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
	local options words first program value pending='' ended='' nr=0 i what

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_aflame_complete "$cur" words "${_aflame_commands[@]}" --help --version
		return
	fi
	_aflame_command "$command" || return 0

	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ $pending ]]; then
			# bash takes --option=value apart at the sign.
			[[ ${COMP_WORDS[i]} == = ]] || pending=
		elif [[ $ended || ${COMP_WORDS[i]} != -?* ]]; then
			[[ $program ]] && break
			((++nr))
		elif [[ ${COMP_WORDS[i]} == -- ]]; then
			ended=1
		elif _aflame_option "$command" "${COMP_WORDS[i]}"; then
			[[ $value == =* && ${COMP_WORDS[i + 1]} != = ]] || pending=${value#=}
		fi
	done

	if [[ $pending ]]; then
		[[ $cur == = ]] && cur=
		# shellcheck disable=SC2086 # a kind and its words
		_aflame_complete "$cur" $pending
	elif [[ $program && ($ended || $i -lt $COMP_CWORD || $cur != -*) ]]; then
		_aflame_program "$i"
	elif [[ ! $ended && $cur == -* ]]; then
		_aflame_complete "$cur" words "$options"
	else
		((nr)) || _aflame_complete "$cur" words "$first"
		for what in $words; do
			_aflame_complete "$cur" "$what"
		done
	fi
}

complete -F _aflame aflame
