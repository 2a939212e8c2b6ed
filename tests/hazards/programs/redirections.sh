# SPDX-License-Identifier: Apache-2.0
# Redirections that shells hold open under numbers of the script's choice. The case is $1; for bash and for dash.
case $1 in
exec3)
    echo a >f1
    exec 3>data.db
    echo "precious data 1" >&3
    sleep 0.1
    i=0
    while [ $i -lt 100 ]; do
        echo x >f$i
        i=$((i + 1))
    done
    sleep 0.1
    echo "precious data 2" >&3
    ;;
all)
    echo a >f1
    for n in 3 4 5 6 7 8 9; do
        eval "exec $n<>untouched.db"
    done
    i=0
    while [ $i -lt 50 ]; do
        echo x >f$i
        i=$((i + 1))
    done
    sleep 0.1
    for n in 3 4 5 6 7 8 9; do
        eval "exec $n>own$n; echo of $n >&$n"
    done
    for n in 9 8 7 6 5 4 3; do
        eval "echo again $n >&$n; exec $n>&-"
    done
    ;;
here)
    i=0
    while [ $i -lt 20 ]; do
        cat >here$i <<END
line one of $i
$(echo from a child)
END
        i=$((i + 1))
    done
    exec 4<<END
kept open
END
    echo between >between
    read -r line <&4
    echo "$line" >read
    cat here3
    ;;
swap)
    echo to stdout
    exec 5>&1 1>inner
    echo to inner
    exec 1>&5 5>&-
    echo to stdout again
    { echo grouped; echo twice >&2; } >group 2>&1
    (exec >sub; echo in a subshell)
    echo piped | while read -r word; do echo "$word" >>pipe; done
    exec 2>errors
    ls /no/such/folder
    echo $? >status
    ;;
esac
