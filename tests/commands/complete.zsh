# Types LINE and a tab into an interactive zsh; prints what completion offers, and
# what the line is then.
#
# usage: zsh -f complete.zsh FOLDER LINE     (FOLDER holds _fairlock)
zmodload zsh/zpty || exit

home=$(mktemp -d) || exit
trap 'rm -rf $home' EXIT

cat >$home/.zshrc <<END
fpath=(${(q)1} \$fpath)
found=$home/found
END
cat >>$home/.zshrc <<'END'
autoload -Uz compinit && compinit -u -D
setopt extended_glob
# Calls with -O, -A or -D only compute; the others offer.
compadd() {
	local -a offered computing=(${(M)@[1,(i)(-|--)]:#-[a-zA-Z12]#[OAD]})
	if (( ! $#computing )); then
		builtin compadd -O offered "$@"
		(( $#offered )) && print -rl -- $offered >>$found
	fi
	builtin compadd "$@"
}
# The editor takes one key after the other: this one comes when the tab is done.
finish() {
	print -r -- "line: $BUFFER" >>$found
	print DONE
}
zle -N finish
bindkey '^I' complete-word '^X^X' finish
unsetopt beep
print READY
END

export ZDOTDIR=$home
zpty shell zsh -d -i
zpty -r shell output '*READY*'
zpty -w -n shell "$2"$'\t\C-x\C-x'
zpty -r shell output '*DONE*'
cat $home/found
