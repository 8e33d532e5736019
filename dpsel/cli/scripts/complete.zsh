#compdef dpsel
# zsh completion for dpsel
_dpsel() {
    local -a answer
    answer=("${(@f)$("${(Q)words[1]/#\~/$HOME}" --complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ $answer[1] == files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        _files
    elif (( $#answer > 1 )); then
        shift answer
        _describe dpsel answer
    fi
}
if [[ $funcstack[1] == _dpsel ]]; then _dpsel; else compdef _dpsel dpsel; fi
