# SPDX-License-Identifier: Apache-2.0
# bash completion for trib(1)

_trib() {
    local cur prev command subcommand i
    COMPREPLY=()
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}
    command=
    subcommand=
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] && continue
        if [[ -z $command ]]; then
            command=${COMP_WORDS[i]}
        elif [[ -z $subcommand ]]; then
            subcommand=${COMP_WORDS[i]}
        fi
    done

    case $prev in
    --)
        COMPREPLY=($(compgen -c -- "$cur"))
        return
        ;;
    --trace | --json | --dump | --preload | --session | --policy-pack)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --policy)
        COMPREPLY=($(compgen -W "$(trib policies --names 2>/dev/null)" -- "$cur"))
        return
        ;;
    --drive)
        COMPREPLY=($(compgen -W "$(trib drive list --names 2>/dev/null) none" -- "$cur"))
        return
        ;;
    --format)
        COMPREPLY=($(compgen -W "auto trib experiment workload msr blkparse mqsim disksim vscsi csv fiu alibaba
            tencent" -- "$cur"))
        return
        ;;
    --workloads)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --victim)
        COMPREPLY=($(compgen -W "$(trib options --values victim 2>/dev/null)" -- "$cur"))
        return
        ;;
    --gc)
        COMPREPLY=($(compgen -W "$(trib options --values gc 2>/dev/null)" -- "$cur"))
        return
        ;;
    esac

    case $command in
    '')
        COMPREPLY=($(compgen -W "record run daemon status top replay compare lab inspect drive policies workloads options version --help --version" -- "$cur"))
        ;;
    record)
        COMPREPLY=($(compgen -W "--trace --set --users --no-wait --json --preload --session --help --" -- "$cur"))
        ;;
    run)
        COMPREPLY=($(compgen -W "--policy --policy-pack --drive --gc --trace --set --users --no-wait --json --preload --session
            --help --" -- "$cur"))
        ;;
    daemon)
        case $subcommand in
        stop | pause | resume) COMPREPLY=($(compgen -W "--help" -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W "stop pause resume --policy --drive --gc --state --trace --allow --set --address --help" -- "$cur")) ;;
        esac
        ;;
    status)
        COMPREPLY=($(compgen -W "--json --openmetrics --help" -- "$cur"))
        ;;
    top)
        COMPREPLY=($(compgen -W "--once --interval --help" -- "$cur"))
        ;;
    replay)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--trace --format --import --policy --policy-pack --drive --gc --set --truncated-ok --dump --json
                --help" -- "$cur"))
        else
            COMPREPLY=($(compgen -f -- "$cur"))
        fi
        ;;
    compare)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--trace --format --import --policy --policy-pack --drive --gc --fill --cold --capacity --op --superblock
                --streams --set --jobs --truncated-ok --json --help" -- "$cur"))
        else
            COMPREPLY=($(compgen -f -- "$cur"))
        fi
        ;;
    lab)
        case $subcommand in
        '') COMPREPLY=($(compgen -W "matrix reproduce --help" -- "$cur")) ;;
        matrix) COMPREPLY=($(compgen -W "--workloads --policy --policy-pack --gc --victim --quick --set --jobs --json --help" -- "$cur")) ;;
        reproduce)
            if [[ $cur == -* ]]; then
                COMPREPLY=($(compgen -W "--names --jobs --json --help" -- "$cur"))
            else
                COMPREPLY=($(compgen -W "$(trib lab reproduce --names 2>/dev/null)" -- "$cur"))
            fi
            ;;
        esac
        ;;
    inspect)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--events --limit --truncated-ok --json --help" -- "$cur"))
        else
            COMPREPLY=($(compgen -f -- "$cur"))
        fi
        ;;
    drive)
        case $subcommand in
        '') COMPREPLY=($(compgen -W "list describe" -- "$cur")) ;;
        list) COMPREPLY=($(compgen -W "--json --names --help" -- "$cur")) ;;
        describe) COMPREPLY=($(compgen -W "$(trib drive list --names 2>/dev/null) --json --help" -- "$cur")) ;;
        esac
        ;;
    policies)
        COMPREPLY=($(compgen -W "--json --names --policy-pack --help" -- "$cur"))
        ;;
    workloads)
        COMPREPLY=($(compgen -W "--json --names --help" -- "$cur"))
        ;;
    options)
        COMPREPLY=($(compgen -W "--json --markdown --values --help" -- "$cur"))
        ;;
    version)
        COMPREPLY=($(compgen -W "--json --help" -- "$cur"))
        ;;
    esac
}
complete -o filenames -F _trib trib
