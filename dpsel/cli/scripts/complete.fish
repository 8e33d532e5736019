# fish completion for dpsel
function __dpsel_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l answer ($program --complete fish $words[2..-1] "$current" 2>/dev/null)
    if test "$answer[1]" = files
        set -l flag (string match -r -- '^--[^=]*=' "$current"; or echo)
        printf '%s\n' $flag(__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
    else
        printf '%s\n' $answer[2..-1]
    end
end
complete --command dpsel --no-files --arguments '(__dpsel_complete)'
