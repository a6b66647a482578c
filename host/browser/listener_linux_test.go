package browser

import (
	"net"
	"os"
	"strings"
	"testing"
)

func TestListener(t *testing.T) {
	for _, at := range []struct{ network, address string }{
		{"tcp4", "127.0.0.1:0"}, {"tcp4", "0.0.0.0:0"}, {"tcp6", "[::ffff:127.0.0.1]:0"}, {"tcp", "[::]:0"},
	} {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), at.network, at.address)
		if err != nil {
			t.Logf("no socket at %s %s: %v", at.network, at.address, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).AddrPort().Port()
		if uid, ok := listener(port); !ok || uid != os.Getuid() {
			t.Errorf("%s: the port is user %d's, %t", at.address, uid, ok)
		}
		_ = l.Close() // nothing was written
	}
}

func TestFindListener(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2406 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0
   1: 0100007F:2407 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 100 0 0 10 0
   2: 00000000:2408 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 1 1 0 100 0 0 10 0
   3: 0100007F:2409 00000000:0000 0A
`
	for port, want := range map[uint16]int{9222: 1001, 9223: -1, 9224: -1, 9225: -1, 9226: -1} {
		uid, ok := findListener(strings.NewReader(table), "0100007F", port)
		if ok != (want >= 0) || ok && uid != want {
			t.Errorf("port %d is user %d's, %t", port, uid, ok)
		}
	}
}
