# shellcheck shell=bash
# Completion of weft in bash: the tool itself says what fits.

_weft() {
  local current=${COMP_WORDS[COMP_CWORD]} line word
  COMPREPLY=()
  [[ $current == = ]] && current=''
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
        ;;
      :programs)
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -cf -- "$current")
        ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _weft weft
