package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWorkerInheritsNothing starts a worker from a process with an environment
// and open files.
func TestWorkerInheritsNothing(t *testing.T) {
	t.Setenv("DRAWBRIDGE_SECRET", "x")
	f, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	inherited, err := syscall.Dup(int(f.Fd())) // without close-on-exec, as from a careless parent
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.NewFile(uintptr(inherited), "inherited").Close() }()
	sp := newSpawner()
	defer sp.close()
	exe, err := selfExecutable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(sp, []string{exe, "probe"})
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	p.close()
	if got, want := p.tail.String(), "env=0 group=true dir=/ fd0=pipe fd1=pipe fd2=pipe"; got != want {
		t.Errorf("worker has %q, want %q", got, want)
	}
}

func TestSpawnerAfterClose(t *testing.T) {
	sp := newSpawner()
	sp.close()
	if err := sp.run(func() error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
