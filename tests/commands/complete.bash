# Prints the words that bash offers to complete a command line.
#
# usage: bash complete.bash FOLDER LINE WORD...
#        FOLDER has fairlock.bash; LINE is as typed; bash splits it into WORDs, also at : and =
# shellcheck source=/dev/null
source "$1/fairlock.bash"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
COMP_WORDS=("${@:3}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_fairlock fairlock "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
