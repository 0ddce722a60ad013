# fish completion for aflame, made by `aflame help --as fish`.
# To keep it: name it aflame.fish and put it into ~/.config/fish/completions.

# The directories that are traces; where there is none, all, to go on from there.
function __aflame_traces
    set -l traces
    for dir in (__fish_complete_directories (commandline -ct) | string replace -r '\t.*' '')
        test -f $dir/metadata; and set -a traces $dir
    end
    if set -q traces[1]
        printf '%s\ttrace\n' $traces
    else
        __fish_complete_directories (commandline -ct)
    end
end

# The elements of a list that begin with what is there after the last comma.
function __aflame_list
    set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    printf '%s\n' $before$argv
end

complete -c aflame -f
complete -c aflame -n __fish_use_subcommand -s V -l version -d 'show the version'
complete -c aflame -s h -l help -d 'what a command does, and its options'
@COMMANDS@
@OPTIONS@
