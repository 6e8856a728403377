# Completion of weft in fish: the tool itself says what fits.

function __weft_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $words[-1]
            case :programs
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
complete -c weft -f -a '(__weft_complete)'
