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
// port that was given up may be another user's by now, who needn't name this
// address to get its connections: that of all addresses, of either family, does.
func listener(port uint16) (uid int, ok bool) {
	for _, table := range []struct{ file, address string }{
		{"/proc/net/tcp", "0100007F"}, // it takes precedence over the others
		{"/proc/net/tcp", "00000000"},
		{"/proc/net/tcp6", "0000000000000000FFFF00000100007F"},
		{"/proc/net/tcp6", "00000000000000000000000000000000"},
	} {
		f, err := os.Open(table.file)
		if err != nil {
			continue
		}
		uid, ok = findListener(f, table.address, port)
		_ = f.Close() // nothing was written
		if ok {
			return uid, true
		}
	}
	return 0, false
}

// findListener reads a table of the kernel's: slot, local address, remote address,
// state, queues, timer, retransmissions, user, and more.
func findListener(r io.Reader, address string, port uint16) (uid int, ok bool) {
	want := fmt.Sprintf("%s:%04X", address, port)
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
