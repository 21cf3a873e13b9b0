# fish completion for fairlock: the program knows the words (src/commands/complete.c).

function __fairlock_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] --complete $words[2..-1] $word 2>/dev/null)
        switch $line
            case \tfiles' *'
                set -l head (string sub -l (string split ' ' $line)[2] -- $word)
                set -l start (math (string length -- "$head") + 1)
                string replace -r '^' -- "$head" (__fish_complete_path (string sub -s $start -- $word))
            case \tcommand' *'
                set -l first (math (string split ' ' $line)[2] + 2)
                complete -C (string join ' ' -- (string escape -- $words[$first..-1]) $word)
            case '*'
                echo $line
        end
    end
end

complete -c fairlock -f -a '(__fairlock_complete)'
