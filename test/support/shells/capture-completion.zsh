# capture-completion.zsh SCRIPT LINE: prints what zsh is offered for the line by the completion in the script, each list
# between << and >>.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; autoload -Uz compinit; compinit -u -D; source ${(q)1}"
zpty -w shell 'compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a hits; builtin compadd -A hits "$@"; print -rl -- "<<" $hits ">>"
}'
zpty -w shell 'bindkey "^I" complete-word; end-widget() { print "@@END"; exit }; zle -N end-widget
  bindkey "^X" end-widget; print -- @@READY'
while zpty -r shell line; do [[ $line == *@@READY*$'\n' && $line != *print* ]] && break; done
zpty -w -n shell "$2"$'\t'$'\x18'
while zpty -r shell line; do
  print -rn -- "$line"
  [[ $line == *@@END* ]] && break
done
