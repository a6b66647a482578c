package audit

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A process that writes is killed twenty times. Every row that it was told is
// written must be there, the chain whole, and each call ended once.
func TestKill(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 3
	}
	opts := paths(t)
	recovered := 0
	for i := range kills {
		acked := writeAndKill(t, opts, 1+rand.IntN(60))
		l, err := Open(t.Context(), opts)
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		rep := verify(t, l)
		if len(rep.Problems) != 0 || rep.Open != 0 {
			t.Fatalf("kill %d: %+v", i, rep)
		}
		for _, ack := range acked {
			what, id, _ := strings.Cut(ack, " ")
			list, err := l.List(t.Context(), Filter{Call: ID(id)})
			if err != nil || len(list) != 2 || list[0].Kind != KindBegin || list[1].Kind != KindEnd {
				t.Fatalf("kill %d: %s, and the log has %+v, %v", i, ack, list, err)
			}
			unknown := list[1].Code == abi.ErrOutcomeUnknown
			if what == "ended" && unknown {
				t.Fatalf("kill %d: %s, and the log does not know how", i, ack)
			}
			if unknown {
				recovered++
			}
		}
		must(t, l.Close())
	}
	t.Logf("%d calls were cut off", recovered)
}

// writeAndKill returns the last rows that the process was told are there.
func writeAndKill(t *testing.T, opts Options, after int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], opts.Path, opts.KeyPath)
	cmd.Env = append(os.Environ(), roleVar+"=write")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var acked []string
	lines := bufio.NewScanner(out)
	for lines.Scan() { // on, past the kill, to what was in the pipe
		if strings.HasPrefix(lines.Text(), "error") {
			t.Errorf("the writer: %s", lines.Text())
		}
		acked = append(acked, lines.Text())
		if len(acked) == after {
			must(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait()
	if len(acked) < after {
		t.Fatalf("the writer ended by itself after %d rows", len(acked))
	}
	return acked[max(0, len(acked)-8):]
}
