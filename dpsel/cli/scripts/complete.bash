# bash completion for dpsel
_dpsel() {
    local line kind='' IFS=''
    COMPREPLY=()
    while read -r line; do
        if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("$line"); fi
    done < <("${1/#\~/$HOME}" --complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [ "$kind" = files ]; then compopt -o default 2>/dev/null; fi
}
complete -F _dpsel dpsel
