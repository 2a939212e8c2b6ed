#compdef trib
# SPDX-License-Identifier: Apache-2.0
# zsh completion for trib(1)

_trib_policies() {
    local -a names
    names=(${(f)"$(trib policies --names 2>/dev/null)"})
    compadd -S '' -a names
}

_trib_drives() {
    local -a names
    names=(${(f)"$(trib drive list --names 2>/dev/null)"} none)
    compadd -S '' -a names
}

_trib_gc() {
    local -a names
    names=(${(f)"$(trib options --values gc 2>/dev/null)"})
    compadd -a names
}

_trib_victims() {
    local -a names
    names=(${(f)"$(trib options --values victim 2>/dev/null)"})
    compadd -a names
}

_trib_formats() {
    compadd auto trib experiment workload msr blkparse mqsim disksim vscsi csv fiu alibaba tencent
}

_trib_experiments() {
    local -a names
    names=(${(f)"$(trib lab reproduce --names 2>/dev/null)"})
    compadd -a names
}

_trib() {
    local context state line
    local -a commands
    commands=(
        'record:run a command and record what its processes write'
        'run:run a command under a policy and its drive'
        'daemon:own policy, drive, state and trace for the processes that join'
        'status:what a running daemon has seen, placed and lost'
        'top:who writes, where it goes, who has joined'
        'replay:replay a trace under one policy'
        'compare:replay a trace under many policies, one table'
        'lab:compare all policies, reproduce the papers'
        'inspect:show what is in a trace or a state file'
        'drive:list or describe drives'
        'policies:list policies, what they need and their options'
        'workloads:list synthetic workloads and readers of public traces'
        'options:list every option of pipeline, policies and drives'
        'version:version, compiler, build type, assertions'
    )
    _arguments -C '(-h --help)'{-h,--help}'[help]' '--version[version]' '1: :->command' '*:: :->rest'
    case $state in
    command)
        _describe command commands
        return
        ;;
    esac
    case $words[1] in
    record)
        _arguments '--trace[where to]:trace:_files' '*--set[more options]:key=value' \
            '--users[processes of other users, too]' '--no-wait[end with the command]' '--json[summary]:file:_files' \
            '--preload[libtributary-preload.so]:file:_files' '--session[socket that the processes join]:file:_files' \
            '*::command:_normal'
        ;;
    run)
        _arguments '--policy[policy]:policy:_trib_policies' '*--policy-pack[more policies]:file:_files' '--drive[drive]:drive:_trib_drives' \
            '--gc[where survivors go]:gc:_trib_gc' '--trace[record, too]:trace:_files' \
            '*--set[more options]:key=value' '--users[processes of other users, too]' \
            '--no-wait[end with the command]' '--json[summary]:file:_files' \
            '--preload[libtributary-preload.so]:file:_files' '--session[socket that the processes join]:file:_files' \
            '*::command:_normal'
        ;;
    replay)
        _arguments '1:trace:_files' '--trace[trace, experiment or public trace]:trace:_files' \
            '--format[of the trace]:format:_trib_formats' '--import[options of its reader]:key=value' '--policy[policy]:policy:_trib_policies' '*--policy-pack[more policies]:file:_files' \
            '--drive[drive]:drive:_trib_drives' '--gc[where survivors go]:gc:_trib_gc' \
            '*--set[more options]:key=value' '--truncated-ok[replay up to the cut]' \
            '--dump[state of the drive as JSON]:file:_files' '--json=-[JSON]::file:_files'
        ;;
    compare)
        _arguments '1:trace:_files' '--trace[trace, experiment or public trace]:trace:_files' \
            '--format[of the trace]:format:_trib_formats' '--import[options of its reader]:key=value' '*--policy[policy]:policy:_trib_policies' '*--policy-pack[more policies]:file:_files' \
            '--drive[drive]:drive:_trib_drives' '--gc[where survivors go]:gc:_trib_gc' \
            '--fill[live data, percent of capacity]:percent' '--cold[cold files, percent of live data]:percent' \
            '--capacity[exported capacity]:size' '--op[over-provisioning]:percent' \
            '--superblock[erased together]:size' '--streams[streams besides S0]:number' \
            '*--set[more options]:key=value' '--jobs[runs side by side]:number' \
            '--truncated-ok[replay up to the cut]' '--json=-[JSON]::file:_files'
        ;;
    daemon)
        _arguments '--policy[who decides]:policy:' '--drive[who takes the writes]:drive:' '--gc[survivors]:gc:' \
            '--state[keep what is learned]:file:_files' '--trace[record, too]:file:_files' '--allow[who may join]:users:' \
            '--set[more options]:options:' '--address[the socket]:file:_files' '--help[help]' '*: :(stop pause resume)'
        ;;
    status)
        _arguments '--json[as JSON]::file:_files' '--openmetrics[for a collector]' '--help[help]'
        ;;
    top)
        _arguments '--once[print the tables once]' '--interval[seconds between looks]:seconds' '--help[help]'
        ;;
    lab)
        case $words[2] in
        matrix)
            _arguments '*--workloads[experiments or folders]:path:_files' '*--policy[policy]:policy:_trib_policies' \
                '*--policy-pack[more policies]:file:_files' '--gc[where survivors go]:gc:_trib_gc' \
                '--victim[which superblock is collected]:victim:_trib_victims' '--quick[a glance, not a result]' \
                '*--set[more options]:key=value' '--jobs[runs side by side]:number' '--json=-[JSON]::file:_files'
            ;;
        reproduce)
            _arguments '2:experiment:_trib_experiments' '--names[names only]' '--jobs[runs side by side]:number' \
                '--json=-[JSON]::file:_files'
            ;;
        *) _arguments '1:command:(matrix reproduce)' ;;
        esac
        ;;
    inspect)
        _arguments '1:trace or state file:_files' '--events[every item on a line]' \
            '--limit[stop after this many events]:number' '--truncated-ok[read up to the cut]' '--json[JSON]'
        ;;
    drive)
        _arguments '1:command:(list describe)' '2:drive:_trib_drives' '--json[JSON]' '--names[names only]'
        ;;
    policies)
        _arguments '--json[JSON]' '--names[names only]' '*--policy-pack[more policies]:file:_files'
        ;;
    workloads)
        _arguments '--json[JSON]' '--names[names only]'
        ;;
    options)
        _arguments '--json[JSON]' '--markdown[tables as in docs/options.md]' '--values[values of a drive'\''s option]:key:(gc victim)'
        ;;
    version)
        _arguments '--json[JSON]'
        ;;
    esac
}

_trib "$@"
