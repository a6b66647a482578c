package registry

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestGitIsLimited(t *testing.T) {
	t.Parallel()
	repo, err := create(t.Context(), t.TempDir(), fromFile)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := repo.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer objects.close()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", objects.data.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint64{
		"Max address space": gitMemory, "Max cpu time": gitCPU, "Max file size": gitFile,
		"Max open files": gitHandles, "Max core file size": 0,
	} {
		_, line, _ := strings.Cut(string(limits), name)
		if f := strings.Fields(line); len(f) < 2 || f[0] != fmt.Sprint(want) || f[1] != f[0] {
			t.Errorf("%s is %v, want %d", name, f[:min(2, len(f))], want)
		}
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", objects.data.cmd.Process.Pid))
	if err != nil || !strings.Contains(string(env), "GIT_CONFIG_GLOBAL="+os.DevNull) || strings.Contains(string(env), "SSH_AUTH_SOCK") {
		t.Errorf("environment %q, %v", env, err)
	}
}
