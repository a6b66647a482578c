package browser

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// listening is the state of a socket that accepts connections, in /proc/net/tcp.
const listening = "0A"

// listener returns the user whose process listens on a port of 127.0.0.1. A
// port that was given up may be another user's by now.
func listener(port uint16) (uid int, ok bool) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return findListener(f, port)
}

// findListener reads the kernel's table: slot, local address, remote address,
// state, queues, timer, retransmissions, user, and more.
func findListener(r io.Reader, port uint16) (uid int, ok bool) {
	want := fmt.Sprintf("0100007F:%04X", port)
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 8 || f[1] != want || f[3] != listening {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, err == nil
	}
	return 0, false
}
