# shellcheck shell=bash
# bash completion for fairlock: the program knows the words (src/commands/complete.c).

_fairlock() {
	local rest=$COMP_LINE word line meaning i cut
	local -a words=() first=()

	# bash breaks words at : and =, which fairlock's may contain: join what no blank parts.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ ${#words[@]} -eq 0 || $rest == [[:blank:]]* ]]; then
			rest=${rest#"${rest%%[![:blank:]]*}"}
			words+=("$word")
			first+=("$i")
		else
			words[-1]+=$word
		fi
		rest=${rest#"$word"}
	done
	word=${words[-1]}
	# What readline is going to replace begins behind the last break.
	cut=${word%"${COMP_WORDS[COMP_CWORD]}"}
	[[ ${COMP_WORDS[COMP_CWORD]} == [:=] ]] && cut=$word

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		$'\tfiles '*)
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "${word:${line#*files }}")
			;;
		$'\tcommand '*)
			i=${line#*command }
			if ((i + 2 == ${#words[@]})); then
				mapfile -t COMPREPLY < <(compgen -c -- "$word")
			elif declare -F _command_offset >/dev/null; then
				_command_offset "${first[i + 1]}"
			else
				compopt -o filenames 2>/dev/null
				mapfile -t COMPREPLY < <(compgen -f -- "$word")
			fi
			;;
		*)
			meaning=${line%%$'\t'*}
			printf -v meaning %q "${meaning#"$cut"}"
			COMPREPLY+=("${meaning//\\,/,}") # a list of columns needs no backslashes
			;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
	return 0
}

complete -F _fairlock fairlock
